"""Procedures that become skills: rolled out in stages, on evidence, and taken back."""
