"""Detection of requests in users' messages, in every supported language."""
