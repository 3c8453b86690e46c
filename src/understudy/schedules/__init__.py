"""Schedules: runs submitted at set times, each exactly once."""
