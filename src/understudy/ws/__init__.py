"""RPC over a WebSocket: requests, answers and events as JSON frames."""
