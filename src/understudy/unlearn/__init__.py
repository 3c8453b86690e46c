"""Unlearning: the blast radius of a target, its revocation or erasure, and the receipt."""
