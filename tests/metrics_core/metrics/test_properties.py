"""What holds for every metric of the catalogue, whatever the lists."""

import inspect
import math
import random
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import concord as cc
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.registry import CONVENTION, PRESET_CONVENTIONS
from concord.metrics_core.metrics.catalogue import CATALOGUE
from concord.metrics_core.metrics.metric import Metric
from concord.metrics_core.metrics.scope import affected_metrics
from concord.typing import ConventionOptions
from tests.metrics_core.metrics.strategies import (
    GRADES,
    TEXT_ITEMS,
    VALUES,
    Case,
    cases,
    conventions,
    label_of,
    population,
    possible,
)

STANDARD = cc.preset("standard")
EVERY = [
    metric
    for metric in CATALOGUE
    if metric.family in {"accuracy", "agreement"} and not metric.reads_subtopics
]  # those have properties of their own, in test_subtopics.py
METRICS = [metric for metric in EVERY if not metric.reads_judged]  # what is not relevant is a miss
A_LITTLE = 1e-12

UNJUDGED = tuple(f"unjudged{i}" for i in range(60))

one_list = st.lists(st.sampled_from(TEXT_ITEMS), min_size=1, max_size=8, unique=True)
one_truth = st.dictionaries(st.sampled_from(TEXT_ITEMS), st.sampled_from(GRADES), max_size=7)


def _labels(k: int | None) -> list[str]:
    return [label_of(metric, k) for metric in EVERY]


def _values(
    recs: Any, truth: Any, k: int | None, conventions: Conventions = STANDARD
) -> dict[str, list[float]]:
    """Metric: the users' values, sorted by user."""
    frame = cc.evaluate(recs, truth, metrics=_labels(k), conventions=conventions).per_user
    return {m.name: frame[label_of(m, k)].to_list() for m in EVERY}


def _pairs(
    first: list[str],
    second: list[str],
    grades: dict[str, float],
    k: int | None,
    conventions: Conventions = STANDARD,
) -> list[tuple[Metric, float, float]]:
    """Return each metric's values of two lists for the same truth."""
    lists, truth = {"1": first, "2": second}, {"1": grades, "2": grades}
    values = _values(lists, truth, k, conventions)
    return [(metric, values[metric.name][0], values[metric.name][1]) for metric in METRICS]


def _bits(frame: pl.DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(v.hex() if isinstance(v, float) else v for v in row) for row in frame.iter_rows()]


@given(case=cases(), k=st.sampled_from([None, 1, 3, 12]))
def test_values_are_in_bounds_under_standard(case: Case, k: int | None) -> None:
    first = cc.preset("standard", duplicates="first")
    frame = cc.evaluate(
        case.recs(), case.judgements(), metrics=_labels(k), conventions=first, only_users=case.users
    ).per_user

    for metric in EVERY:
        low, high = metric.range
        values = [v for v in frame[label_of(metric, k)].to_list() if v is not None]
        assert all(math.isnan(v) or low <= v <= high + A_LITTLE for v in values), metric.name


@given(listed=one_list, grades=one_truth, k=st.sampled_from([None, 1, 2, 3, 5]))
def test_the_ideal_list_is_never_beaten_and_scores_1_where_1_can_be_reached(
    listed: list[str], grades: dict[str, float], k: int | None
) -> None:
    relevant = [item for item, grade in grades.items() if grade >= 1]
    assume(relevant)
    ideal = sorted(relevant, key=lambda item: -grades[item])

    for metric, best, other in _pairs(ideal, listed, grades, k):
        assert (best >= other - A_LITTLE) is metric.higher_is_better, metric.name
        if k is None and metric.name in {"P", "R", "F1", "Hit", "AP", "RR", "nDCG", "Rprec"}:
            assert best == 1.0, metric.name


@given(listed=one_list, grades=one_truth, k=st.integers(1, 9), pinned=conventions())
def test_appending_an_irrelevant_item_below_never_helps(
    listed: list[str], grades: dict[str, float], k: int, pinned: Conventions
) -> None:
    for metric, before, after in _pairs(listed, [*listed, "unjudged"], grades, k, pinned):
        if before is None or math.isnan(before):
            assert repr(before) == repr(after), metric.name
        else:
            assert after <= before + A_LITTLE, metric.name


@given(listed=one_list, grades=one_truth, k=st.integers(1, 9), data=st.data())
def test_moving_a_relevant_item_up_never_hurts(
    listed: list[str], grades: dict[str, float], k: int, data: st.DataObject
) -> None:
    positions = [i for i, item in enumerate(listed) if i and grades.get(item, 0) >= 1]
    assume(positions)
    i = data.draw(st.sampled_from(positions))
    assume(grades.get(listed[i - 1], 0) < grades[listed[i]])
    moved = [*listed[: i - 1], listed[i], listed[i - 1], *listed[i + 1 :]]

    for metric, before, after in _pairs(listed, moved, grades, k):
        assert after >= before - A_LITTLE, metric.name


@given(case=cases(), pinned=conventions(), seed=st.integers(0, 9))
def test_the_order_of_users_and_rows_does_not_change_a_bit(
    case: Case, pinned: Conventions, seed: int
) -> None:
    assume(case.form != "dict" and not (case.form == "score" and pinned.ties in {"input", "given"}))
    shuffled = random.Random(seed)
    labels = _labels(3)

    def evaluate(*, shuffle: bool) -> cc.results.Evaluation:
        recs, truth, users = case.recs(), case.judgements(), case.users
        if shuffle:
            recs = recs.sample(fraction=1, shuffle=True, seed=seed)
            if pinned.ideal != "truth_given_order_at_k":  # whose point is the order of the truth
                truth = truth.sample(fraction=1, shuffle=True, seed=seed)
            users = users and shuffled.sample(users, k=len(users))
        return cc.evaluate(recs, truth, metrics=labels, conventions=pinned, only_users=users)

    straight, mixed = evaluate(shuffle=False), evaluate(shuffle=True)

    assert _bits(straight.per_user) == _bits(mixed.per_user)
    assert _bits(straight.to_frame()) == _bits(mixed.to_frame())


@given(listed=one_list, grades=one_truth)
def test_the_other_users_do_not_change_a_bit(listed: list[str], grades: dict[str, float]) -> None:
    others = {f"{i:02}": listed[i % len(listed) :] for i in range(40)}

    values = _values(others, dict.fromkeys(others, grades), 3)

    for metric in EVERY:
        equal = values[metric.name][:: len(listed)]  # the users who have the whole list
        assert len({value.hex() for value in equal}) == 1, metric.name


@given(listed=one_list, grades=one_truth)
def test_a_cutoff_beyond_the_list_counts_misses(
    listed: list[str], grades: dict[str, float]
) -> None:
    padded = [*listed, *UNJUDGED][:50]

    for metric, short, full in _pairs(listed, padded, grades, 50):
        assert short.hex() == full.hex(), metric.name


@given(listed=one_list, grades=one_truth, k=st.integers(1, 9), data=st.data())
def test_swapping_items_of_equal_grade_changes_nothing(
    listed: list[str], grades: dict[str, float], k: int, data: st.DataObject
) -> None:
    first, second = (data.draw(st.sampled_from(range(len(listed)))) for _ in range(2))
    swapped = list(listed)
    swapped[first], swapped[second] = listed[second], listed[first]
    assume(grades.get(listed[first], 0) == grades.get(listed[second], 0))

    for metric, straight, other in _pairs(listed, swapped, grades, k):
        assert straight.hex() == other.hex(), metric.name


@pytest.mark.parametrize("metric", EVERY, ids=lambda metric: metric.name)
def test_every_keyword_only_argument_is_a_known_convention_or_parameter(metric: Metric) -> None:
    selected = inspect.signature(metric.function).parameters.values()
    keyword_only = [p for p in selected if p.kind is p.KEYWORD_ONLY]

    assert {p.name for p in keyword_only} <= set(CONVENTION) | set(metric.parameter_names)
    assert all(p.default is p.empty for p in keyword_only)  # a convention is pinned, never presumed


POPULATION = population(seed=22, size=300)
# equal denominators would make micro and macro precision equal
EXPOSED: ConventionOptions = {"duplicates": "keep", "precision_denominator": "min_k_relevant"}


def _columns(pinned: Conventions) -> dict[str, list[Any]]:
    """Metric: the users' values and the means, bit for bit."""
    labels = dict.fromkeys([*_labels(1), *_labels(3), *_labels(6)])
    result = cc.evaluate(
        POPULATION.recs(), POPULATION.judgements(), metrics=list(labels), conventions=pinned
    )
    results: dict[str, list[Any]] = {}
    for label in labels:
        users = _bits(result.per_user.select(label))
        results.setdefault(label.partition("@")[0].partition("(")[0], []).append(
            (users, result[label].hex())
        )
    return results


@pytest.fixture(scope="module")
def before() -> dict[str, list[Any]]:
    return _columns(cc.preset("standard", **EXPOSED))


CHANGES = {
    each.name: set(affected_metrics(each.name)) & {metric.name for metric in EVERY}
    for each in PRESET_CONVENTIONS
}


@pytest.mark.parametrize(
    "convention", [convention for convention, names in CHANGES.items() if names]
)
def test_a_convention_changes_those_metrics_that_the_catalogue_says_it_changes(
    convention: str, before: dict[str, list[Any]]
) -> None:
    changed = set()
    for value in VALUES[convention]:
        values: dict[str, Any] = {**EXPOSED, convention: value}
        pinned = cc.preset("standard", **values)
        if value != "error" and possible(pinned) == pinned:
            after = _columns(pinned)
            changed |= {name for name in before if before[name] != after[name]}

    assert changed == CHANGES[convention]


def test_conventions_of_other_families_change_none_of_these_metrics(
    before: dict[str, list[Any]],
) -> None:
    values = {convention: VALUES[convention] for convention, names in CHANGES.items() if not names}
    for n in range(max(map(len, values.values()))):
        changed: dict[str, Any] = {
            convention: several[n % len(several)] for convention, several in values.items()
        }

        assert _columns(cc.preset("standard", **EXPOSED, **changed)) == before
