"""Run memory: records of ended runs for later prompts, their retention and repair."""
