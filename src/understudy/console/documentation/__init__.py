"""The documentation and the API reference: one build for `/docs` and for a static site."""
