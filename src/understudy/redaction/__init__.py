"""Takes secrets out of text before it is stored, shown or logged."""
