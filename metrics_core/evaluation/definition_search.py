"""Definitions of a metric that may have given a published number, and their means.

Presets are tried first, then the given conventions with one of them changed, then with two.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

from duckdb import DuckDBPyConnection

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.registry import PRESET_CONVENTIONS
from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.accumulator import definition_mean
from concord.metrics_core.evaluation.panel import (
    Definition,
    changed_conventions,
    definitions_with_null,
)
from concord.metrics_core.evaluation.partition import Task, evaluate_partition
from concord.metrics_core.evaluation.score import definition_problem
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.metrics.scope import depends_on
from concord.metrics_core.results.comparison_parts import value_text


@dataclass(frozen=True)
class ConventionMatch:
    """A definition of a metric and the mean that it gives.

    Attributes
    ----------
    presets : tuple of str
        Presets that define the metric so; may be empty.
    changes : dict
        Conventions that differ from the requested ones.
    matches : bool
        True if the mean is printed as the number.
    is_cut : bool
        True if the further digits of the mean were cut off, not rounded.
    presets_with_null : tuple of str
        Presets that define the metric so if `relevance_threshold` is null.

    Examples
    --------
    >>> import concord as cc
    >>> lists, truth = {"u1": ["a", "b"]}, {"u1": ["b"]}
    >>> match = cc.reconcile(lists, truth, value="0.5", metric="P@2").matches[0]
    >>> match.mean, match.matches
    (0.5, True)
    """

    mean: float
    presets: tuple[str, ...]
    changes: Mapping[str, Any]
    matches: bool
    is_cut: bool
    presets_with_null: tuple[str, ...] = ()

    @property
    def change_texts(self) -> list[str]:
        """Changes as text, such as `gain: binary`."""
        return [f"{name}: {value_text(value)}" for name, value in self.changes.items()]


MAX_THRESHOLDS = 10  # relevance thresholds that are tried
BATCH_SIZE = 64  # definitions that are computed in one pass
_TOLERANCE = 1e-9
_NUMBER = re.compile(r"^(?P<sign>-?)(?P<digits>\d*\.?\d+)(?P<percent>%?)$")
# Values of conventions that are not enumerated in the registry.
_MORE_VALUES: Mapping[str, tuple[Any, ...]] = {
    "relevance_threshold": (None,),
    "discount": ({"log": 2}, {"log": math.e}, {"log": 10}, {"jk": 2}, {"halflife": 5}),
    "err_max_grade": (1, 2, 3, 4, 5),
}
_SKIPPED_VALUES = ("error", "propagate")  # they give no number

ComputeMeans = Callable[[Sequence[Definition]], Sequence[float]]
Candidate = tuple[ConventionMatch, ...]  # a definition: its mean for each published number


@dataclass(frozen=True)
class PrintedNumber:
    """A printed number: its value and the size of its last digit."""

    value: float
    last_digit: float

    @classmethod
    def parse(cls, text: str) -> PrintedNumber:
        """Parse a string such as `0.330` or `33.0%`.

        Raises
        ------
        ValueError
            If the argument is not such a string.
        """
        match = _NUMBER.match(text.strip()) if isinstance(text, str) else None
        if match is None:
            problem = "is not a number" if isinstance(text, str) else "is not a string"
            msg = f"{text!r} {problem}: write the number as printed, such as '0.330' or '33.0%'"
            raise ValueError(msg)
        scale = 100 if match["percent"] else 1
        decimals = len(match["digits"].partition(".")[2])
        value = float(match["sign"] + match["digits"])
        return cls(value / scale, 10.0**-decimals / scale)

    def matches(self, mean: float) -> bool:
        """True if the printed number is the rounded or the truncated mean."""
        is_rounded = abs(mean - self.value) <= self.last_digit / 2 * (1 + _TOLERANCE)
        return is_rounded or self.is_truncated(mean)

    def is_truncated(self, mean: float) -> bool:
        """True if the printed number is the truncated, but not the rounded mean."""
        excess = mean - self.value
        return self.last_digit / 2 * (1 + _TOLERANCE) < excess < self.last_digit * (1 - _TOLERANCE)


def refuse_other_tables(conventions: Conventions, feature: str) -> None:
    """Raise an InputError if a convention reads another table than the ground truth."""
    problem = f"reads train or items, but `{feature}` reads only lists and ground truth"
    if isinstance((conventions.candidates or {}).get("catalogue"), str):
        fix = "write the number of items"
        raise refuse("conventions.candidates.catalogue", problem, fix)
    if (conventions.propensity or {"column": "truth"}).get("column") != "truth":
        fix = "leave it out, or name a column of the ground truth"
        raise refuse("conventions.propensity", problem, fix)


def means_of_loaded(connection: DuckDBPyConnection, conventions: Conventions) -> ComputeMeans:
    """Return the function that computes the means of definitions on the loaded tables."""

    def compute_means(definitions: Sequence[Definition]) -> list[float]:
        part = evaluate_partition(connection, Task((), conventions, definitions=definitions))
        return [definition_mean([part.values], definition) for definition in definitions]

    return compute_means


def loaded_grades(connection: DuckDBPyConnection) -> list[float]:
    """Return the distinct positive grades of the loaded ground truth, ascending."""
    query = "SELECT DISTINCT grade FROM truth WHERE grade > 0 ORDER BY grade"
    return [grade for (grade,) in connection.execute(query).fetchall()]


def definition_rounds(
    label: Label, conventions: Conventions, grades: Sequence[float]
) -> Iterator[list[Definition]]:
    """Yield the presets' definitions, then those with one convention changed, then with two.

    The first definition of the presets' is that of `conventions`.
    """
    thresholds = grades if len(grades) <= MAX_THRESHOLDS else ()
    yield definitions_with_null(label, conventions)
    for n_changes in (1, 2):
        candidates = _changed_conventions(label, conventions, n_changes, thresholds)
        yield [Definition(label, number, (), each) for number, each in enumerate(candidates, 1)]


def compute_matches(
    definitions: Sequence[Definition],
    conventions: Conventions,
    compute_means: ComputeMeans,
    number: PrintedNumber,
) -> Iterator[ConventionMatch]:
    """Yield the mean of each definition, and whether it is printed as the number."""
    for start in range(0, len(definitions), BATCH_SIZE):
        batch = definitions[start : start + BATCH_SIZE]
        for definition, mean in zip(batch, compute_means(batch), strict=True):
            changes = changed_conventions(definition.label, definition.conventions, conventions)
            matches = number.matches(mean)
            is_truncated = matches and number.is_truncated(mean)
            yield ConventionMatch(
                mean,
                definition.presets,
                changes,
                matches,
                is_truncated,
                definition.presets_with_null,
            )


def without_idle_null(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the definitions without presets whose means null as threshold does not change."""
    means = {
        name: [each.mean for each in candidate]
        for candidate in candidates
        for name in candidate[0].presets
    }
    effective = []
    for candidate in candidates:
        own = [each.mean for each in candidate]
        names = tuple(x for x in candidate[0].presets_with_null if means[x] != own)
        if names or not candidate[0].presets_with_null or candidate[0].presets:
            effective.append(tuple(replace(each, presets_with_null=names) for each in candidate))
    return effective


def sort_key(match: ConventionMatch, number: PrintedNumber) -> tuple[bool, bool, int, float]:
    """Return the sort key: rounded before truncated, presets before others, few changes first."""
    distance = abs(match.mean - number.value)
    is_of_no_preset = not match.presets and not match.presets_with_null
    return match.is_cut, is_of_no_preset, len(match.changes), distance


def _changed_conventions(
    label: Label, conventions: Conventions, n_changes: int, thresholds: Sequence[float]
) -> Iterator[Conventions]:
    label_conventions = label.conventions(conventions)
    choices = _alternatives(label, label_conventions, thresholds)
    for names in combinations(choices, n_changes):
        for values in product(*(choices[name] for name in names)):
            candidate = replace(label_conventions, **dict(zip(names, values, strict=True)))
            if not definition_problem(label, candidate) and not _is_impossible(candidate):
                yield candidate


def _alternatives(
    label: Label, label_conventions: Conventions, thresholds: Sequence[float]
) -> dict[str, list[Any]]:
    """Return the alternative values of each convention that affects the label."""
    choices = {}
    for each in PRESET_CONVENTIONS:
        if each.sets_ranking or not depends_on(label.metric, each.name):
            continue
        values = [*each.values, *_MORE_VALUES.get(each.name, ())]
        if each.name == "relevance_threshold":
            values += thresholds
        skipped = (*_SKIPPED_VALUES, getattr(label_conventions, each.name))
        if alternatives := [value for value in values if value not in skipped]:
            choices[each.name] = alternatives
    return choices


def _is_impossible(conventions: Conventions) -> bool:
    """True if nDCG does not support this ideal list."""
    needs_binary_gain = conventions.ideal == "full_k" and conventions.gain != "binary"
    return needs_binary_gain or conventions.ideal == "truth_given_order_at_k"
