"""Stages of the pipeline: load, evaluate, compare, report; `pipeline.mlflow.log` is `log`."""
