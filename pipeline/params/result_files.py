"""Files that the stages write: those of each model, and the data that all models share."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from concord.pipeline.params.model import Params, Results


@dataclass(frozen=True)
class ModelFiles:
    """Files of one model: lists, data quality, per-user values, panel, summary and means."""

    lists: Path
    quality: Path
    per_user: Path
    panel: Path
    summary: Path
    metrics: Path

    @classmethod
    def of_model(cls, results: Results, model: str) -> "ModelFiles":
        """Return the files of a model."""
        return cls(
            lists=Path(results.lists) / f"{model}.parquet",
            quality=Path(results.quality) / f"{model}.json",
            per_user=Path(results.per_user) / f"{model}.parquet",
            panel=Path(results.panel) / f"{model}.parquet",
            summary=Path(results.summary) / f"{model}.json",
            metrics=Path(results.metrics) / f"{model}.json",
        )

    def __iter__(self) -> Iterator[Path]:
        return iter(vars(self).values())


def truth_file(params: Params, fold: str | None = None) -> Path:
    """Return the file of the ground truth, or of a fold's ground truth."""
    path = Path(params.results.data) / "truth.parquet"
    return path if fold is None else path / f"{fold}.parquet"


def truth_quality_file(params: Params) -> Path:
    """Return the file of the ground truth's data quality."""
    return Path(params.results.quality) / "truth.json"


def side_data_file(params: Params, role: str) -> Path | None:
    """Return the file of loaded side data; None if params.yaml does not name the table."""
    return Path(params.results.data) / f"{role}.parquet" if role in params.background else None
