"""Metric: one row of the catalogue, or a user-defined function with its properties."""

import ast
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

from concord.metrics_core.conventions.convention import Scope
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.registry import CONVENTION
from concord.metrics_core.metrics.steps import DerivationInput, Steps

Bounds = tuple[float, float]  # lowest and highest value of a metric
UNBOUNDED: Bounds = (-math.inf, math.inf)


class Parameter(NamedTuple):
    """A parameter of a label, such as `p` of RBP, and the open interval of its values."""

    name: str
    low: float
    high: float
    example: float


@dataclass(frozen=True)
class Metric:
    """One metric: its function, where it comes from and how to read its values."""

    name: str
    function: Callable[..., Any]  # (users,) Floats; of an `is_aggregate` metric one float
    source: str
    steps: Callable[[DerivationInput], Steps] | None = None  # of a derivation
    aliases: str = ""  # other spellings: lower case, letters and digits only
    high: float = 1.0  # the upper end of its range under `standard`
    low: float = 0.0
    family: str = "accuracy"
    higher_is_better: bool = True
    parameters: tuple[Parameter, ...] = ()
    takes_k: bool = True
    averages_ties: bool = False  # has an expected value under `ties: average`
    counts_copies: bool = True  # under `duplicates: keep`; else a copy counts as a miss, or not
    reads_judged: bool = False  # reads all judged rows, whatever their grade
    describes_list: bool = (
        False  # describes the list: undefined without one, whatever the user policies
    )
    is_aggregate: bool = False  # one number over all users, from the items that they are shown
    reads_relevant: bool = False  # beyond accuracy: reads which items are relevant
    needs: tuple[str, ...] = ()  # beside lists and truth: train, items, features, groups, k
    columns: tuple[str, ...] = ()  # numbers of the catalogue that it reads, such as a price

    @property
    def range(self) -> Bounds:
        """Lowest and highest value under `standard`."""
        return self.low, self.high

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of the parameters that its label must have."""
        return tuple(each.name for each in self.parameters)

    @cached_property
    def conventions(self) -> tuple[str, ...]:
        """The conventions that its function takes as keywords."""
        parameters = inspect.signature(self.function).parameters.values()
        return tuple(
            p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name in CONVENTION
        )

    def arguments(self, conventions: Conventions) -> dict[str, Any]:
        """Return the keyword arguments that its function takes from the conventions."""
        return {name: getattr(conventions, name) for name in self.conventions}

    def is_in_scope(self, scope: Scope) -> bool:
        """True if a convention of this scope can change its values, whatever its function takes."""
        if scope == "relevance":
            return self.uses_relevance or self.reads_relevant
        per_scope = {
            "every": True,
            "truth": not self.describes_list,
            "users": not self.is_aggregate,
        }
        return per_scope.get(scope, False)

    @property
    def uses_relevance(self) -> bool:
        """True if it distinguishes relevant items from others."""
        return not self.describes_list and (
            not self.reads_judged or "relevance_threshold" in self.conventions
        )

    @property
    def formula(self) -> str:
        """The first line of the function's docstring, read from its source if PYTHONOPTIMIZE=2 removes it."""
        text = inspect.getdoc(self.function) or _documented(self.function)
        return text.splitlines()[0].rstrip(".")


def _documented(function: Callable[..., Any]) -> str:
    (definition,) = ast.parse(inspect.getsource(function)).body
    return ast.get_docstring(cast(ast.FunctionDef, definition)) or ""
