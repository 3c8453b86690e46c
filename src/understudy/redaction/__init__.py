"""Redaction: removes secrets from text before it is stored, shown or logged."""
