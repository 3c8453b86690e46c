"""The runtime document: settings that an admin changes while the daemon runs, in revisions."""
