"""Comparing: users' values of all models -> differences, tables and sentences. `pipeline/compare.py` is the stage."""
