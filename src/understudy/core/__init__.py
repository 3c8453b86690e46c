"""Ideas every other package builds on; imports nothing of ours."""
