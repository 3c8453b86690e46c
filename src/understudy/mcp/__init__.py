"""The MCP server: what other agents may read, propose and start, over the operations of the API."""
