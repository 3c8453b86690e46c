"""Understudy: a daemon that runs AI agents which learn on the job, under review."""

__version__ = "0.1.0"
