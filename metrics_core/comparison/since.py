"""What has changed since another revision: values, segments, conventions and data. Not part of comparison.json."""

from collections.abc import Sequence
from dataclasses import dataclass

from concord.metrics_core.comparison.parts import Verdict


@dataclass(frozen=True)
class Change:
    """A model on a label, now minus then; None where a number does not exist."""

    label: str
    model: str
    primary: bool
    then: float | None
    now: float | None
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    relative: float | None
    n_users: int
    n_nonzero: int
    p: float | None
    p_adjusted: float | None
    min_effect: float | None
    verdict: Verdict


@dataclass(frozen=True)
class SegmentChange:
    """A model on a label in a group of users or wanted items, now minus then; only what is worse is kept.

    p_adjusted : by Benjamini and Hochberg over the labels and groups of the segmentation
    """

    label: str
    model: str
    segmentation: str
    segment: str
    then: float | None
    now: float | None
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    n_users: int
    n_nonzero: int
    p_adjusted: float | None
    verdict: Verdict


@dataclass(frozen=True)
class Setting:
    """A convention that has another value, or a table that has another content; `models`: those whom it concerns."""

    name: str
    then: str
    now: str
    models: tuple[str, ...]


@dataclass(frozen=True)
class Since:
    """Models against their former selves.

    revision    : the other revision, as it was named
    doubts      : why the numbers are no comparison; then there are no changes
    notes       : what only one of the two revisions has, and other versions of Concord
    changes     : one a label and model that both have
    worse       : the groups in which a model is worse than it was
    segmented   : was there any group to look at?
    conventions : those that have changed
    data        : tables that have changed, with their hashes
    rules       : keys of params.yaml by which is decided, of no model: `gate`, `comparison`, `segments`
    """

    revision: str
    doubts: tuple[str, ...]
    notes: tuple[str, ...]
    changes: Sequence[Change]
    worse: Sequence[SegmentChange]
    segmented: bool
    conventions: tuple[Setting, ...]
    data: tuple[Setting, ...]
    rules: tuple[Setting, ...] = ()
