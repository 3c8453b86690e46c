"""Evolution of an agent within its locks: its soul, nudges and offers, and the user's consent."""
