"""What goes over the wire: request, response and event models, shared by the API and its clients."""
