"""Replays: recorded runs, run again with and without a skill, and compared."""
