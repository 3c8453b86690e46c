"""Unlearning: the blast radius of a target, taking it out of use or erasing it, and the receipt."""
