"""Mailboxes: messages for sessions and agents, each delivered as a run until one has read it."""
