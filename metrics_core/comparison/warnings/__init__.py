"""Warnings about a comparison: sampled candidates, and values of other tools."""
