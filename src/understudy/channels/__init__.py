"""Channels: public rooms whose members take turns, each agent in a run of its own session."""
