"""Each model of a revision against its former self: what `concord diff` says, from DVC's cache."""

from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from concord.metrics_core.comparison.config import PERCENT, Effect
from concord.metrics_core.comparison.inputs import Evaluated
from concord.metrics_core.comparison.replicated_models import replicated
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.errors import InputError
from concord.metrics_core.files import load_json
from concord.metrics_core.metrics.catalogue import Label, parse
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.history import Change
from concord.pipeline.diffing.changes import changes, unlike
from concord.pipeline.diffing.revision import Former
from concord.pipeline.history.cache import Cached
from concord.pipeline.history.states import State

Pairs = tuple[str, tuple[str, ...], tuple[Change, ...]]  # why not all, unchanged models, the others


@dataclass(frozen=True)
class _Terms:
    """What a revision asked of its primary labels."""

    conventions: Conventions
    labels: list[Label]
    primary: list[str]
    min_effects: dict[str, Effect]
    confidence: float
    max_missing_lists: float

    @property
    def alpha(self) -> float:
        return 1 - self.confidence

    def without(self, labels: Container[str]) -> "_Terms":
        kept = [label for label in self.labels if str(label) not in labels]
        return replace(self, labels=kept, primary=[str(label) for label in kept])


def paired(then: State, now: State, cached: Cached) -> Pairs:
    """The primary labels of the models that both have; where users' values are the same file, that is said and not read."""
    if then.comparison is None or now.comparison is None:
        return now.gone or "the revision before cannot be read", (), ()
    both = [model for model in now.comparison.models if model in then.comparison.models]
    same = tuple(m for m in both if (marks := _marks(now, m)) == _marks(then, m) and all(marks))
    other = [model for model in both if model not in same]
    if not other:
        return "", same, ()
    sides = _sides((now, then), other, cached)
    if isinstance(sides, str):
        return sides, same, ()
    ours, theirs = sides
    before = Former(then.commit.short, {}, other, theirs)
    try:
        terms = _terms(now, now.comparison, ours[other[0]])
    except InputError:
        return "its conventions are those of another version of Concord", same, ()
    differing = unlike(terms, ours, before)
    whose = f"{', '.join(other)} had "  # told only where it concerns some of them
    told = [each.what.partition(": ")[0].removeprefix(whose) for each in differing.truth]
    told += [each.partition(": ")[0] for each in differing.differences()]
    told += [f"{x} is no longer a metric" for x in now.comparison.primary if x not in terms.primary]
    compared = () if differing.truth else changes(terms.without(differing.labels), ours, before)
    return "; ".join(told), same, tuple(compared)


def _sides(
    states: Sequence[State], models: Sequence[str], cached: Cached
) -> list[dict[str, Evaluated]] | str:
    """Return the models' results at each state, or why they cannot be read."""
    try:
        sides = [{m: _evaluated(state, m, cached) for m in models} for state in states]
    except InputError as error:
        return f"users' values cannot be read: one file {error.problems[0].what}"
    if lost := [m for m in models if any(side[m] is None for side in sides)]:
        return f"users' values of {', '.join(lost)} are not in DVC's cache"
    return [{m: found for m, found in side.items() if found is not None} for side in sides]


def _terms(state: State, comparison: Comparison, evaluated: Evaluated) -> _Terms:
    labels = [*_known(comparison.primary)]
    return _Terms(
        conventions=Conventions.from_mapping(evaluated.summary["conventions"]),
        labels=labels,
        primary=[str(label) for label in labels],
        min_effects={x: _effect(comparison.metric(x).min_effect) for x in comparison.primary},
        confidence=comparison.confidence,
        max_missing_lists=state.lock.comparison_params.max_missing_lists,
    )


def _known(primary: Sequence[str]) -> Iterator[Label]:
    """The labels without those of own metrics that are gone."""
    for text in primary:
        with suppress(ValueError):
            yield parse(text)


def _effect(text: str) -> Effect:
    return text if PERCENT.fullmatch(text) else float(text)


def _lists(state: State, model: str) -> list[str]:
    """The names of a model's lists: one, or those of its trainings."""
    assert state.comparison is not None, "told before"
    return [name for name, of in state.comparison.lists.items() if of == model]


def _marks(state: State, model: str) -> list[str | None]:
    return [state.lock.values(name) for name in _lists(state, model)]


def _evaluated(state: State, model: str, cached: Cached) -> Evaluated | None:
    """A model's results; those of its trainings together. None where one of them is gone."""
    found = {name: _of_lists(state, name, cached) for name in _lists(state, model)}
    known = {name: each for name, each in found.items() if each is not None}
    if len(known) < len(found):
        return None
    first, *others = known.values()
    if not others:
        return first
    assert state.comparison is not None, "told before"
    terms = _terms(state, state.comparison, first)
    return replicated(
        known,
        labels=terms.labels,
        conventions=terms.conventions,
        confidence=terms.confidence,
    )


def _of_lists(state: State, model: str, cached: Cached) -> Evaluated | None:
    marks = state.lock.values(model), state.lock.summary(model)
    values, summary = (None if mark is None else cached(mark) for mark in marks)
    if values is None or summary is None:
        return None
    content = load_json(summary, "`dvc fetch --all-commits`")
    return Evaluated(values, values, values, content, {})
