"""Assets: files that inputs name by id, kept once per content and safe from change."""
