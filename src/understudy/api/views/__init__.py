"""From domain records to what the wire shows."""
