"""Comparison of models: configuration, differences, segments, gate and warnings."""
