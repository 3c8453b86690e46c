"""What people read, in the languages that we speak."""
