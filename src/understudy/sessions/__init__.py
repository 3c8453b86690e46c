"""Durable conversations: sessions, their journal, personas and projects."""
