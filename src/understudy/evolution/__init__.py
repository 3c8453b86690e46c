"""How an agent changes within its locks: its soul, nudges and offers, and what a user agrees to."""
