"""The sample workspace: a small team's work, created by API calls and removed as a whole."""
