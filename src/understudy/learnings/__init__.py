"""Learnings: candidates found in runs or proposed by people, and published learnings."""
