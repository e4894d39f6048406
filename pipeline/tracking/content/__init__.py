"""What MLflow runs hold, from results on disk; nothing here knows MLflow."""
