"""The history of a project: its comparison at each revision, and what changed since another revision."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from concord.metrics_core.results.comparison_parts import Severity, Verdict
from concord.metrics_core.results.frames import frame_of

if TYPE_CHECKING:
    import polars as pl


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
class RevisionChanges:
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


WORKING_TREE = "working tree"
Kind = Literal["models", "lists", "truth", "background", "conventions", "rules", "version"]


@dataclass(frozen=True)
class Changed:
    """What changed from one revision to the next, in words."""

    kind: Kind
    what: str


@dataclass(frozen=True)
class Standing:
    """A model on a primary label at a revision: its mean, and its difference to the baseline; None is not known."""

    label: str
    model: str
    higher_is_better: bool
    mean: float | None
    ci_low: float | None
    ci_high: float | None
    difference: float | None
    diff_low: float | None
    diff_high: float | None
    verdict: Verdict | None


@dataclass(frozen=True)
class Revision:
    """A commit that changed the comparison.

    name      : the commit in short, or `working tree`
    tags      : of this commit, and of later ones that left the comparison as it was
    truth     : the hash of the truth, as DVC has it
    gone      : why not all can be shown; empty where it can
    standings : one a primary label and model
    changed   : against the revision before; empty for the first
    unpaired  : why the models were not compared with their former selves; empty where they were
    same      : models whose users' values are those of before, bit for bit
    changes   : the others, now minus then, user by user: what `concord diff` says
    """

    name: str
    tags: tuple[str, ...]
    date: str
    subject: str
    truth: str | None
    baseline: str | None
    gone: str
    standings: tuple[Standing, ...]
    changed: tuple[Changed, ...]
    unpaired: str
    same: tuple[str, ...]
    changes: tuple[Change, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The primary labels, in the order given."""
        return tuple(dict.fromkeys(each.label for each in self.standings))

    def of(self, label: str) -> list[Standing]:
        """The models on a label, best first; those without a mean last."""
        found = [each for each in self.standings if each.label == label]
        sign = -1 if found and found[0].higher_is_better else 1
        return sorted(found, key=lambda each: (each.mean is None, sign * (each.mean or 0.0)))

    def change(self, model: str, label: str) -> Change | None:
        """A model on a label against its former self, where its values changed."""
        return next((c for c in self.changes if (c.model, c.label) == (model, label)), None)


@dataclass(frozen=True)
class Reuse:
    """How often the truth that is in use now was asked.

    comparisons : those that decided something new on it
    decisions   : lists against the baseline's on a primary label, each counted once
    chance      : of at least one useless list that is called better, at most (`metrics_core/stats/adjustment.py`)
    severity    : None where it is too small to speak of
    """

    truth: str
    comparisons: int
    decisions: int
    chance: float
    severity: Severity | None
    sentence: str


@dataclass(frozen=True)
class Row:
    """A row of `History.table`: a model on a primary label at a revision."""

    revision: str
    tags: str
    date: str
    subject: str
    truth: str | None
    label: str | None
    model: str | None
    baseline: str | None
    mean: float | None
    ci_low: float | None
    ci_high: float | None
    difference: float | None
    diff_low: float | None
    diff_high: float | None
    verdict: str | None
    change: float | None
    change_low: float | None
    change_high: float | None
    change_p_adjusted: float | None
    change_verdict: str | None
    changed: str
    note: str


@dataclass(frozen=True)
class History:
    """Revisions, oldest first; `notes` say what a reader must know of all of them."""

    title: str
    confidence: float
    revisions: Sequence[Revision]
    reuse: Reuse | None
    notes: tuple[str, ...] = ()

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels that were primary at any revision, those of the last first."""
        return tuple(dict.fromkeys(x for each in reversed(self.revisions) for x in each.labels))

    @property
    def table(self) -> "pl.DataFrame":
        """One row a revision, primary label and model; one where nothing is known of a revision."""
        return frame_of(Row, self.rows())

    def rows(self) -> Iterator[Row]:
        """Those of `table`."""
        for revision in self.revisions:
            standings: Sequence[Standing | None] = revision.standings or [None]
            for standing in standings:
                yield _row(revision, standing)


def _row(revision: Revision, at: Standing | None) -> Row:
    change = revision.change(at.model, at.label) if at else None
    same = at is not None and at.model in revision.same
    return Row(
        revision=revision.name,
        tags=", ".join(revision.tags),
        date=revision.date,
        subject=revision.subject,
        truth=revision.truth,
        label=at.label if at else None,
        model=at.model if at else None,
        baseline=revision.baseline,
        mean=at.mean if at else None,
        ci_low=at.ci_low if at else None,
        ci_high=at.ci_high if at else None,
        difference=at.difference if at else None,
        diff_low=at.diff_low if at else None,
        diff_high=at.diff_high if at else None,
        verdict=at.verdict if at else None,
        change=change.difference if change else 0.0 if same else None,
        change_low=change.ci_low if change else None,
        change_high=change.ci_high if change else None,
        change_p_adjusted=change.p_adjusted if change else None,
        change_verdict=change.verdict if change else "identical" if same else None,
        changed="; ".join(each.what for each in revision.changed),
        note="; ".join(dict.fromkeys(filter(None, (revision.gone, revision.unpaired)))),
    )
