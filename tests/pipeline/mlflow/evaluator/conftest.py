"""Import MLflow's evaluation without its warnings, which would be errors here."""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import mlflow.models.evaluation
    import mlflow.models.evaluation.evaluator_registry  # noqa: F401
