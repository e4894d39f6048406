"""Tracking: where runs go and how they get there; what they hold is in `content`. `pipeline/mlflow/log.py` is the stage; MLflow is imported where it is used."""
