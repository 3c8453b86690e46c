"""Schedules: a run submitted at a time, again and again, each time exactly once."""
