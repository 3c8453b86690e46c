"""Background tasks: shell commands that outlive the run that started them."""
