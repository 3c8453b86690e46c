"""What the daemon tells its operator about itself."""
