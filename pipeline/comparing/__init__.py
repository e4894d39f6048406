"""Comparing: users' values of all models -> differences, tables and sentences. `pipeline/comparing/compare.py` is the stage."""
