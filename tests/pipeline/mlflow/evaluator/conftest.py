"""MLflow warns of itself as its evaluation is imported and used; here a warning is an error."""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import mlflow.models.evaluation
    import mlflow.models.evaluation.evaluator_registry  # noqa: F401
