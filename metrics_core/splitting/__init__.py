"""Splitting: interactions -> train, truth and a manifest. `metrics_core/split.py` is the door."""
