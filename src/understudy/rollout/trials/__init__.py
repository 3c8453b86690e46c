"""Runs that try a definition before it counts, and what may be asked of them."""
