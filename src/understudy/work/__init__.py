"""Work in the background: claim due items, do them, retry after a failure or an outage."""
