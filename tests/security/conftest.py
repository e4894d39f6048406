"""The MLflow database to copy of the tests of the pipeline."""

from tests.pipeline.conftest import empty_store

__all__ = ["empty_store"]
