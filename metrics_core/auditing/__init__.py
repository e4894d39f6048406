"""Auditing a split: what train, truth and lists say of each other, and what that weighs in the numbers."""
