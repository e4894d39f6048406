"""What one MLflow run holds, and its fingerprint: equal content is logged once."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from concord.metrics_core.errors import refuse

Json = dict[str, Any]


class Point(NamedTuple):
    key: str
    value: float
    step: int


class DataFile(NamedTuple):
    """A data set of a run; `schema` and `profile` as MLflow writes them, None where nothing is known of the file."""

    name: str
    path: str
    md5: str
    schema: str | None = None
    profile: str | None = None


class Artifact(NamedTuple):
    file: Path
    folder: str  # inside the run; empty for its root


class Training(NamedTuple):
    """The run that trained the model, and how the evaluation is attached to it: `metrics` or `child`."""

    run_id: str
    attach: str


@dataclass(frozen=True)
class RunContent:
    """All that a run holds, apart from when, where and by whom it was logged."""

    name: str
    points: tuple[Point, ...]
    params: Mapping[str, str]
    tags: Mapping[str, str]
    datasets: tuple[DataFile, ...]
    artifacts: tuple[Artifact, ...]
    texts: Mapping[str, str] = field(default_factory=dict)  # further artifacts: name -> text
    training: Training | None = None

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over everything that is logged."""
        return fingerprint_of({**vars(self), "artifacts": hashes(self.artifacts)})


def hashes(artifacts: Iterable[Artifact]) -> dict[str, str]:
    """Files count by their bytes, not by where they are."""
    return {f"{folder}/{file.name}": _sha256(file) for file, folder in artifacts}


def fingerprint_of(content: Json) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def existing(file: Path) -> Path:
    if not file.is_file():
        raise refuse(str(file), "there is no such file", "run `dvc repro`, which makes it")
    return file


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
