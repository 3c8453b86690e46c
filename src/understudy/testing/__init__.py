"""Test doubles, for our tests and users': a fake model server over real HTTP."""
