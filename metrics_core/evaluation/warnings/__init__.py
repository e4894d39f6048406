"""Warnings about the evaluation of one or more models on the same data."""
