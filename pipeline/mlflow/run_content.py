"""Content of an MLflow run, its fingerprint, and the names of metrics in MLflow."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from concord.metrics_core.metrics.label import Label, parse
from concord.metrics_core.results.comparison_parts import or_nan

CONVENTIONS = "conventions.yaml"  # artifact of a model's run
JsonMapping = Mapping[str, Any]


def metric_key(label: Label) -> str:
    """Return `accuracy/rbp.p-0.8_at_20` for `RBP(p=0.8)@20`."""
    return f"{label.metric.family}/{stem_at_k(label)}"


def tag_key(kind: str, label: Label) -> str:
    """Return `concord.verdict.ndcg_at_10` for `nDCG@10`."""
    return f"concord.{kind}.{stem_at_k(label)}"


def curve_key(label: Label) -> str:
    """Return `by_k/ndcg` for `nDCG@10`: k is the step of the curve."""
    return f"by_k/{_stem(label)}"


def stem_at_k(label: Label) -> str:
    """Return `ndcg_at_10` for `nDCG@10`."""
    return _stem(label) if label.k is None else f"{_stem(label)}_at_{label.k}"


def _stem(label: Label) -> str:
    return label.name.lower() + "".join(  # decimals without an exponent: MLflow refuses `+`
        f".{name}-{np.format_float_positional(value, trim='-')}" for name, value in label.arguments
    )


Json = dict[str, Any]


class Point(NamedTuple):
    """A value of a metric at a step."""

    key: str
    value: float
    step: int


class DataFile(NamedTuple):
    """A data set of a run; `schema` and `profile` are MLflow's JSON, None if unknown."""

    name: str
    path: str
    md5: str
    schema: str | None = None
    profile: str | None = None


class Artifact(NamedTuple):
    """A file, and its folder in the run; "" is the root."""

    file: Path
    folder: str


class TrainingRun(NamedTuple):
    """The run that trained a model, and how the evaluation is attached: `metrics` or `child`."""

    run_id: str
    attach: str


@dataclass(frozen=True)
class RunContent:
    """Content of a run, apart from time, place and user."""

    name: str
    points: tuple[Point, ...]
    params: Mapping[str, str]
    tags: Mapping[str, str]
    datasets: tuple[DataFile, ...]
    artifacts: tuple[Artifact, ...]
    texts: Mapping[str, str] = field(default_factory=dict)  # further artifacts: name -> text
    training: TrainingRun | None = None

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all that is logged."""
        return fingerprint_of({**vars(self), "artifacts": artifact_hashes(self.artifacts)})


def artifact_hashes(artifacts: Iterable[Artifact]) -> dict[str, str]:
    """Return path in the run -> SHA-256; it does not depend on where the files are."""
    return {
        f"{folder}/{file.name}": hashlib.sha256(file.read_bytes()).hexdigest()
        for file, folder in artifacts
    }


def fingerprint_of(content: Json) -> str:
    """Return the SHA-256 of a content as JSON."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Standing:
    """How a model compares: differences to the baseline, adjusted p-values and verdicts.

    Attributes
    ----------
    points : mapping
        Key -> value; NaN if the comparison has no number.
    tags : mapping
        Verdicts, rank and baseline.
    artifacts : tuple of Artifact
        The report, if the model is logged on its training run or a child of that.
    """

    points: Mapping[str, float]
    tags: Mapping[str, str]
    artifacts: tuple[Artifact, ...] = ()

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all that is logged."""
        points = {key: None if math.isnan(value) else value for key, value in self.points.items()}
        files = artifact_hashes(self.artifacts)
        return fingerprint_of({"points": points, "tags": self.tags, "artifacts": files})


_TYPES = {"text": "string", "integer": "long"}
MAX_DIGEST = 36  # characters that MLflow accepts


def data_files(inputs: JsonMapping, quality: JsonMapping, model: str) -> tuple[DataFile, ...]:
    """Return the data sets of a model's run.

    Parameters
    ----------
    inputs : mapping
        Role -> path, and md5 or the ETag of an object store.
    quality : mapping
        Data quality of the lists of each model, and of the ground truth as "truth".
    model : str
        Name of the model.
    """
    lists = quality.get(model)
    truth = quality.get("truth")
    if truth and lists and "fold" in lists:
        truth = truth["folds"][lists["fold"]]
    counts = {"truth": truth, "lists": lists}
    return tuple(
        DataFile(
            name, source["path"], _digest(source), *_schema_and_profile(name, counts.get(name))
        )
        for name, source in inputs.items()
    )


def _digest(source: JsonMapping) -> str:
    """Return the md5, or the ETag of an object store; a long ETag is hashed."""
    etag = str(source.get("etag", ""))
    if len(etag) > MAX_DIGEST:
        etag = hashlib.md5(etag.encode(), usedforsecurity=False).hexdigest()
    return source["md5"] or etag


def _schema_and_profile(
    name: str, counts: JsonMapping | None
) -> tuple[str, str] | tuple[None, None]:
    if not counts:
        return None, None
    columns = [
        {"type": kind, "name": column, "required": True} for column, kind in _columns(name, counts)
    ]
    users = counts["users"]
    profile = {
        "num_rows": counts["rows"],
        "num_elements": counts["rows"] * len(columns),
        "num_users": users if isinstance(users, int) else users["in_lists"],
        "num_items": counts["items"],
    }
    return json.dumps({"mlflow_colspec": columns}), json.dumps(profile)


def _columns(name: str, counts: JsonMapping) -> Iterator[tuple[str, str]]:
    """Yield the names and types of the columns that Concord reads."""
    yield "user", _TYPES[counts["user_type"]]
    yield "item", _TYPES[counts["item_type"]]
    if name == "lists":
        yield "rank", "long"
    if counts.get("has_scores"):
        yield "score", "double"
    if counts.get("grades"):
        yield "grade", "double"


def metric_points(
    means: Mapping[Label, float | None], summaries: Mapping[str, JsonMapping], labels: Iterable[str]
) -> Iterator[Point]:
    """Yield means, curves over k and the intervals of these labels; all would be too many charts.

    MLflow draws means at step 0 as bars, and means with k as the step as a curve.
    """
    for label, mean in means.items():
        yield Point(metric_key(label), float(or_nan(mean)), 0)
    counts = Counter(curve_key(label) for label in means if label.k is not None)
    for label, mean in means.items():
        if label.k is not None and counts[curve_key(label)] > 1:
            yield Point(curve_key(label), float(or_nan(mean)), label.k)
    for text in labels:
        key = f"interval/{stem_at_k(parse(text))}"
        for part in ("ci_low", "ci_high", "n_undefined"):
            yield Point(f"{key}_{part}", float(or_nan(summaries[text][part])), 0)


def conventions_text(conventions: Mapping[str, Any]) -> str:
    """Return the conventions as YAML."""
    lines = [
        f"  {name}: {json.dumps(value, ensure_ascii=False)}" for name, value in conventions.items()
    ]
    return "\n".join(["conventions:", *lines, ""])
