"""The result of `audit`: counts of each check of a split, and effects of affected users."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from concord.metrics_core.results.base import BaseResult, FiniteNumbers, frame_of
from concord.metrics_core.results.comparison_parts import DataWarning, PinnedConventions, Severity

if TYPE_CHECKING:
    import polars as pl

MIN_USERS = 10  # affected users, and others; with fewer there is no interval and no reversal
MIN_SET_SIZE = 10  # users of an item, items of a user; smaller sets are not compared for copies
RISEN_FACTOR = 2  # minimum ratio of an item's share in the truth to its share in train

Example = Mapping[str, str | float]  # ids as text, times and shares as numbers


@dataclass(frozen=True)
class CheckCount:
    """Counts of a check; a number that does not exist is None.

    Attributes
    ----------
    is_performed : bool
        False if the check needs times, and train or truth has none.
    severity : {'serious', 'notice'} or None
        None if nothing was found.
    rows, of_rows : int
        Affected rows, and all rows of their table: the truth, or for some checks train or lists.
    users, of_users : int
        Affected users, without whom the means are computed again, and all users of the truth.
    items, of_items : int
        Items of these rows, and all items of their table.
    bits, bits_by_chance : float
        Only of `popularity_drift`: the divergence, and its mean if all rows are divided at random.
    """

    check: str
    is_performed: bool
    severity: Severity | None
    rows: int | None = None
    of_rows: int | None = None
    users: int | None = None
    of_users: int | None = None
    items: int | None = None
    of_items: int | None = None
    bits: float | None = None
    bits_by_chance: float | None = None


@dataclass(frozen=True)
class LeaveOutEffect(FiniteNumbers):
    """The mean of a model on a label with all users, and without those whom a check affects.

    Attributes
    ----------
    mean, n_users : float, int
        Over all users who have a value.
    mean_without, n_without : float or None, int
        Over those who are not affected; None if there are none.
    shift : float or None
        mean_without - mean.
    ci_low, ci_high : float or None
        Interval of the shift; None with fewer than `MIN_USERS` affected users, or others.
    """

    check: str
    label: str
    model: str
    mean: float | None
    n_users: int
    mean_without: float | None
    n_without: int
    shift: float | None
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True)
class Reversal(FiniteNumbers):
    """Two models whose order reverses without affected users.

    Attributes
    ----------
    difference, ci_low, ci_high : float, float or None
        Of a - b with all users who have a value for both.
    difference_without, low_without, high_without : float, float or None
        The same without affected users.
    is_significant : bool
        True if neither interval contains 0.
    """

    check: str
    label: str
    a: str
    b: str
    difference: float
    ci_low: float | None
    ci_high: float | None
    difference_without: float
    low_without: float | None
    high_without: float | None
    is_significant: bool


@dataclass(frozen=True)
class Copies:
    """Items, or users, that look like copies of others.

    Attributes
    ----------
    n_ids : int
        Ids that have a copy.
    pairs : dict
        Criterion -> number of pairs: the same `title`, `vector`, `users` (in train) or `items`.
    """

    n_ids: int
    pairs: Mapping[str, int]


@dataclass(frozen=True)
class AuditCheck:
    """One check of the split.

    Attributes
    ----------
    examples : tuple of dict
        Up to five affected rows.
    warning : DataWarning or None
        The warning by which a comparison reports the same.
    train_share_after : float or None
        Only of `train_after_truth`: the share of train that is later than the start of the truth
        of the median user.
    copies : Copies or None
        Only of `item_copies` and `user_copies`.
    effects : tuple of LeaveOutEffect
        One for each label and model; empty if no user is affected.
    reversals : tuple of Reversal
        One for each label and pair of models whose order reverses.
    """

    count: CheckCount
    examples: tuple[Example, ...] = ()
    warning: DataWarning | None = None
    train_share_after: float | None = None
    copies: Copies | None = None
    effects: tuple[LeaveOutEffect, ...] = ()
    reversals: tuple[Reversal, ...] = ()

    @property
    def name(self) -> str:
        """The name of the check."""
        return self.count.check


@dataclass(frozen=True, repr=False)
class Audit(BaseResult):
    """Checks of a split, and the means of the models with and without affected users.

    Attributes
    ----------
    primary : tuple of str
        Labels that are evaluated with and without affected users.
    pooled : tuple of str
        Those of them that are one ratio over all users, so they have no value without some users.
    higher_is_better : dict
        Primary label -> True if higher values are better.
    n_users : int
        Number of evaluated users.
    checks : tuple of AuditCheck
        Every check, in the order of execution.
    times_fix : str
        How to give times to train and truth.

    Examples
    --------
    >>> import concord as cc
    >>> lists, truth, train = {"u1": ["a", "b"]}, {"u1": ["b", "c"]}, {"u1": ["b"]}
    >>> audit = cc.audit({"als": lists}, truth, train=train, metrics=["RR@2"])
    >>> audit["truth_in_train"].count.rows
    1
    """

    models: tuple[str, ...]
    primary: tuple[str, ...]
    pooled: tuple[str, ...]
    higher_is_better: Mapping[str, bool]
    confidence: float
    n_users: int
    checks: tuple[AuditCheck, ...]
    times_fix: str
    conventions: PinnedConventions

    def to_frame(self) -> "pl.DataFrame":
        """Return one row per check, columns as the fields of `CheckCount`."""
        return frame_of(CheckCount, (check.count for check in self.checks))

    @property
    def effects(self) -> "pl.DataFrame":
        """One row per check, label and model, columns as the fields of `LeaveOutEffect`."""
        return frame_of(LeaveOutEffect, (each for check in self.checks for each in check.effects))

    @property
    def reversals(self) -> "pl.DataFrame":
        """One row per check, label and reversed pair, columns as the fields of `Reversal`."""
        return frame_of(Reversal, (each for check in self.checks for each in check.reversals))

    @property
    def findings(self) -> tuple[AuditCheck, ...]:
        """The checks that found something, the most serious first."""
        positive = [check for check in self.checks if check.count.severity is not None]
        return tuple(sorted(positive, key=lambda check: check.count.severity != "serious"))

    @property
    def not_performed(self) -> tuple[AuditCheck, ...]:
        """The checks that need times which train or truth lacks."""
        return tuple(check for check in self.checks if not check.count.is_performed)

    def __getitem__(self, check: str) -> AuditCheck:
        """Return a check by its name; KeyError if there is none."""
        return {each.name: each for each in self.checks}[check]
