"""Which tool calls may run, which must be asked for, and which rule said so."""
