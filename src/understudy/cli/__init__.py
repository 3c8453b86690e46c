"""The command line: serves the daemon, and talks to a running one through the client."""
