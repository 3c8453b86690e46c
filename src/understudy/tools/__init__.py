"""The tools of an agent, each with its declared effect."""
