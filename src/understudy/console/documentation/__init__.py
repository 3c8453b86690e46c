"""The documentation and the API reference: one build for the daemon's `/docs` and for a static site."""
