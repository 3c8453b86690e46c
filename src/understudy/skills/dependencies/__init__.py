"""Dependencies of skills: detected by reading files, installed only on request."""
