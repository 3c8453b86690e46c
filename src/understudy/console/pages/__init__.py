"""The pages of the console, an area in each module."""
