"""The sample workspace: a small team's work, made by calls of the API, removed as a whole."""
