"""Metric: a row of the catalogue or a user-defined function, and the steps of its derivation."""

import ast
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, cast

from concord.metrics_core.conventions.convention import Scope
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.registry import CONVENTION
from concord.metrics_core.metrics.judged import Judged
from concord.metrics_core.metrics.ranked_lists import RankedLists

MAX_TERMS = 20  # of a sum that are shown


@dataclass(frozen=True)
class Steps:
    """Steps of one user's value.

    Attributes
    ----------
    terms : Mapping[int, str]
        Text for each rank that contributes to the value.
    lines : tuple of str
        Lines below the list.
    """

    terms: Mapping[int, str] = field(default_factory=dict)
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class DerivationInput:
    """What a derivation reads of one user.

    Attributes
    ----------
    judged : Judged
        All judged items.
    lists : Judged
        The relevant items.
    metric : str
        Name of the metric.
    k : int or None
        Cutoff of the label; None for the whole list.
    parameters : Mapping[str, float]
        Parameters of the label.
    conventions : Conventions
        Conventions of the label.
    policy : str
        Convention that replaces the formula, such as `user_no_recs: zero`; empty if none does.
    ranked_lists : RankedLists or None
        The whole list and its items, if the metric reads them.
    """

    judged: Judged
    lists: Judged
    metric: str
    k: int | None
    parameters: Mapping[str, float]
    conventions: Conventions
    policy: str = ""
    ranked_lists: RankedLists | None = None

    @property
    def ranks(self) -> list[int]:
        """Ranks of the hits in the top k."""
        ranks: list[int] = self.lists.hit_rank[self.lists.within(self.k)].tolist()
        return ranks

    @property
    def cutoff(self) -> int:
        """Cutoff k, or the length of the list."""
        return int(self.lists.cutoff(self.k)[0])

    @property
    def length(self) -> int:
        """Number of items in the list, at most k."""
        return int(self.lists.length(self.k)[0])

    @property
    def reachable(self) -> int:
        """Number of relevant items, at most k."""
        return int(self.lists.reachable(self.k)[0])

    @property
    def n_relevant(self) -> int:
        """Number of relevant items."""
        return int(self.lists.n_relevant[0])


def format_number(value: float) -> str:
    """Return a number with six digits."""
    return f"{value:.6g}"


def format_sum(terms: Sequence[str]) -> str:
    """Return a sum as text, with at most `MAX_TERMS` of its terms."""
    omitted = [f"… {len(terms) - MAX_TERMS} more"] if len(terms) > MAX_TERMS else []
    return " + ".join([*terms[:MAX_TERMS], *omitted]) or "0"


Bounds = tuple[float, float]  # lowest and highest value of a metric
UNBOUNDED: Bounds = (-math.inf, math.inf)


class Parameter(NamedTuple):
    """A parameter of a label, such as `p` of RBP; values lie strictly between low and high.

    A label without it has the value `default`, which results show; None: it must be written.
    """

    name: str
    low: float
    high: float
    example: float
    default: float | None = None


@dataclass(frozen=True)
class Metric:
    """A metric: its function, its source and how to read its values.

    Attributes
    ----------
    name : str
        Name in labels.
    function : callable
        Returns one value per user, shape (n_users,); one float if `is_aggregate`.
    source : str
        Paper that defines it.
    steps : callable, optional
        Returns the steps of a derivation.
    aliases : str
        Other names that labels may have, separated by spaces: lower case, letters and digits
        only.
    high, low : float
        Range under `standard`.
    family : str
        "accuracy", "agreement", "beyond", "own", or "values" of another tool.
    higher_is_better : bool
        False if lower values are better.
    parameters : tuple of Parameter
        Parameters that its labels must have.
    takes_k : bool
        False if its labels have no cutoff.
    averages_ties : bool
        True if it has an expected value under `ties: average`.
    counts_copies : bool
        True if each copy of an item counts under `duplicates: keep`; else only the first does.
    reads_judged : bool
        True if it reads all judged rows, whatever their grade.
    reads_pooled : bool
        True if it also reads items that were pooled but not judged; their grade is negative.
    reads_subtopics : bool
        True if it reads the subtopics of the ground truth.
    describes_list : bool
        True if it describes the list: undefined without one, whatever the user policies.
    is_aggregate : bool
        True if it is one number over all users, computed from an `Exposure`.
    reads_relevant : bool
        True if it is beyond accuracy and reads which items are relevant.
    needs : tuple of str
        What it reads in addition to lists and truth: train, items, features, groups, k.
    columns : tuple of str
        Numeric columns of the catalogue that it reads, such as a price.
    """

    name: str
    function: Callable[..., Any]
    source: str
    steps: Callable[[DerivationInput], Steps] | None = None
    aliases: str = ""
    high: float = 1.0
    low: float = 0.0
    family: str = "accuracy"
    higher_is_better: bool = True
    parameters: tuple[Parameter, ...] = ()
    takes_k: bool = True
    averages_ties: bool = False
    counts_copies: bool = True
    reads_judged: bool = False
    reads_pooled: bool = False
    reads_subtopics: bool = False
    describes_list: bool = False
    is_aggregate: bool = False
    reads_relevant: bool = False
    needs: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    @property
    def range(self) -> Bounds:
        """Lowest and highest value under `standard`."""
        return self.low, self.high

    @property
    def is_of_values(self) -> bool:
        """True if another tool computed its values."""
        return self.family == "values"  # OF_VALUES of results, which no metric imports

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the parameters that its labels must have."""
        return tuple(each.name for each in self.parameters)

    @cached_property
    def conventions(self) -> tuple[str, ...]:
        """Names of the conventions that its function takes as keywords."""
        parameters = inspect.signature(self.function).parameters.values()
        return tuple(
            p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name in CONVENTION
        )

    def arguments(self, conventions: Conventions) -> dict[str, Any]:
        """Return the conventions that its function takes, as keyword arguments."""
        return {name: getattr(conventions, name) for name in self.conventions}

    def is_in_scope(self, scope: Scope) -> bool:
        """True if a convention of this scope can change its values, taken as a keyword or not."""
        return {
            "kernel": False,
            "every": True,
            "relevance": self.uses_relevance or self.reads_relevant,
            "truth": not self.describes_list,
            "users": not self.is_aggregate,
        }[scope]

    @property
    def uses_relevance(self) -> bool:
        """True if it distinguishes relevant items from others."""
        return not self.describes_list and (
            not self.reads_judged or "relevance_threshold" in self.conventions
        )

    @property
    def formula(self) -> str:
        """First line of the function's docstring."""
        text = inspect.getdoc(self.function) or _source_docstring(self.function)
        return text.splitlines()[0].rstrip(".")


def _source_docstring(function: Callable[..., Any]) -> str:
    """Return the docstring from the source: PYTHONOPTIMIZE=2 removes it from the function."""
    (definition,) = ast.parse(inspect.getsource(function)).body
    return ast.get_docstring(cast(ast.FunctionDef, definition)) or ""
