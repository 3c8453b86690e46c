"""Recorded runs, run again with and without a skill, and what came of it."""
