"""Telemetry: logs and metrics of the daemon."""
