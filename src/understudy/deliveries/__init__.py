"""Webhooks: the end of a run is posted to its reply targets, with retries until they accept it."""
