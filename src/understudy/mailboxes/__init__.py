"""Mailboxes: messages for sessions and agents, each delivered as a run, with retries."""
