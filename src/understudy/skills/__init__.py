"""Skills: immutable, scanned, owned bundles of instructions, and who may use them."""
