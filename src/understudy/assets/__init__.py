"""Assets: immutable files that inputs name by id, stored once per content."""
