"""What the MLflow run of one model holds, and its fingerprint: equal content is logged once."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from metrics_core.catalogue import Label, parse
from pipeline.checks import refuse
from pipeline.params import Params
from pipeline.tracking.mlflow_names import curve_key, interval_key, metric_key
from pipeline.tracking.run_note import note

Json = dict[str, Any]


class Point(NamedTuple):
    key: str
    value: float
    step: int


class DataFile(NamedTuple):
    name: str
    path: str
    md5: str


class Artifact(NamedTuple):
    file: Path
    folder: str  # inside the run; empty for its root


@dataclass(frozen=True)
class RunContent:
    """All that the run of a model holds, apart from when, where and by whom it was logged."""

    model: str
    points: tuple[Point, ...]
    params: Mapping[str, str]
    tags: Mapping[str, str]
    datasets: tuple[DataFile, ...]
    artifacts: tuple[Artifact, ...]

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over everything that is logged; files count by their bytes, not by where they are."""
        files = {f"{folder}/{file.name}": _sha256(file) for file, folder in self.artifacts}
        content = {**vars(self), "artifacts": files}
        text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def contents(params: Params) -> list[RunContent]:
    """One run a model, in the order of params.yaml, from the results on disk.

    Raises
    ------
    InputError : a result is missing
    """
    comparison = _read(Path(params.results.comparison) / "comparison.json")
    return [_content(params, model, comparison) for model in params.models]


def _content(params: Params, model: str, comparison: Json) -> RunContent:
    metrics_file = Path(params.results.metrics) / f"{model}.json"
    summary = _read(Path(params.results.summary) / f"{model}.json")
    means = {parse(label): value for label, value in _read(metrics_file).items()}
    points = [
        *_scalars(means),
        *_curves(means),
        *_intervals(summary["metrics"], comparison["primary"]),
    ]
    report = Path(params.results.report)
    shared = (
        report / "report.html",
        report / "report.md",
        Path(params.results.comparison) / "comparison.json",
    )
    return RunContent(
        model=model,
        points=tuple(point for point in points if math.isfinite(point.value)),
        params=_params(params, model),
        tags={**_tags(summary), "mlflow.note.content": note(model, comparison, summary["users"])},
        datasets=tuple(
            DataFile(name, source["path"], source["md5"])
            for name, source in summary["inputs"].items()
        ),
        artifacts=(
            *(Artifact(_existing(file), "") for file in shared),
            Artifact(metrics_file, "metrics"),
        ),
    )


def _scalars(means: Mapping[Label, float | None]) -> Iterator[Point]:
    """At step 0, so that MLflow draws bars."""
    for label, mean in means.items():
        yield Point(metric_key(label), _number(mean), 0)


def _curves(means: Mapping[Label, float | None]) -> Iterator[Point]:
    """With k as the step, so that MLflow draws the models over k; a single cutoff is no curve."""
    with_k = [
        (curve_key(label), mean, label.k) for label, mean in means.items() if label.k is not None
    ]
    keys = [key for key, _, _ in with_k]
    for key, mean, k in with_k:
        if keys.count(key) > 1:
            yield Point(key, _number(mean), k)


def _intervals(metrics: Mapping[str, Json], primary: list[str]) -> Iterator[Point]:
    """For the primary labels only: MLflow draws one chart a name."""
    for text in primary:
        for part in ("ci_low", "ci_high", "n_undefined"):
            yield Point(interval_key(parse(text), part), _number(metrics[text][part]), 0)


def _params(params: Params, model: str) -> dict[str, str]:
    return {
        "model": model,
        "lists": params.models[model].path,
        "truth": params.data.truth.path,
        "metrics": ", ".join(params.evaluation.metrics),
        "ks": ", ".join(str(k) for k in sorted(params.evaluation.ks)),
        "preset": params.pinned.preset,
        "baseline": params.comparison.baseline,
        "primary": ", ".join(params.comparison.primary),
        "confidence": str(params.comparison.confidence),
    }


def _tags(summary: Json) -> dict[str, str]:
    return {
        **{f"convention.{name}": _text(value) for name, value in summary["conventions"].items()},
        "concord.conventions": summary["fingerprint"],
        "concord.version": summary["versions"]["concord"],
        **{
            f"concord.{name}_sha256": source["sha256"] for name, source in summary["inputs"].items()
        },
    }


def _text(value: Any) -> str:
    return (
        value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _existing(file: Path) -> Path:
    if not file.is_file():
        raise refuse(str(file), "there is no such file", "run `dvc repro`, which makes it")
    return file


def _read(file: Path) -> Json:
    content: Json = json.loads(_existing(file).read_text(encoding="utf-8"))
    return content
