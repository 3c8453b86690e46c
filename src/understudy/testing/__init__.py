"""Doubles for tests, ours and our users': a fake model that speaks real HTTP."""
