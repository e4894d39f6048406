"""Tracking: what MLflow runs hold, and where runs go. `pipeline/tracking/log.py` is the stage; MLflow is imported where it is used."""
