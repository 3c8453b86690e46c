"""Tools of other programs, over the Model Context Protocol; what those say is never trusted."""
