"""Who may call: tokens and the principals they stand for."""
