"""Stages of the pipeline: load, evaluate, compare, report; `pipeline/mlflow/log.py` is the stage `log`."""
