"""The project at every revision that changed its comparison."""
