"""Project tasks: work items of a project with assignee, dependencies and run."""
