"""Local skills: skills in folders of the machine and of workspaces, not stored by the daemon."""
