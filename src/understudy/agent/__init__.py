"""The agent at work: prompt, model calls, tool calls, one durable step after another."""
