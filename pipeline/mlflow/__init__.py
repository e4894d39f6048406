"""MLflow: what runs hold, how they are logged, and the evaluator plug-in. MLflow is imported where it is used."""
