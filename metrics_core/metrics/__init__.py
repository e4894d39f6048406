"""Metrics: formulas by family, their inputs, and the catalogue."""
