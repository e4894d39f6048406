"""Random lists, truth and conventions: small, and full of edge cases."""

import math
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
from hypothesis import assume
from hypothesis import strategies as st

import concord as cc
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.registry import PRESET_CONVENTIONS
from concord.metrics_core.metrics.catalogue import CATALOGUE, METRIC
from concord.metrics_core.metrics.metric import Metric
from concord.metrics_core.metrics.scope import affected_metrics, override_keys
from tests.metrics_core.metrics import reference

Labels = dict[str, tuple[str, int | None, dict[str, float]]]  # label: (name, k, parameters)

USERS = ("u1", "u2", "u10", "Ü", "u3", "u 4")
ANCHOR = "z"  # stands in lists and truth alike: without a user in common the data is refused
TEXT_ITEMS = ("a", "b", "B", "é", "10", "9", "007", "aa")
UNJUDGED = tuple(f"x{i}" for i in range(8))
WHOLE_ITEMS = (1, 2, 3, 9, 10, -5, 2**40, 2**62)
GRADES = (0, 0.5, 1, 2, 2.5, 3, 4)
# 1 and 1 + 1e-9 tie in single precision; 0.0 and -0.0 always do.
SCORES = (0.0, -0.0, 1.0, 1.0 + 1e-9, 2.5, -3.0, 1e30)

# What words cannot list: values of the options that take numbers and mappings.
FORMS: Mapping[str, tuple[Any, ...]] = {
    "relevance_threshold": (1, 2, 2.5, 0, None),
    "gain": ({"map": {0: 0, 0.5: 3, 1: 1, 2: 2, 2.5: 0.25, 3: 5, 4: 7}},),
    "discount": (
        {"log": 2},
        {"log": math.e},
        {"log": 10},
        {"jk": 2},
        {"jk": 3},
        {"halflife": 2},
        {"halflife": 5},
        {"geometric": 0.5},
        {"geometric": 0.9},
    ),
    "err_max_grade": (4, 5),
    "hlu_neutral": (0, 1.5),
    "longtail_head": (0.8, 0.5),
    "calibration_alpha": (0.01, 0.2),
    "entropy_base": (2,),
    "round": (None, {"user": 9}, {"mean": 9}),  # so many digits that no value lies halfway
}
VALUES: dict[str, tuple[Any, ...]] = {
    convention.name: (*convention.values, *FORMS.get(convention.name, ()))
    for convention in PRESET_CONVENTIONS
}
WITHOUT_EXPECTATION = [metric.name for metric in CATALOGUE if not metric.averages_ties]
MOST_TIED = 4  # 24 orders
POOLED = {"precision_aggregate": "micro", "f1_aggregate": "of_means"}


def _labels() -> Labels:
    results: Labels = {name: (name, None, {}) for name in ("Rprec", "infAP")}
    for k in (None, 1, 3, 5, 12):
        cutoff = "" if k is None else f"@{k}"
        results |= {
            f"{name}{cutoff}": (name, k, {})
            for name in reference.METRICS
            if name not in {"Rprec", "infAP", "RBP", "HLU", "Q", "O"}
        }
        results[f"HLU(halflife=5){cutoff}"] = ("HLU", k, {"halflife": 5})
        results[f"RBP(p=0.8){cutoff}"] = ("RBP", k, {"p": 0.8})
        results[f"Q(beta=1){cutoff}"] = ("Q", k, {"beta": 1})
        results[f"O(beta=0.5){cutoff}"] = ("O", k, {"beta": 0.5})
    for name in ("P", "R", "AP", "RR", "nDCG", "Bpref", "Judged", "Spearman"):
        for k in (None, 3):
            cutoff = "" if k is None else f"@{k}"
            results[f"{name}(judged_only=true){cutoff}"] = (name, k, {"judged_only": 1})
    results["AP(rel=2)@3"] = ("AP", 3, {"rel": 2})
    results["RBP(p=0.25,rel=3)@5"] = ("RBP", 5, {"p": 0.25, "rel": 3})
    return results


LABELS = _labels()


def label_of(metric: Metric, k: int | None = None, *, judged_only: bool = False) -> str:
    """Return a metric's label with the parameters that it needs, cut at k if it takes a cutoff."""
    inside = [f"{each.name}={each.example:g}" for each in metric.parameters]
    inside += ["judged_only=true"] if judged_only else []
    cutoff = f"@{k}" if k is not None and metric.takes_k else ""
    return metric.name + (f"({','.join(inside)})" if inside else "") + cutoff


@dataclass(frozen=True)
class Case:
    """Rows in the order of the file, truth, and who is evaluated (None: whoever is known)."""

    rows: list[tuple[str, reference.Item, float | None, int | None]]
    truth: dict[str, dict[reference.Item, float]]
    users: list[str] | None
    form: str  # dict | score | rank | both: the columns that the lists have

    @property
    def lists(self) -> dict[str, list[reference.Row]]:
        results: dict[str, list[reference.Row]] = {}
        for user, item, score, rank in self.rows:
            results.setdefault(user, []).append((item, score, rank))
        return results

    def ranked(
        self, metric: str, k: int | None, conventions: Conventions
    ) -> dict[str, reference.Ranked]:
        actual = reference.conventions_for(metric, k, conventions)
        return {user: reference.rank(rows, actual) for user, rows in self.lists.items()}

    def evaluated(self) -> dict[str, reference.Truth | None]:
        """Who is evaluated, with their truth; whom `users` names, the truth knows."""
        if self.users is not None:
            return {user: self.truth.get(user, {}) for user in self.users}
        return {user: self.truth.get(user) for user in {*self.truth, *self.lists}}

    def recs(self) -> Any:
        if self.form == "dict":
            listed = {user: [item for item, _, _ in rows] for user, rows in self.lists.items()}
            return {user: [] for user in self.truth} | listed
        columns = {"score": ["score"], "rank": ["rank"], "both": ["rank", "score"]}[self.form]
        item_type = _item_type([item for _, item, _, _ in self.rows])
        schema = {"user": pl.String, "item": item_type, "score": pl.Float64, "rank": pl.Int64}
        frame = pl.DataFrame(self.rows, schema=schema, orient="row")
        return frame.select("user", "item", *columns)

    def judgements(self) -> Any:
        if self.form == "dict" or not all(self.truth.values()):
            return self.truth
        rows = [
            (user, x, float(g)) for user, grades in self.truth.items() for x, g in grades.items()
        ]
        item_type = _item_type([item for _, item, _ in rows])
        schema = {"user": pl.String, "item": item_type, "grade": pl.Float64}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def evaluate(self, conventions: Conventions, labels: Labels) -> cc.results.Evaluation:
        return cc.evaluate(
            self.recs(),
            self.judgements(),
            metrics=list(labels),
            conventions=conventions,
            only_users=self.users,
        )


def _item_type(items: list[reference.Item]) -> Any:
    return pl.Int64 if all(isinstance(item, int) for item in items) else pl.String


@st.composite
def cases(draw: st.DrawFn, *, unique: bool = False, form: str | None = None) -> Case:
    """Users with and without lists and truth; `unique`: no ties, no item twice."""
    shape = form or draw(st.sampled_from(["dict", "score", "rank", "both"]))
    items: tuple[Any, ...] = draw(st.sampled_from([TEXT_ITEMS, WHOLE_ITEMS]))
    known = draw(st.lists(st.sampled_from(USERS), min_size=1, unique=True))
    rows = [row for user in known for row in draw(_rows(user, items, unique, shape))]
    rows.append((ANCHOR, items[0], 1.0 if shape in {"score", "both"} else None, 1))
    assume(
        shape != "score"
        or max(Counter((r[0], r[2]) for r in rows).values(), default=0) <= MOST_TIED
    )
    truth = {user: grades for user in known if (grades := draw(_grades(items))) is not None}
    truth[ANCHOR] = {items[0]: 1}
    if shape != "dict":  # a frame cannot say that somebody has nothing
        rows = draw(st.permutations(rows))
        truth = {user: grades for user, grades in truth.items() if grades}
    selected = st.just(list(USERS)) | st.lists(st.sampled_from(USERS), unique=True)
    users = draw(st.none() | selected.map(lambda some: [*some, ANCHOR]))  # nobody known is refused
    return Case(rows, truth, users, shape)


@st.composite
def _rows(
    draw: st.DrawFn, user: str, items: tuple[Any, ...], unique: bool, form: str
) -> list[tuple[str, reference.Item, float | None, int | None]]:
    listed = draw(st.lists(st.sampled_from(items), max_size=8, unique=unique))
    size = len(listed)
    scores = draw(st.lists(st.sampled_from(SCORES), min_size=size, max_size=size))
    if unique:
        scores = [float(size - i) for i in range(size)]
    ranked = form != "score"
    return [
        (user, item, score if form in {"score", "both"} else None, i if ranked else None)
        for i, (item, score) in enumerate(zip(listed, scores, strict=True), 1)
    ]


def _grades(items: tuple[Any, ...]) -> st.SearchStrategy[dict[reference.Item, float] | None]:
    judged = st.dictionaries(st.sampled_from(items), st.sampled_from(GRADES), max_size=7)
    return st.none() | judged | judged  # two of three users are judged


@st.composite
def conventions(draw: st.DrawFn) -> Conventions:
    """Every convention at random; `error` has tests of its own."""
    options = {
        name: draw(st.sampled_from([v for v in values if v != "error"]))
        for name, values in VALUES.items()
    }
    if any(options[name] == pooled for name, pooled in POOLED.items()) and options["round"]:
        options["round"] = {"mean": 9}  # a pooled mean has no users' values to round
    return possible(cc.preset("standard", **options, overrides=draw(_overrides())))


_CONCERNING = {name for name in VALUES if set(reference.METRICS) & set(affected_metrics(name))}


@st.composite
def _overrides(draw: st.DrawFn) -> dict[str, Any]:
    """Nothing, or one convention that one metric has otherwise."""
    names = sorted(_CONCERNING - set(POOLED) - {"gain", "ideal", "relevance_threshold"})
    name = draw(st.none() | st.sampled_from(names))
    if name is None or name == "round":
        return {}
    metric = draw(st.sampled_from([m for m in reference.METRICS if m in affected_metrics(name)]))
    changed = {name: draw(st.sampled_from([v for v in VALUES[name] if v != "error"]))}
    key = draw(st.sampled_from(override_keys(METRIC[metric])))
    return {key: changed}


def possible(conventions: Conventions) -> Conventions:
    """The nearest conventions that do not contradict themselves."""
    if "average" in {ranking.ties for ranking in conventions.rankings}:
        conventions = _expectable(conventions)
    if conventions.ideal == "truth_given_order_at_k":
        conventions = replace(conventions, truth_visible="all", overrides={})
    if conventions.ideal == "full_k":
        return replace(conventions, gain="binary")
    if conventions.gain == "exp2_above_threshold" and conventions.relevance_threshold is None:
        return replace(conventions, gain="exp2")
    return conventions


def _expectable(conventions: Conventions) -> Conventions:
    """The same, as far as there are expected values; metrics without keep an order of their own."""
    return replace(
        conventions,
        ties="average",
        ap_denominator="relevant",
        ap_sum_over="hits",
        ideal="truth_at_k",
        overrides={name: {"ties": "item_asc"} for name in WITHOUT_EXPECTATION},
    )


def population(seed: int, *, size: int = 60, copies: bool = True) -> Case:
    """Every kind of user, with ties and copies; half of the items are never judged."""
    generator = random.Random(seed)
    rows: list[tuple[str, reference.Item, float | None, int | None]] = []
    truth: dict[str, dict[reference.Item, float]] = {}
    pick = generator.choices if copies else generator.sample
    for user in (f"u{i:03}" for i in range(size)):
        listed = pick((*TEXT_ITEMS, *UNJUDGED), k=generator.choice([0, 1, 2, 3, 5, 8]))
        rows += [(user, item, generator.choice(SCORES), None) for item in listed]
        judged = generator.sample(TEXT_ITEMS, k=generator.choice([0, 0, 1, 3, 6, 8]))
        if generator.random() < 0.8:
            truth[user] = {x: generator.choice(GRADES) for x in judged}
    generator.shuffle(rows)
    return Case(rows, truth, None, "score")
