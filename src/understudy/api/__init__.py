"""HTTP: thin translations between the wire and the services."""
