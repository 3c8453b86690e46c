"""Decisions an operator makes while the daemon runs, kept as numbered revisions."""
