"""Permission rules for tool calls: allow, ask or deny, and which rule decided."""
