"""The wiring: the one place where everything is put together, started and stopped."""
