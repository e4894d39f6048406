"""study.yaml: its shape; the only place that knows its keys."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from concord.metrics_core.comparing.evidence.asked import Effect, wrong_effect
from concord.pipeline.params.model import MOST_NAMED

STUDY = Path("study.yaml")
MOST_DATASETS = 100
Text = Annotated[str, Field(min_length=1)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Project(_Section):
    """An evaluated project: a folder with a params.yaml; at another revision of git, if `rev` names one."""

    project: Text
    rev: Text | None = None

    @property
    def source(self) -> str:
        return self.project if self.rev is None else f"{self.project} at {self.rev}"


class MLflow(_Section):
    tracking_uri: Text
    experiment: Text


class StudyFile(_Section):
    """Paths are meant from the folder of the file."""

    title: Text = "Study"
    datasets: dict[str, Project] = Field(min_length=1, max_length=MOST_DATASETS)
    models: list[Text] | None = Field(default=None, min_length=1)
    primary: list[Text] | None = Field(default=None, min_length=1, max_length=MOST_NAMED)
    baseline: Text | None = None
    min_effect: Effect = 0.0
    report: Text = "study"
    mlflow: MLflow | None = None

    @field_validator("datasets", mode="before")
    @classmethod
    def _folders(cls, given: Any) -> Any:
        """A plain text is the folder."""
        if not isinstance(given, dict):
            return given
        return {n: {"project": at} if isinstance(at, str) else at for n, at in given.items()}

    @field_validator("min_effect", mode="before")
    @classmethod
    def _effect(cls, given: Any) -> Any:
        if msg := wrong_effect(given):
            raise ValueError(msg)
        return given
