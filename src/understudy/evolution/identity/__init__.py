"""Which texts would say who an agent is, where only its tone may be spoken of."""
