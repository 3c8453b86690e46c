"""Everything that knows SQL: one schema, one store per kind of record, two databases."""
