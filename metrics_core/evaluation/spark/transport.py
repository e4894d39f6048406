"""Results of workers as JSON: known classes only, so that nothing that is read can run code."""

import json
from base64 import b64decode, b64encode
from collections import Counter
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from concord.metrics_core.errors import AffectedRows, Problem, Refusal
from concord.metrics_core.evaluation.diagnostics import ListCounts, TrainOverlap
from concord.metrics_core.evaluation.spark.facts import Facts
from concord.metrics_core.evaluation.summary import Totals
from concord.metrics_core.metrics.exposure import Exposure
from concord.metrics_core.stats.mean_interval import ValueSpread

_CLASSES = (
    AffectedRows,
    Exposure,
    Facts,
    ListCounts,
    Problem,
    Refusal,
    Totals,
    TrainOverlap,
    ValueSpread,
)
_BY_NAME = {each.__name__: each for each in _CLASSES}
_COLLECTIONS = {each.__name__: each for each in (list, tuple, set)}


def as_json(value: Any) -> str:
    """Return a value of these classes as JSON; numbers keep all bits."""
    return json.dumps(_tagged(value))


def from_json(text: str) -> Any:
    """Return the value that `as_json` wrote."""
    return _untagged(json.loads(text))


def _tagged(value: Any) -> Any:
    name = type(value).__name__
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return ["array", value.dtype.str, b64encode(value.tobytes()).decode()]
    if isinstance(value, dict):
        return [name, [[_tagged(key), _tagged(each)] for key, each in value.items()]]
    if name in _COLLECTIONS:
        return [name, [_tagged(each) for each in value]]
    if is_dataclass(value):
        return [name, {f.name: _tagged(getattr(value, f.name)) for f in fields(value)}]
    return value


def _untagged(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    name, content = value[0], value[-1]
    if name == "array":
        return np.frombuffer(b64decode(content), dtype=value[1])
    if name in _COLLECTIONS:
        return _COLLECTIONS[name](_untagged(each) for each in content)
    if name in ("dict", "Counter"):
        pairs = {_untagged(key): _untagged(each) for key, each in content}
        return Counter(pairs) if name == "Counter" else pairs
    return _BY_NAME[name](**{each: _untagged(inner) for each, inner in content.items()})
