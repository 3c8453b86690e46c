"""What agents do with skills: find, use, make, change and publish them."""
