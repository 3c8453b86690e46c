"""What is found for a question, how well it fits, and why."""
