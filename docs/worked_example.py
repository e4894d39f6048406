"""The example of the reference pages: one user's list, its ground truth, and values of Concord."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import concord as cc
from concord.metrics import Conventions
from concord.metrics_core.conventions.presets import defines
from concord.metrics_core.conventions.presets import preset as conventions_of_preset
from concord.metrics_core.data.argument_types import TableColumns
from concord.metrics_core.metrics.catalogue import CATALOGUE
from concord.metrics_core.metrics.metric import Metric
from concord.results import Derivation, Evaluation

CUTOFF = 5
STANDARD = cc.preset("standard", fairness_target="uniform")  # which AWRF needs
FORMULAS = Path(__file__).with_name("metrics.toml")
LISTS = {"u": ["a", "b", "c", "d"], "v": ["b", "d", "e", "a"]}
TRUTH = {"u": {"b": 1, "d": 3, "c": 0, "f": 2, "g": 1, "h": 1, "i": 1}, "v": {"b": 1}}
SUBTOPICS = pl.DataFrame(
    {
        "user": "u",
        "item": ["b", "d", "d", "f", "f", "c"],
        "subtopic": ["car", "car", "cat", "cat", "film", "cat"],
        "grade": [1, 3, 1, 2, 2, 0],
    }
)
TRAIN = pl.DataFrame({"user": list("uuvvvwww"), "item": list("efabefab")})
ITEMS = pl.DataFrame(
    {
        "item": list("abcdefghi"),
        "categories": ["car", "car|cat", "cat", "cat", "film", "car", "cat", "cat", "film"],
        "group": list("xyxyxyxyx"),
    }
)
COLUMNS: TableColumns = {"items": {"categories": "categories", "group": "group"}}
OF_ITEMS = ("Novelty", "ARP", "LongTail")  # means over the list of a value of each item
Row = tuple[str, float | None, bool, str]


class Formula(NamedTuple):
    """What docs/metrics.toml says of a metric.

    Attributes
    ----------
    formula : list of str
        LaTeX; one formula, or the metric and what it is made of.
    where : str
        The symbols; empty if the formula has none.
    text : str
        Two sentences: what it measures, when to use it.
    see : list of str
        Names of its neighbours.
    """

    formula: list[str]
    where: str
    text: str
    see: list[str]


class WorkedList(NamedTuple):
    """A list and how its value comes about.

    Attributes
    ----------
    rows : sequence of tuple
        Item, grade (None if it is not judged), whether it is relevant, and what it adds.
    sums : list of str
        The formula with its numbers, line by line.
    """

    label: str
    rows: Sequence[Row]
    sums: list[str]
    value: float


def read_formulas() -> dict[str, Formula]:
    """Return each metric's formula and text."""
    rows = tomllib.loads(FORMULAS.read_text(encoding="utf-8"))
    symbols = rows.pop("symbols")
    formulas = {name: Formula(**row) for name, row in rows.items()}
    return {
        name: each._replace(where=each.where.format(**symbols)) for name, each in formulas.items()
    }


def label_of(metric: Metric, more: str = "") -> str:
    """Return a label of the metric with example values of its parameters."""
    inside = [f"{each.name}={each.example:g}" for each in metric.parameters]
    inside += [more] if more else []
    stem = metric.name + (f"({','.join(inside)})" if inside else "")
    return f"{stem}@{CUTOFF}" if metric.takes_k else stem


@cache
def values_of(preset: str) -> Mapping[str, float]:
    """Return metric -> its value under a preset, for the metrics that the preset defines.

    It is the value of the user u, or that of both lists for a metric of all lists. Metrics of
    subtopics are left out.
    """
    metrics = [m for m in CATALOGUE if defines(preset, m.name) and not m.reads_subtopics]
    conventions = replace(conventions_of_preset(preset), fairness_target="uniform")
    values: dict[str, float] = {}
    for users, is_aggregate in (("u", False), ("uv", True)):
        labels = {m.name: label_of(m) for m in metrics if m.is_aggregate == is_aggregate}
        if labels:
            lists = {user: LISTS[user] for user in users}
            evaluation = _evaluate(lists, labels.values(), conventions)
            values |= {name: float(evaluation[label]) for name, label in labels.items()}
    return values


def worked_list(metric: Metric) -> WorkedList | None:
    """Return the derivation of the metric's value; None if it reads more than a list and truth."""
    label = label_of(metric)
    if metric.name in OF_ITEMS:
        values = [_evaluate({"u": [item]}, [label], STANDARD)[label] for item in LISTS["u"]]
        terms = [f"{value:.6g}" for value in values]
        sums = [f"{metric.name} = ({' + '.join(terms)}) / {len(terms)}  (mean over the items)"]
        items = [(item, None, False, term) for item, term in zip(LISTS["u"], terms, strict=True)]
        return WorkedList(label, items, sums, values_of("standard")[metric.name])
    if metric.family == "beyond" and metric.steps is None:
        return None
    data: dict[str, Any] = {"truth": TRUTH}
    if metric.reads_subtopics:
        data = {"truth": SUBTOPICS, "columns": {"truth": {"subtopic": "subtopic"}}}
    elif metric.needs:
        data |= {"items": ITEMS, "columns": {"items": {"group": "group"}}}
    derivation = cc.explain(LISTS, user="u", metric=label, conventions=STANDARD, **data)
    assert isinstance(derivation, Derivation)
    assert derivation.value is not None
    rows = [
        (str(row.item), row.grade, row.relevant, "1" if row.term == "hit" else row.term)
        for row in derivation.listed
    ]
    return WorkedList(label, rows, list(derivation.sums), derivation.value)


def _evaluate(
    lists: Mapping[str, list[str]], labels: Iterable[str], conventions: Conventions
) -> Evaluation:
    return cc.evaluate(
        lists,
        {user: TRUTH[user] for user in lists},
        metrics=[*labels],
        train=TRAIN,
        items=ITEMS,
        columns=COLUMNS,
        conventions=conventions,
    )
