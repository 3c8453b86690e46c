"""The HTTP API: thin translations between requests and services."""
