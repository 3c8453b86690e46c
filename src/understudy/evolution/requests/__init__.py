"""Requests that a user makes in their own words, in every language that we speak."""
