"""Rollouts: procedures that become skills, in stages, on evidence, with rollback."""
