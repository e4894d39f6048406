"""The results of `explain`: how one user's value comes about, under one definition or two."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.results.base import OMIT_IF_NONE, BaseResult, frame_of
from concord.metrics_core.results.rendering import render

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class ListedItem:
    """One rank of the list.

    Attributes
    ----------
    item : str, int or None
        None for a later copy of an item.
    grade : float or None
        None if the item is not judged.
    term : str
        What the rank adds to the value.
    """

    rank: int
    item: Any
    grade: float | None
    relevant: bool
    term: str


@dataclass(frozen=True, repr=False)
class Derivation(BaseResult):
    """One user's value of one label, step by step.

    Attributes
    ----------
    value : float or None
        As `evaluate` gives it; NaN if undefined, None if the conventions leave the user out.
    threshold : float or None
        Smallest relevant grade; None if every grade is relevant.
    n_relevant, n_listed : int
        Relevant items in the ground truth, items in the list.
    listed : tuple of ListedItem
        The list up to the cutoff.
    sums : tuple of str
        The formula with its numbers, line by line.
    words : dict or None
        The words that texts show for user and item; None if they show these.

    Examples
    --------
    >>> import concord as cc
    >>> derivation = cc.explain({"u1": ["a", "b"]}, {"u1": ["b"]}, user="u1", metric="RR")
    >>> derivation.value, derivation.n_relevant
    (0.5, 1)
    >>> derivation.sums
    ('RR = 1 / 2  (the first hit)',)
    """

    user: Any
    label: str
    value: float | None
    conventions: Conventions
    threshold: float | None
    n_relevant: int
    n_listed: int
    listed: tuple[ListedItem, ...]
    sums: tuple[str, ...]
    words: Mapping[str, str] | None = field(default=None, metadata=OMIT_IF_NONE)

    def to_frame(self) -> "pl.DataFrame":
        """Return rank, item (as text), grade, relevant and term; one row per rank."""
        rows = (
            replace(row, item=None if row.item is None else str(row.item)) for row in self.listed
        )
        return frame_of(ListedItem, rows)

    def to_markdown(self) -> str:
        """Return the derivation as Markdown, for a pull request."""
        return render(self, "markdown")


@dataclass(frozen=True)
class ConventionPath:
    """The conventions that lead from one definition of a label to another.

    Attributes
    ----------
    ours, theirs : float or None
        The value under either definition.
    changed : dict
        Convention -> its two values, for those that matter to the metric and differ.
    alone : dict
        Convention -> the value with only that convention changed.
    decisive : tuple of str
        The fewest conventions that together give the other value.
    """

    ours: float | None
    theirs: float | None
    changed: Mapping[str, tuple[Any, Any]]
    alone: Mapping[str, float | None]
    decisive: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class ExplanationDiff(BaseResult):
    """Two derivations of the same value, and the conventions that make them differ.

    Examples
    --------
    >>> import concord as cc
    >>> recs, truth = {"u1": ["a", "b"]}, {"u1": {"b": 2, "c": 1}}
    >>> diff = cc.explain(recs, truth, user="u1", metric="nDCG@2", versus="rectools")
    >>> round(diff.ours.value, 4), round(diff.theirs.value, 4)
    (0.4796, 0.3869)
    """

    ours: Derivation
    theirs: Derivation
    path: ConventionPath

    @property
    def words(self) -> Mapping[str, str] | None:
        """The words that texts show for user and item; None if they show these."""
        return self.ours.words

    def to_frame(self) -> "pl.DataFrame":
        """Return both derivations side by side; one row per rank."""
        ours, theirs = self.ours.to_frame(), self.theirs.to_frame()
        return ours.join(theirs, on=["rank", "item"], how="full", coalesce=True, suffix="_theirs")

    def to_markdown(self) -> str:
        """Return both derivations and the conventions between them as Markdown."""
        return render(self, "markdown")
