"""What a user asks for in their own words, in any language that we speak."""
