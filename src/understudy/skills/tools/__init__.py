"""The tools for skills: find, use, create, change and publish."""
