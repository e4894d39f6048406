"""MLflow: content of runs, logging, and the evaluator plug-in; MLflow is imported when used."""
