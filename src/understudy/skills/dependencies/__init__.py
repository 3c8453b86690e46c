"""What skills need of the machine: found by reading, installed only when somebody asks for it."""
