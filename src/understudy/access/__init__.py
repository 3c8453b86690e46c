"""Authentication: tokens and their principals, browser sign-in, signing keys."""
