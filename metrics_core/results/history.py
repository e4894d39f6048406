"""The history of a project: its comparison at each revision, and changes between revisions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from concord.metrics_core.results.base import OMIT_IF_NONE, BaseResult, FiniteNumbers
from concord.metrics_core.results.comparison_parts import DataWarning, Difference, Severity, Verdict

if TYPE_CHECKING:
    import polars as pl

WORKING_TREE = "working tree"
Kind = Literal["models", "lists", "truth", "background", "conventions", "rules", "version"]


@dataclass(frozen=True, kw_only=True)
class Change(FiniteNumbers):
    """A model on a label, now minus then; None if a number does not exist.

    Attributes
    ----------
    ci_low, ci_high : float or None
        Interval at `level`, on which the verdict rests; as for `Difference`.
    p_adjusted : float or None
        Adjusted over the models and labels, or by Benjamini and Hochberg over the labels and
        segments of a segmentation.
    segmentation, segment : str or None
        None over all users.
    """

    label: str
    model: str
    primary: bool
    then: float | None
    now: float | None
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    level: float
    relative: float | None = None
    n_users: int
    n_nonzero: int
    p: float | None = None
    p_adjusted: float | None
    min_effect: float | None = None
    verdict: Verdict
    segmentation: str | None = field(default=None, metadata=OMIT_IF_NONE)
    segment: str | None = field(default=None, metadata=OMIT_IF_NONE)

    @classmethod
    def of(cls, pair: Difference) -> "Change":
        """Return the change of model a, whose results now are a and those then are b."""
        shared = {each.name for each in fields(cls)} & vars(pair).keys()
        values = {name: getattr(pair, name) for name in shared}
        return cls(model=pair.a, now=pair.mean_a, then=pair.mean_b, **values)


@dataclass(frozen=True)
class Setting:
    """A convention or parameter whose value changed, or a table whose content changed.

    Attributes
    ----------
    models : tuple of str
        The models that it concerns.
    """

    name: str
    then: str
    now: str
    models: tuple[str, ...]


@dataclass(frozen=True)
class RevisionChanges:
    """The models of a project compared with those of an earlier revision.

    Attributes
    ----------
    revision : str
        The earlier revision, as named.
    mismatches : tuple of str
        Reasons why the numbers cannot be compared; then there are no changes.
    notes : tuple of str
        Models and labels of only one of the two revisions, and other versions of Concord.
    changes : sequence of Change
        One per label and model that both have.
    worse : sequence of Change
        The segments in which a model is worse than it was.
    segmented : bool
        True if there are segments to look at.
    conventions, data : tuple of Setting
        Conventions that changed; tables that changed, with their hashes.
    rules : tuple of Setting
        Keys of params.yaml under `gate`, `comparison` and `segments` that changed.
    training_params : tuple of Setting
        Parameters that changed of the stages that made the recommendations, by dvc.lock.
    warnings : tuple of DataWarning
        Warnings of the revision itself; empty if its comparison cannot be read.
    """

    revision: str
    mismatches: tuple[str, ...]
    notes: tuple[str, ...]
    changes: Sequence[Change]
    worse: Sequence[Change]
    segmented: bool
    conventions: tuple[Setting, ...]
    data: tuple[Setting, ...]
    rules: tuple[Setting, ...] = ()
    training_params: tuple[Setting, ...] = ()
    warnings: tuple[DataWarning, ...] = ()


@dataclass(frozen=True)
class InputChange:
    """A change of the inputs of a comparison from one revision to the next, in words."""

    kind: Kind
    text: str


@dataclass(frozen=True)
class Standing:
    """A model on a primary label at a revision: its mean and its difference to the baseline."""

    label: str
    model: str
    higher_is_better: bool
    mean: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    difference: float | None = None
    diff_low: float | None = None
    diff_high: float | None = None
    min_effect: float | None = None
    verdict: Verdict | None = None


@dataclass(frozen=True)
class Revision:
    """A commit that changed the comparison.

    Attributes
    ----------
    name : str
        The short commit, or `working tree`.
    tags : tuple of str
        Of this commit and of later ones that did not change the comparison.
    truth : str or None
        Hash of the ground truth, as DVC has it.
    gone : str
        Why not everything can be shown; may be empty.
    standings : tuple of Standing
        One per primary label and model.
    changed : tuple of InputChange
        Changes since the revision before; empty for the first.
    unpaired : str
        Why the models were not compared with those of the revision before; empty if they were.
    same : tuple of str
        Models whose values per user are those of the revision before, bit for bit.
    changes : tuple of Change
        The other models, now minus then, user by user, as `concord diff` reports them.
    training_params : tuple of Setting
        Parameters that changed of the stages that made the recommendations, by dvc.lock.
    """

    name: str
    tags: tuple[str, ...]
    date: str
    subject: str
    truth: str | None
    baseline: str | None
    gone: str
    standings: tuple[Standing, ...]
    changed: tuple[InputChange, ...]
    unpaired: str
    same: tuple[str, ...]
    changes: tuple[Change, ...]
    training_params: tuple[Setting, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The primary labels, in the order given."""
        return tuple(dict.fromkeys(each.label for each in self.standings))

    def standings_of(self, label: str) -> list[Standing]:
        """Return the models on a label, best first; those without a mean last."""
        standings = [each for each in self.standings if each.label == label]
        sign = -1 if standings and standings[0].higher_is_better else 1
        return sorted(standings, key=lambda each: (each.mean is None, sign * (each.mean or 0.0)))

    def change(self, model: str, label: str) -> Change | None:
        """Return the change of a model on a label since the revision before; None if unchanged."""
        return next((c for c in self.changes if (c.model, c.label) == (model, label)), None)


@dataclass(frozen=True)
class Reuse:
    """How often the current ground truth was used to decide.

    Attributes
    ----------
    comparisons : int
        Those that decided something new on it.
    decisions : int
        Lists against the baseline's on a primary label, each counted once.
    chance : float
        Upper bound of the probability that at least one useless list was called better
        (`metrics_core/stats/adjustment.py`).
    severity : {'serious', 'notice'} or None
        None if the probability is negligible.
    """

    truth: str
    comparisons: int
    decisions: int
    chance: float
    severity: Severity | None
    sentence: str


_STANDING_FIELDS = (
    "label", "model", "mean", "ci_low", "ci_high", "difference", "diff_low", "diff_high", "verdict",
)  # fmt: skip
_TEXTS = ("revision", "tags", "date", "subject", "truth", "label", "model", "baseline")
_NUMBERS = ("mean", "ci_low", "ci_high", "difference", "diff_low", "diff_high")
_CHANGE_NUMBERS = ("change", "change_low", "change_high", "change_p_adjusted")


@dataclass(frozen=True, repr=False)
class History(BaseResult):
    """Comparisons of a project over its revisions, oldest first.

    Attributes
    ----------
    notes : tuple of str
        Remarks on all revisions.
    decimals : mapping
        Label -> decimals of the last comparison that has it and can be read.
    """

    title: str
    confidence: float
    revisions: Sequence[Revision]
    reuse: Reuse | None
    notes: tuple[str, ...] = ()
    decimals: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels that were primary at any revision, those of the last first."""
        return tuple(dict.fromkeys(x for each in reversed(self.revisions) for x in each.labels))

    def to_frame(self) -> "pl.DataFrame":
        """Return one row per revision, primary label and model; one row for an unknown revision."""
        import polars as pl

        schema = {
            **dict.fromkeys(_TEXTS, pl.String),
            **dict.fromkeys(_NUMBERS, pl.Float64),
            "verdict": pl.String,
            **dict.fromkeys(_CHANGE_NUMBERS, pl.Float64),
            **dict.fromkeys(("change_verdict", "changed", "training_params", "note"), pl.String),
        }
        return pl.DataFrame([row for each in self.revisions for row in _rows(each)], schema=schema)


def _setting_text(setting: Setting) -> str:
    return f"{', '.join(setting.models)}: {setting.name} {setting.then} → {setting.now}"


def _rows(revision: Revision) -> Iterator[dict[str, Any]]:
    revision_columns = {
        "revision": revision.name,
        "tags": ", ".join(revision.tags),
        "date": revision.date,
        "subject": revision.subject,
        "truth": revision.truth,
        "baseline": revision.baseline,
        "changed": "; ".join(each.text for each in revision.changed),
        "training_params": "; ".join(map(_setting_text, revision.training_params)),
        "note": "; ".join(dict.fromkeys(filter(None, (revision.gone, revision.unpaired)))),
    }
    if not revision.standings:
        yield revision_columns
    for standing in revision.standings:
        row = revision_columns | {name: getattr(standing, name) for name in _STANDING_FIELDS}
        change = revision.change(standing.model, standing.label)
        if change is not None:
            row |= {
                "change": change.difference,
                "change_low": change.ci_low,
                "change_high": change.ci_high,
                "change_p_adjusted": change.p_adjusted,
                "change_verdict": change.verdict,
            }
        elif standing.model in revision.same:
            row |= {"change": 0.0, "change_verdict": "identical"}
        yield row
