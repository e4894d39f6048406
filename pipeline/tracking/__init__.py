"""Tracking: what MLflow runs hold, and where runs go. `pipeline/log.py` is the stage; MLflow is imported where it is used."""
