"""Playbooks and flows: described procedures, and what one start of a procedure came to."""
