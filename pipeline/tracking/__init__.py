"""Tracking: what an MLflow run holds, and where runs go. `pipeline/log.py` is the stage; nothing here imports MLflow."""
