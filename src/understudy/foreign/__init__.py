"""Agents that other programs run: their turns, as conversations with memory, capture and taint."""
