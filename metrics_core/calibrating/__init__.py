"""Offline against online: which offline differences agreed with past A/B experiments."""
