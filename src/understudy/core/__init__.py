"""Domain-neutral building blocks (ids, clock, errors, paging, scope); imports no other package."""
