"""Conventions: the knobs, their values, and the presets that pin them."""
