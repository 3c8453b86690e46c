"""The guard: rules as data, and the static scan that applies them to a skill."""
