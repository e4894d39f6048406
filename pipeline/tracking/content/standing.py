"""How a model stands in a comparison: what lies on its run beside its own content, and follows the last comparison."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from concord.metrics_core.metrics.catalogue import Label, parse
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference, or_nan
from concord.pipeline.tracking.content.mlflow_names import (
    difference_key,
    leader_key,
    p_key,
    tag_key,
)
from concord.pipeline.tracking.content.run_content import (
    Artifact,
    Point,
    fingerprint_of,
    hashes,
)

_BASELINE = "baseline"  # its verdict


@dataclass(frozen=True)
class Standing:
    """Differences to the baseline, adjusted p values and verdicts on the primary metrics.

    points    : key -> value; NaN where the comparison gives no number
    artifacts : the report, where the run is, or lies below, the one that trained the model
    """

    points: Mapping[str, float]
    tags: Mapping[str, str]
    artifacts: tuple[Artifact, ...] = ()

    @cached_property
    def fingerprint(self) -> str:
        points = {key: None if math.isnan(value) else value for key, value in self.points.items()}
        files = hashes(self.artifacts)
        return fingerprint_of({"points": points, "tags": self.tags, "artifacts": files})


def standing(comparison: Comparison, lists: str, artifacts: tuple[Artifact, ...] = ()) -> Standing:
    """Of the model that the lists are of: several trainings stand as one."""
    points, tags = {}, {}
    model = comparison.lists[lists]
    for label, pair in _pairs(comparison, model):
        points[difference_key(label)], points[p_key(label)] = _numbers(pair)
        tags[tag_key("verdict", label)] = _verdict(comparison, model, pair)
    place = comparison.ranked.index(model) + 1
    tags |= {
        "concord.baseline": comparison.baseline,
        "concord.place": f"{place} of {len(comparison.models)}",
        **({} if model == lists else {"concord.replicate_of": model}),
    }
    return Standing(points, tags, artifacts)


def leader_points(comparison: Comparison) -> Iterator[Point]:
    """What the best model of each primary metric reaches; no name of theirs is one of a model's run."""
    for text in comparison.primary:
        label, leader = parse(text), _leader(comparison, text)
        pair = comparison.difference(leader, comparison.baseline, text)
        yield Point(leader_key(label), or_nan(comparison.score(leader, text).mean), 0)
        difference, p_adjusted = _numbers(pair)
        yield Point(leader_key(label, "difference"), difference, 0)
        yield Point(leader_key(label, "p_adjusted"), p_adjusted, 0)
        if trained := comparison.retrained(leader, comparison.baseline, text):
            yield Point(leader_key(label, "trained_low"), or_nan(trained.ci_low), 0)
            yield Point(leader_key(label, "trained_high"), or_nan(trained.ci_high), 0)


def leader_tags(comparison: Comparison) -> dict[str, str]:
    """Who leads on each primary metric, and the verdict on it."""
    tags = {}
    for text in comparison.primary:
        label, leader = parse(text), _leader(comparison, text)
        pair = comparison.difference(leader, comparison.baseline, text)
        tags[tag_key("leader", label)] = leader
        tags[tag_key("verdict", label)] = _verdict(comparison, leader, pair)
        if trained := comparison.retrained(leader, comparison.baseline, text):
            tags[tag_key("trained_verdict", label)] = trained.verdict
    return tags


def _pairs(comparison: Comparison, model: str) -> Iterator[tuple[Label, Difference | None]]:
    for text in comparison.primary:
        yield parse(text), comparison.difference(model, comparison.baseline, text)


def _leader(comparison: Comparison, label: str) -> str:
    """Of models with the same mean the first; of models without one too."""
    return next(iter(comparison.leaders(label)), comparison.models[0])


def _verdict(comparison: Comparison, model: str, pair: Difference | None) -> str:
    if model == comparison.baseline:
        return _BASELINE
    return pair.verdict if pair else "not_compared"


def _numbers(pair: Difference | None) -> tuple[float, float]:
    """Difference and adjusted p value; NaN where there is none."""
    if pair is None:
        return math.nan, math.nan
    return or_nan(pair.difference), or_nan(pair.p_adjusted)
