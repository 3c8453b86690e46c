"""Runs: one execution request in a session, from submission to its end."""
