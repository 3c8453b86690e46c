"""Detection of texts that set an agent's identity, where only its tone may change."""
