"""Agent records: who works, on which route, within which budget, with which context files."""
