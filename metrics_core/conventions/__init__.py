"""Conventions: the registry of every convention, presets and fingerprint."""
