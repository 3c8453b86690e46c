"""What was learned: candidates that wait for review, and learnings that count."""
