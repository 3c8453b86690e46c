"""What an agent can do in the world, each tool with its declared effect."""
