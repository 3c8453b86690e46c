"""Recovered run memory: what the next run may know of those before it."""
