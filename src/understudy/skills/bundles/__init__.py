"""The files of a skill: bundles, their limits and paths, and the manifest."""
