"""No estimate leaves out a unit silently: result, JSON and text name the number used and given.

Each row calls a public function with an input in which a unit (user, query, group, model, training
or data set) cannot be used.
"""

import json
import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import polars as pl
import pytest

import concord as cc

USERS = [f"u{number:02}" for number in range(80)]
ITEMS = [f"i{number}" for number in range(12)]
_DRAWN = random.Random(3)
WANTED = {user: _DRAWN.choice(ITEMS) for user in USERS}
TRUTH = pl.DataFrame(
    [(user, item, 1) for user, item in WANTED.items()],
    schema=["user", "item", "grade"],
    orient="row",
)
GROUPS = pl.DataFrame(  # 38, 37 and 5 users
    [(user, "big" if n < 38 else "middle" if n < 75 else "small") for n, user in enumerate(USERS)],
    schema=["user", "plan"],
    orient="row",
)
TRAIN = pl.DataFrame(
    [(user, WANTED[user] if n < 17 else "i1") for n, user in enumerate(USERS)],
    schema=["user", "item"],
    orient="row",
)
DROP: Any = {"preset": "standard", "user_no_recs": "drop"}
PROPAGATE: Any = {"preset": "standard", "user_no_recs": "nan", "undefined": "propagate"}


def _lists(share: float, n_users: int = 80) -> dict[str, list[str]]:
    """Return lists of which a share begins with the relevant item."""
    lists = {}
    for user in USERS[:n_users]:
        others = [item for item in _DRAWN.sample(ITEMS, 6) if item != WANTED[user]][:5]
        lists[user] = [WANTED[user], *others[:4]] if _DRAWN.random() < share else others
    return lists


BASE, GOOD = _lists(0.2), _lists(0.7)
PARTIAL = _lists(0.6, 76)  # no list for the last four users
MODELS = {"base": BASE, "copy": BASE, "good": GOOD, "partial": PARTIAL}
RETRAINED = {
    "base": BASE,
    "good": {"replicates": {1: GOOD, 2: _lists(0.7), 3: _lists(0.6, 60)}},
}


def _compare(baseline: str = "base", **options: Any) -> cc.results.Comparison:
    settings: dict[str, Any] = {
        "models": MODELS,
        "truth": TRUTH,
        "metrics": ["RR@5"],
        "baseline": baseline,
        "conventions": DROP,
        "resamples": 200,
    }
    return cc.compare(**settings | options)


def _compare_groups(baseline: str = "base") -> cc.results.Comparison:
    by_plan = {"by": "user", "column": "plan", "compare_gaps": True}
    return _compare(baseline, users=GROUPS, segments={"plan": by_plan})


def _compare_values(**changes: float) -> cc.results.Comparison:
    """Return the comparison of user -> value, with other values of model `new`."""
    base = {user: n % 7 / 10 for n, user in enumerate(USERS)}
    new = {user: value + n % 5 / 50 for n, (user, value) in enumerate(base.items())}
    return cc.compare_values({"base": {"AP": base}, "new": {"AP": new | changes}}, baseline="base")


def _judged_by_both() -> tuple[dict[str, dict[str, list[str]]], pl.DataFrame]:
    """Return two models with the same lists, and a truth that people judged for 40 queries."""
    rows = [
        (user, item, int(n % 3 == m) if n < 40 else None, int(n % 3 == m))
        for n, user in enumerate(USERS)
        for m, item in enumerate("abc")
    ]
    truth = pl.DataFrame(rows, schema=["user", "item", "grade", "predicted"], orient="row")
    lists = {user: ["a", "b", "c"] for user in USERS}
    return {"bm25": lists, "copy": dict(lists)}, truth


def _ppi() -> cc.results.PredictionPowered:
    models, truth = _judged_by_both()
    return cc.search.ppi(models, truth, metrics=["RR"], baseline="bm25", sample="random")


def _judge() -> cc.results.Judging:
    relevant = pl.when(pl.col("user") == USERS[0]).then(0).otherwise(1)
    truth = TRUTH.with_columns(grade=relevant)
    return cc.search.judge({"base": BASE, "good": GOOD}, truth, metrics=["RR@5"])


def _plan_of_values(models: list[str]) -> cc.results.Plan:
    settings: dict[str, Any] = {"truth": TRUTH, "metrics": ["RR@5"], "conventions": DROP}
    values = {model: cc.evaluate(MODELS[model], **settings) for model in models}
    return cc.plan(values, baseline="base", effect=0.05)


def _audit() -> cc.results.Audit:
    return cc.audit(
        {"base": BASE, "partial": PARTIAL}, TRUTH, train=TRAIN, metrics=["RR@5"], conventions=DROP
    )


def _cases() -> cc.results.Cases:
    settings: dict[str, Any] = {"metrics": ["RR@5"], "conventions": DROP, "worst": 1}
    return cc.cases(MODELS, TRUTH, model="partial", versus="base", **settings)


def _reconcile() -> cc.results.Reconciliation:
    mean = cc.evaluate(PARTIAL, TRUTH, metrics=["RR@5"], conventions=DROP)["RR@5"]
    value = f"{mean:.4f}"
    return cc.reconcile(PARTIAL, TRUTH, value=value, metric="RR@5", conventions=DROP)


def _verify() -> cc.results.Verification:
    schema = ["model", "metric", "value"]
    table = pl.DataFrame([("partial", "RR@5", "0.5")], schema=schema, orient="row")
    return cc.verify(MODELS, TRUTH, table, conventions=DROP)


def _study() -> cc.results.Study:
    equal = _compare(models={"base": BASE, "good": BASE})
    films = _compare(models={"base": BASE, "good": GOOD})
    return cc.study({"films": films, "books": films, "songs": films, "equal": equal})


def _study_without_a_model() -> cc.results.Study:
    films = _compare(models={"base": BASE, "good": GOOD, "late": PARTIAL})
    books = _compare(models={"base": BASE, "good": GOOD})
    return cc.study({"films": films, "books": books, "songs": films})


class Row(NamedTuple):
    """A call, numbers in its JSON by their path, and what its text and its page say."""

    function: str
    unit: str
    call: Callable[[], Any]
    numbers: dict[str, Any]
    text: tuple[str, ...] = ()
    page: tuple[str, ...] = ()


ROWS = [
    Row(
        "evaluate",
        "users without a list",
        lambda: cc.evaluate(PARTIAL, TRUTH, metrics=["RR@5"], conventions=DROP),
        {"n_users": 80, "metrics.RR@5.n_users": 76},
        ("80 users", "0.7746 76"),
    ),
    Row(
        "compare",
        "users without a list of one model",
        _compare,
        {
            "scores.model=base.n_users": 80,
            "scores.model=partial.n_users": 76,
            "pairs.a=partial.n_users": 76,
            "best.model=good.n_users": 76,
        },
        ("each on the users with values of both (76 to 80)", "none for 4 users (5 %)"),
    ),
    Row(
        "compare",
        "a model that equals the baseline",
        _compare,
        {
            "pairs.a=copy.n_users": 80,
            "pairs.a=copy.n_nonzero": 0,
            "winners.0.n_models": 2,
            "winners.0.n_compared": 3,
        },
        ("the best of 2 of 3 models", "identical"),
    ),
    Row(
        "compare",
        "users whom not all models have, in resamples",
        lambda: _compare(models={"base": BASE, "partial": PARTIAL}),
        {"best.model=partial.n_users": 76},
        page=("of resamples of the 76 users with a value of every compared model",),
    ),
    Row(
        "compare",
        "a group that is too small for a gap",
        _compare_groups,
        {"segments.0.gaps.0.n_segments": 2, "segments.0.segments.2.n_users": 5},
        page=("2 of 3<",),
    ),
    Row(
        "compare",
        "users of a group without a value of the baseline",
        lambda: _compare_groups("partial"),
        {
            "segments.0.cells.segment=small.n_users": 5,
            "segments.0.cells.segment=small.n_with_both": 1,
        },
        page=("of 1 with values of both",),
    ),
    Row(
        "compare",
        "users whom a model of a gate lost",
        lambda: _compare(gate={"guardrails": {"RR@5": 0.05}}),
        {
            "gate.models.model=partial.guardrails.0.n_users": 76,
            "gate.models.model=partial.guardrails.0.n_lost": 4,
        },
        page=("4 of the 80 users who have a value with the reference have none with the model",),
    ),
    Row(
        "compare",
        "users without a list of one training",
        lambda: _compare(models=RETRAINED),
        {"scores.model=good.n_users": 80, "warnings.0.details.without_list.good-3": 20},
        ("none for 20 users (25 %)",),
    ),
    Row(
        "compare",
        "a model without a mean in a trade-off",
        lambda: _compare(
            metrics=["RR@5", "Coverage@5"],
            primary=["RR@5"],
            conventions=PROPAGATE,
            items=pl.DataFrame({"item": ITEMS}),
        ),
        {"scores.model=partial.mean": None},
        ("partial has no mean of RR@5",),
        ("Left out, without a mean: partial.",),
    ),
    Row(
        "compare_values",
        "a user whose value is NaN",
        lambda: _compare_values(u01=float("nan")),
        {"scores.model=base.n_users": 80, "scores.model=new.n_users": 79, "pairs.0.n_users": 79},
        ("on the 79 users with values of both",),
    ),
    Row(
        "plan",
        "users without a value",
        lambda: _plan_of_values(["base", "good", "partial"]),
        {"differences.model=partial.n_users": 76, "differences.model=partial.n_total": 80},
        ("76 of 80",),
    ),
    Row(
        "plan",
        "users without a value of the only model",
        lambda: _plan_of_values(["base", "partial"]),
        {},
        ("RR@5 against base, 76 of 80 users",),
    ),
    Row(
        "plan",
        "users of a comparison without a value",
        lambda: cc.plan(_compare(), effect=0.05),
        {"differences.model=partial.n_users": 76, "differences.model=partial.n_total": 80},
        ("76 of 80",),
    ),
    Row(
        "plan",
        "users who do not differ",
        lambda: _plan_of_values(["base", "copy"]),
        {"differences.0.n_users": 80, "differences.0.n_nonzero": 0, "differences.0.sd": None},
        ("no plan, as too few users differ",),
    ),
    Row(
        "judge",
        "a query without a relevant item",
        _judge,
        {"n_users": 80, "scores.0.n_users": 79},
        ("now: over 79 of 80 users",),
    ),
    Row(
        "ppi",
        "queries that do not differ",
        _ppi,
        {"n_sampled": 40, "n_queries": 80, "differences.0.n_nonzero": 0},
        ("40 of 80 users", "identical"),
    ),
    Row(
        "audit",
        "users without a list",
        _audit,
        {"n_users": 80, "checks.5.effects.model=partial.n_users": 76},
        ("without 19 of 76 users, partial changes most",),
    ),
    Row(
        "cases",
        "users without a value of one model",
        _cases,
        {"n_users": 76, "n_without_value": 4},
        ("of 76 users", "4 users without a value from partial or base are left out"),
        ("4 users without a value from partial or base are left out",),
    ),
    Row(
        "reconcile",
        "users without a list",
        _reconcile,
        {"n_units": 80, "definitions.0.n_units.RR@5": 76},
        ("(76 of 80 counted)",),
    ),
    Row(
        "verify",
        "users without a list",
        _verify,
        {"values.0.n_units": 76, "values.0.n_truth": 80},
        ("(76 of 80 counted)",),
    ),
    Row("study", "a data set on which all users are equal", _study, {}, ("4 of 4",)),
    Row(
        "study",
        "a data set without a model",
        _study_without_a_model,
        {"missing_models.0.missing_in.0": "books"},
        ("late is left out: it is missing in books",),
    ),
]
# They count checks or rows, or show one user: no mean, no difference.
WITHOUT_ESTIMATES = {
    "check_metric",
    "excluded_pairs",
    "explain",
    "load",
    "metric",
    "preset",
    "presets",
    "split",
}


def _at(content: Any, path: str) -> Any:
    """Return the value at a path such as `scores.model=als.n_users`."""
    for step in path.split("."):
        if not isinstance(content, list):
            content = content[step]
        elif step.isdigit():
            content = content[int(step)]
        else:
            key, _, value = step.partition("=")
            content = next(each for each in content if each[key] == value)
    return content


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("\u00a0", " "))


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: f"{row.function}-{row.unit}".replace(" ", "_")
)
def test_the_units_used_and_given_are_named(row: Row) -> None:
    result = row.call()

    content = json.loads(json.dumps(result.to_dict()))
    assert {path: _at(content, path) for path in row.numbers} == row.numbers
    text = _plain(str(result))
    assert [part for part in row.text if part not in text] == []
    page = _plain(result.to_html()) if row.page else ""
    assert [part for part in row.page if part not in page] == []


def test_a_query_without_a_value_stops_ppi() -> None:
    models, truth = _judged_by_both()
    del models["copy"][USERS[7]]

    with pytest.raises(cc.InputError, match=r"'u07' is undefined .*; 1 such queries in all"):
        cc.search.ppi(
            models, truth, metrics=["RR"], baseline="bm25", sample="random", conventions=DROP
        )


def test_every_function_that_estimates_is_called() -> None:
    modules = (cc, cc.data, cc.metrics, cc.search)
    public = {name: getattr(module, name) for module in modules for name in module.__all__}
    functions = {
        name for name, value in public.items() if callable(value) and not isinstance(value, type)
    } - {"datasets"}
    assert functions - WITHOUT_ESTIMATES == {row.function for row in ROWS}
