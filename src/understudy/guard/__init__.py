"""What a skill may not hold: rules as data, and the scan that applies them without running anything."""
