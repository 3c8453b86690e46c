"""Agent records: route, iteration budget, switches and context files."""
