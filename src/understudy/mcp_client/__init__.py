"""The client of the Model Context Protocol: tools of other programs, whose output is untrusted."""
