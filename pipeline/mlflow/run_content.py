"""What one MLflow run holds, its fingerprint, and the names of metrics in MLflow."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from concord.metrics_core.errors import refuse
from concord.metrics_core.metrics.label import Label, parse


def metric_key(label: Label) -> str:
    """`nDCG@10` -> `accuracy/ndcg_at_10`, `RBP(p=0.8)@20` -> `accuracy/rbp.p-0.8_at_20`."""
    return f"{label.metric.family}/{_stem_at_k(label)}"


def interval_key(label: Label, part: str) -> str:
    """`nDCG@10` and its `ci_low` -> `interval/ndcg_at_10_ci_low`."""
    return f"interval/{_stem_at_k(label)}_{part}"


def difference_key(label: Label) -> str:
    """`nDCG@10` -> `difference/ndcg_at_10`: to the baseline."""
    return f"difference/{_stem_at_k(label)}"


def p_key(label: Label) -> str:
    """`nDCG@10` -> `p_adjusted/ndcg_at_10`."""
    return f"p_adjusted/{_stem_at_k(label)}"


def leader_key(label: Label, part: str = "") -> str:
    """`nDCG@10` -> `leader/ndcg_at_10`, and its `difference` -> `leader/difference_ndcg_at_10`."""
    return f"leader/{part}{'_' if part else ''}{_stem_at_k(label)}"


def tag_key(kind: str, label: Label) -> str:
    """`nDCG@10` -> `concord.verdict.ndcg_at_10`."""
    return f"concord.{kind}.{_stem_at_k(label)}"


def curve_key(label: Label) -> str:
    """`nDCG@10` -> `by_k/ndcg`: k is the step of the curve."""
    return f"by_k/{_stem(label)}"


def study_key(label: str) -> str:
    """`nDCG@10` -> `ndcg_at_10`."""
    return _stem_at_k(parse(label))


def _stem_at_k(label: Label) -> str:
    return _stem(label) if label.k is None else f"{_stem(label)}_at_{label.k}"


def _stem(label: Label) -> str:
    return label.name.lower() + "".join(
        f".{name}-{_decimal(value)}" for name, value in label.arguments
    )


def _decimal(value: float) -> str:
    """The shortest digits that read back as the same number, without an exponent, whose `+` is refused."""
    return np.format_float_positional(value, trim="-")


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


JsonMapping = Mapping[str, Any]
_TYPES = {"text": "string", "integer": "long"}
_LONGEST = 36


def data_files(inputs: JsonMapping, quality: JsonMapping, model: str) -> tuple[DataFile, ...]:
    """The files behind the run of a model.

    Parameters
    ----------
    inputs  : name -> path and md5, or etag of what lies in an object store
    quality : what was found in the tables: of each model under its name, of the truth under `truth`
    """
    lists = quality.get(model)
    truth = quality.get("truth")
    if truth and lists and "fold" in lists:
        truth = truth["folds"][lists["fold"]]
    found = {"truth": truth, "lists": lists}
    return tuple(
        DataFile(name, source["path"], _digest(source), *_described(name, found.get(name)))
        for name, source in inputs.items()
    )


def _digest(source: JsonMapping) -> str:
    """The md5; of what lies in an object store its etag, of which MLflow takes no more than so many characters."""
    etag = str(source.get("etag", ""))
    if len(etag) > _LONGEST:
        etag = hashlib.md5(etag.encode(), usedforsecurity=False).hexdigest()
    return source["md5"] or etag


def _described(name: str, found: JsonMapping | None) -> tuple[str, str] | tuple[None, None]:
    if not found:
        return None, None
    columns = [
        {"type": kind, "name": column, "required": True} for column, kind in _columns(name, found)
    ]
    users = found["users"]
    profile = {
        "num_rows": found["rows"],
        "num_elements": found["rows"] * len(columns),
        "num_users": users if isinstance(users, int) else users["in_lists"],
        "num_items": found["items"],
    }
    return json.dumps({"mlflow_colspec": columns}), json.dumps(profile)


def _columns(name: str, found: JsonMapping) -> Iterator[tuple[str, str]]:
    """What Concord reads of the table, under its own names of columns."""
    yield "user", _TYPES[found["user_type"]]
    yield "item", _TYPES[found["item_type"]]
    if name == "lists":
        yield "rank", "long"
    if found.get("has_scores"):
        yield "score", "double"
    if found.get("grades"):
        yield "grade", "double"
