"""Webhooks: the end of a run is posted to the addresses it was submitted with, until they took it."""
