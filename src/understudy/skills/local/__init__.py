"""Skills in folders of the machine and of workspaces, which nobody keeps but their owners."""
