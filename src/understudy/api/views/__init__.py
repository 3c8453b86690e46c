"""Conversion of domain records to wire formats."""
