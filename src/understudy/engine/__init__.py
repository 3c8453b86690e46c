"""The port to the durable engine; the only package that imports dbos."""
