"""Retrieval: what is injected into a prompt or found by a search, and why."""
