"""The files of a skill: how they come in, what they may be, and what their SKILL.md says."""
