"""The MLflow database of the pipeline's tests, to copy."""

from tests.pipeline.conftest import empty_store

__all__ = ["empty_store"]
