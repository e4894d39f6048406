"""Conventions: registry, presets, validation and fingerprint."""
