"""Types of the fields of `Options` as keyword arguments; made by docs/option_types.py."""
# fmt: off

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from concord.metrics_core.comparison.options import Family
from concord.metrics_core.data.argument_types import PolicyOptions, Where
from concord.metrics_core.metrics.metric import Bounds


class OptionFields(TypedDict, total=False):
    """Fields of `Options`."""

    title: str
    confidence: float
    family: Family
    tried: int | None
    wilcoxon: bool
    resamples: int
    seed: int
    max_missing_lists: float
    panel: bool
    paired_replicates: bool
    higher_is_better: Mapping[str, bool] | None
    bounds: Mapping[str, Bounds] | None
    segments: Mapping[str, Mapping[str, Any]] | None
    gate: Mapping[str, Any] | None
    checks: Mapping[str, Mapping[str, Any]] | None
    acknowledge: Mapping[str, Mapping[str, Any]] | None
    input: PolicyOptions | None
    unit: Sequence[str]
    words: Mapping[str, str] | None
    model: str | None
    where: Where | None
