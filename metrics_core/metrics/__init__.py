"""The metrics: formulas by family, what they read, and the catalogue."""
