"""Wire models: requests, responses and events, shared by the API and its clients."""
