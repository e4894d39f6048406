"""A comparison in plain sentences."""
