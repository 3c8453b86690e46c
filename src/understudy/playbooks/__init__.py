"""Playbooks and flows: described procedures, and the status of each start of one."""
