"""Trials: runs that execute a definition before it counts, and their rules."""
