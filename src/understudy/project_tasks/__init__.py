"""Project tasks: work items of a project, who does them, what they wait for, and the run of each."""
