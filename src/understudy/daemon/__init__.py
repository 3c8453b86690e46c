"""The wiring of the daemon: all parts are built, started and stopped here."""
