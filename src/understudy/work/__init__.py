"""Background work: claim due items, do them, retry after a failure or an outage."""
