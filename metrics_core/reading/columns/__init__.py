"""Which column is what, and which values it may hold."""
