"""The search of definitions that give published numbers: their means, and what matches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.definition_sets import (
    Content,
    DefinitionSet,
    DefinitionSpace,
)
from concord.metrics_core.evaluation.inputs import LoadedInputs
from concord.metrics_core.evaluation.panel import Definition, changed_conventions
from concord.metrics_core.evaluation.printed_number import PrintedNumber
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.results.comparison_parts import value_text
from concord.metrics_core.results.summary import Summary


@dataclass(frozen=True)
class ConventionMatch:
    """Conventions, and the means that they give.

    Attributes
    ----------
    means : dict
        Mean of each metric.
    n_units : dict
        Number of users, or requests, of each mean.
    presets : tuple of str
        Presets that define the metrics so; may be empty.
    changes : dict
        Conventions that differ from the requested ones.
    matches : bool
        True if every mean is printed as its number.
    is_cut : bool
        True if the further digits of a mean were cut off, not rounded.
    presets_with_null : tuple of str
        Presets that define the metrics so if `relevance_threshold` is null.
    chance : float or None
        Share of random numbers that have a match as close as this one, see
        docs/how-to/reconcile.md; None if it does not match, or is the match of a table's row.

    Examples
    --------
    >>> import concord as cc
    >>> lists, truth = {"u1": ["a", "b"]}, {"u1": ["b"]}
    >>> match = cc.reconcile(lists, truth, value="0.5", metric="P@2").matches[0]
    >>> match.means, match.matches
    ({'P@2': 0.5}, True)
    """

    means: Mapping[str, float]
    n_units: Mapping[str, int]
    presets: tuple[str, ...]
    changes: Mapping[str, Any]
    matches: bool
    is_cut: bool
    presets_with_null: tuple[str, ...] = ()
    chance: float | None = None

    @property
    def mean(self) -> float:
        """Mean of the first metric."""
        return next(iter(self.means.values()))

    @property
    def change_texts(self) -> list[str]:
        """Changes as text, such as `gain: binary`."""
        return [f"{name}: {value_text(value)}" for name, value in self.changes.items()]


Candidate = tuple[ConventionMatch, ...]  # conventions: the match of each model


def refuse_other_tables(conventions: Conventions, feature: str) -> None:
    """Raise an InputError if a convention reads another table than the ground truth."""
    problem = f"reads train or items, but `{feature}` reads only lists and ground truth"
    if isinstance((conventions.candidates or {}).get("catalogue"), str):
        fix = "write the number of items"
        raise refuse("conventions.candidates.catalogue", problem, fix)
    if (conventions.propensity or {"column": "truth"}).get("column") != "truth":
        fix = "leave it out, or name a column of the ground truth"
        raise refuse("conventions.propensity", problem, fix)


_Summaries = Mapping[Content, Summary]


@dataclass
class DefinitionSearch:
    """A search of the conventions that give numbers; `next_candidates` runs its rounds.

    Attributes
    ----------
    labels : sequence of Label
        Metrics that one set of conventions is to explain.
    conventions : Conventions
        The conventions to change; they are the first candidate of the first round.
    models : sequence of LoadedInputs
        Lists and ground truth of each model.
    numbers : sequence of sequences of PrintedNumber
        For each model the number of each label.
    """

    labels: Sequence[Label]
    conventions: Conventions
    models: Sequence[LoadedInputs]
    numbers: Sequence[Sequence[PrintedNumber]]

    def __post_init__(self) -> None:
        space = DefinitionSpace(self.labels, self.conventions, self.models)
        self.rounds = space.rounds()

    def candidates(
        self, sets: Sequence[DefinitionSet], summaries: Sequence[_Summaries]
    ) -> list[Candidate]:
        """Return the definitions with the means of each model, but those that change nothing."""
        candidates = [
            tuple(
                self._match(each, of_model, numbers)
                for of_model, numbers in zip(summaries, self.numbers, strict=True)
            )
            for each in sets
        ]
        return _without_idle_null(candidates)

    def _match(
        self, each: DefinitionSet, summaries: _Summaries, numbers: Sequence[PrintedNumber]
    ) -> ConventionMatch:
        """Return a set with the means of a model, and whether they are printed as the numbers."""
        own = {
            str(definition.label): summaries[content]
            for content, definition in zip(each.content, each.definitions, strict=True)
        }
        means = {label: summary.mean for label, summary in own.items()}
        n_units = {label: x.n_requests or x.n_users for label, x in own.items()}
        pairs = [*zip(numbers, means.values(), strict=True)]
        is_match = all(number.matches(mean) for number, mean in pairs)
        is_cut = is_match and any(number.is_truncated(mean) for number, mean in pairs)
        changes = _changes(each, self.conventions)
        names = each.presets, each.presets_with_null
        return ConventionMatch(means, n_units, names[0], changes, is_match, is_cut, names[1])


def next_candidates(searches: Sequence[DefinitionSearch]) -> list[list[Candidate]]:
    """Return the candidates of the next round of each search: presets, one change, two changes.

    The searches have the same conventions. Their definitions are computed together, so that each
    model's lists are ranked once for each ranking.
    """
    rounds = [next(search.rounds) for search in searches]
    models = {id(model): (model, search) for search in searches for model in search.models}
    definitions: dict[int, dict[Content, Definition]] = {key: {} for key in models}
    for search, sets in zip(searches, rounds, strict=True):
        for model in search.models:
            for each in sets:
                definitions[id(model)] |= zip(each.content, each.definitions, strict=True)
    summaries = {
        id(model): model.summaries(search.conventions, definitions[id(model)])
        for model, search in models.values()
    }
    return [
        search.candidates(sets, [summaries[id(model)] for model in search.models])
        for search, sets in zip(searches, rounds, strict=True)
    ]


def _changes(each: DefinitionSet, conventions: Conventions) -> dict[str, Any]:
    """Return the changed conventions; if labels differ in one, it is named for each label."""
    by_label = {
        str(d.label): changed_conventions(d.label, d.conventions, conventions)
        for d in each.definitions
    }
    changes: dict[str, Any] = {}
    for label, changed in by_label.items():
        for name, value in changed.items():
            is_shared = changes.setdefault(name, value) == value
            changes |= {} if is_shared else {f"{name} of {label}": value}
    return changes


def _without_idle_null(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the definitions without presets whose means null as threshold does not change."""
    means = {
        name: [each.means for each in candidate]
        for candidate in candidates
        for name in candidate[0].presets
    }
    effective = []
    for candidate in candidates:
        own = [each.means for each in candidate]
        names = tuple(x for x in candidate[0].presets_with_null if means[x] != own)
        if names or not candidate[0].presets_with_null or candidate[0].presets:
            effective.append(tuple(replace(each, presets_with_null=names) for each in candidate))
    return effective


def sort_key(
    match: ConventionMatch, numbers: Sequence[PrintedNumber]
) -> tuple[bool, bool, int, float]:
    """Return the sort key: rounded before truncated, presets before others, few changes first."""
    is_of_no_preset = not match.presets and not match.presets_with_null
    return match.is_cut, is_of_no_preset, len(match.changes), distance(match, numbers)


def distance(match: ConventionMatch, numbers: Sequence[PrintedNumber]) -> float:
    """Return the sum of the distances of the means from their numbers, in last digits."""
    pairs = zip(match.means.values(), numbers, strict=True)
    return math.fsum(abs(mean - number.value) / number.last_digit for mean, number in pairs)
