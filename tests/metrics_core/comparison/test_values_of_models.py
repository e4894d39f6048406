"""`cc.Model(lists, values)`: values next to lists are metrics as in `compare_values`."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

import concord as cc

N = 60
USERS = [f"u{n}" for n in range(N)]
TRUTH = {user: {"a": 1} for user in USERS}
LISTS = {
    "near": {user: ["a", "b"] if n % 3 else ["b", "a"] for n, user in enumerate(USERS)},
    "far": {user: ["b", "a"] if n % 5 else ["a", "b"] for n, user in enumerate(USERS)},
}
VALUES = {
    "near": pl.DataFrame(
        {
            "user": USERS,
            "latency_ms": [90.0 + n % 7 for n in range(N)],
            "cost": [0.1 * (n % 4) for n in range(N)],
        }
    ),
    "far": pl.DataFrame(
        {
            "user": USERS[::-1],
            "latency_ms": [99.0 - n % 11 for n in range(N)],
            "cost": [0.1 * (n % 3) for n in range(N)],
        }
    ),
}
DIRECTIONS = {"latency_ms": False, "cost": False}
OPTIONS: dict[str, Any] = {"baseline": "far", "resamples": 99}


def _models(values: Any = VALUES, lists: Any = LISTS) -> dict[str, Any]:
    return {name: cc.Model(lists[name], values[name]) for name in lists}


def _compare(models: Any = None, **options: Any) -> cc.results.Comparison:
    options = {"higher_is_better": DIRECTIONS, **OPTIONS, **options}
    return cc.compare(models or _models(), TRUTH, metrics=["RR@2", "P@1"], **options)


def _of_values(comparison: cc.results.Comparison) -> Any:
    """Return scores, differences and shares of the metrics of values."""
    parts = (comparison.scores, comparison.pairs, comparison.best, comparison.distributions)
    return [[each for each in part if each.label in DIRECTIONS] for part in parts]


@pytest.mark.parametrize("conventions", ["standard", {"preset": "standard", "undefined": "zero"}])
def test_numbers_are_those_of_compare_values(conventions: Any) -> None:
    with_gaps = {
        name: frame.with_columns(latency_ms=pl.Series([math.nan, *frame["latency_ms"][1:]]))
        for name, frame in VALUES.items()
    }
    chosen: dict[str, Any] = {
        "primary": ["latency_ms", "cost"],
        "min_effect": {"latency_ms": "2%", "default": 0.01},
        "wilcoxon": True,
    }
    comparison = _compare(_models(with_gaps), conventions=conventions, **chosen)
    bounds: Any = {"cost": (0, 1)}
    bounded = _compare(_models(with_gaps), conventions=conventions, bounds=bounds, **chosen)

    expected = {"higher_is_better": DIRECTIONS, **OPTIONS, **chosen}
    assert _of_values(comparison) == _of_values(cc.compare_values(with_gaps, **expected))
    of_bounded = cc.compare_values(with_gaps, bounds=bounds, **expected)
    assert _of_values(bounded) == _of_values(of_bounded)


def test_metrics_of_lists_do_not_change() -> None:
    comparison, plain = _compare(), cc.compare(LISTS, TRUTH, metrics=["RR@2", "P@1"], **OPTIONS)

    assert comparison.primary == plain.primary == ("RR@2",)
    assert comparison.labels == (*plain.labels, "latency_ms", "cost")
    assert [s for s in comparison.scores if s.label not in DIRECTIONS] == list(plain.scores)
    assert comparison.panel == plain.panel
    assert (comparison.warnings, comparison.checked) == (plain.warnings, plain.checked)
    assert comparison.conventions == plain.conventions


def test_order_and_type_of_ids_do_not_matter() -> None:
    numbers = {user: n for n, user in enumerate(USERS)}
    truth = {numbers[user]: items for user, items in TRUTH.items()}
    lists = {name: {numbers[u]: x for u, x in each.items()} for name, each in LISTS.items()}
    dicts = {
        name: {
            metric: {str(numbers[u]): x for u, x in frame.select("user", metric).iter_rows()}
            for metric in DIRECTIONS
        }
        for name, frame in VALUES.items()
    }
    options = {"higher_is_better": DIRECTIONS, **OPTIONS}
    models = _models(dicts, lists)
    comparison = cc.compare(models, truth, metrics=["RR@2", "P@1"], **options)
    assert _of_values(comparison) == _of_values(_compare())
    assert comparison.warnings == ()


def test_column_of_users_may_be_named_for_all_tables() -> None:
    values = {name: frame.rename({"user": "uid"}) for name, frame in VALUES.items()}
    rows = [{"uid": user, "item": "a", "rank": 1} for user in USERS]
    models = _models(values, {name: pl.DataFrame(rows) for name in LISTS})
    truth = pl.DataFrame({"uid": USERS, "item": ["a"] * N})
    options = {"higher_is_better": DIRECTIONS, **OPTIONS}
    comparison = cc.compare(models, truth, metrics=["P@1"], columns={"user": "uid"}, **options)
    assert _of_values(comparison) == _of_values(_compare())


def test_a_gate_decides_on_quality_latency_and_cost() -> None:
    gate = {
        "guardrails": {"RR@2": "5%", "latency_ms": "10%", "cost": 0.01},
        "success": ["latency_ms", "RR@2"],
    }
    decision = _compare(gate=gate, primary=["RR@2", "latency_ms"]).gate

    assert decision is not None
    (model,) = decision.models
    outcomes = {each.label: each.outcome for each in model.guardrails}
    gains = {each.label: each.gain for each in model.guardrails}
    assert outcomes == {"RR@2": "pass", "latency_ms": "pass", "cost": "worse"}
    # mean(0, 0.1, 0.2, 0.3) - mean(0, 0.1, 0.2) = 0.05, and a lower cost is better
    assert gains["cost"] == pytest.approx(-0.05)
    faster = np.mean([(99 - n % 11) - (90 + (N - 1 - n) % 7) for n in range(N)])
    assert gains["latency_ms"] == pytest.approx(faster)


def test_groups_of_users_have_means_of_values() -> None:
    users = pl.DataFrame({"user": USERS, "country": ["de", "nl", "nl"] * (N // 3)})
    comparison = _compare(
        users=users,
        segments={"country": {"by": "user", "column": "country"}},
        primary=["latency_ms", "RR@2"],
        gate={"segments": {"country": {"latency_ms": "10%"}}},
    )
    (segmentation,) = comparison.segments
    cells = {(each.label, each.segment, each.model): each for each in segmentation.cells}
    cell = cells["latency_ms", "nl", "near"]
    assert cell.n_users == 40
    assert cell.mean == pytest.approx(np.mean([90 + n % 7 for n in range(N) if n % 3]))
    assert comparison.gate is not None
    assert len(comparison.gate.models[0].guardrails) == 2


def test_users_of_values_and_evaluated_users_are_counted() -> None:
    near = VALUES["near"][6:].with_columns(cost=pl.Series([math.nan, *VALUES["near"]["cost"][7:]]))
    far = pl.concat([VALUES["far"], pl.DataFrame({"user": ["x"], "latency_ms": 1.0, "cost": 1.0})])
    comparison = _compare(_models({"near": near, "far": far}))

    (warning,) = comparison.warnings
    assert (warning.code, warning.severity) == ("value_users_differ", "serious")
    assert warning.sentence.startswith(
        "Values next to the lists are of other users than are evaluated: at worst, near lacks "
        "values of 7 evaluated users (11.7\N{NO-BREAK SPACE}%) and far has values of 1 other user. "
    )
    score = {(each.model, each.label): each for each in comparison.scores}
    assert (score["near", "latency_ms"].n_users, score["near", "cost"].n_users) == (54, 53)
    assert score["far", "cost"].n_users == score["near", "RR@2"].n_users == N
    accepted = _compare(
        _models({"near": near, "far": far}),
        acknowledge={"value_users_differ": {"reason": "timed out", "up_to": "20%"}},
    )
    assert [each.is_acknowledged for each in accepted.warnings] == [True]


def test_replicates_and_folds_have_values_of_their_own() -> None:
    later = VALUES["near"].with_columns(pl.col("latency_ms") + 4)
    replicates = {
        "near": {
            "replicates": {
                n: cc.Model(LISTS["near"], v) for n, v in enumerate((VALUES["near"], later))
            }
        },
        "far": cc.Model(LISTS["far"], VALUES["far"]),
    }
    comparison = _compare(replicates, primary=["latency_ms"])
    score = comparison.score("near", "latency_ms")
    first = float(VALUES["near"]["latency_ms"].to_numpy().mean())
    assert score.mean == pytest.approx(first + 2)
    assert comparison.replicates is not None
    means = {each.label: each.means for each in comparison.replicates.scores}
    assert means["latency_ms"] == pytest.approx((first, first + 4))

    folds = {name: {"replicates": {1: model, 2: model}} for name, model in _models().items()}
    truth = {"replicates": {1: TRUTH, 2: TRUTH}}
    of_folds = cc.compare(
        folds,
        truth,
        metrics=["RR@2"],
        higher_is_better=DIRECTIONS,
        paired_replicates=True,
        **OPTIONS,
    )
    assert of_folds.score("near", "cost").mean == _compare().score("near", "cost").mean


def test_panels_references_and_ties_leave_values_out() -> None:
    comparison = _compare(primary=["latency_ms", "RR@2"])
    assert [entry.metric for entry in comparison.panel] == ["RR@2"]
    assert comparison.references is not None
    assert not {each.label for each in comparison.references.values} & {*DIRECTIONS}
    assert _compare(primary=["cost"]).panel == ()


def _without(values: Any, **columns: Any) -> Any:
    return {**values, "near": values["near"].with_columns(**columns)}


INVALID: list[tuple[dict[str, Any], str]] = [
    (
        {"models": {**_models(), "near": LISTS["near"]}},
        "near: has no values, and far has some\n  fix: give every model values, or none",
    ),
    (
        {"models": LISTS},
        "higher_is_better: is given, and no model has values\n"
        "  fix: give models as `concord.Model(lists, values)`, or leave it out",
    ),
    (
        {"higher_is_better": {"cost": False}},
        "higher_is_better: does not say whether a higher latency_ms is better\n"
        "  fix: add {'latency_ms': False} or True",
    ),
    (
        {"higher_is_better": {**DIRECTIONS, "price": False}},
        "higher_is_better: 'price' has no values",
    ),
    ({"bounds": {"cost": (0, 0.2)}}, "cost of user 'u11' is 0.3, and its bounds are 0 to 0.2"),
    (
        {"models": _models({n: f.rename({"cost": "MAP"}) for n, f in VALUES.items()})},
        "values: 'MAP': is the name of a metric of lists\n"
        "  fix: give it another name, without a cutoff",
    ),
    (
        {"models": _models({n: f.rename({"cost": "cost@5"}) for n, f in VALUES.items()})},
        "values: 'cost@5': is the name of a metric of lists",
    ),
    (
        {"models": _models(_without(VALUES, note=pl.lit("text")))},
        "values['far']: has no metric 'note'",
    ),
    (
        {"models": _models(_without(VALUES, user=pl.col("user") + "x"))},
        "values['near']: has no evaluated user: its first is 'u0x', and 'u0' is evaluated\n"
        "  fix: use the ids of the ground truth",
    ),
    (
        {
            "models": {
                name: cc.Model({"replicates": {1: LISTS[name], 2: LISTS[name]}}, VALUES[name])
                for name in LISTS
            }
        },
        "near: has replicates, and values for none of them",
    ),
    (
        {"primary": ["latency"]},
        "primary: 'latency' is not evaluated\n  fix: did you mean 'latency_ms'?",
    ),
]


@pytest.mark.parametrize(("options", "message"), INVALID)
def test_invalid_values_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(cc.InputError) as error:
        _compare(**options)
    assert message in str(error.value)


def test_an_own_metric_keeps_its_name() -> None:
    @cc.metric()
    def clicks(lists: cc.metrics.Judged, k: int | None) -> Any:
        """clicks = 1 for every user."""
        return np.ones(lists.n_users)

    values = {n: f.rename({"cost": "clicks"}) for n, f in VALUES.items()}
    directions = {"latency_ms": False, "clicks": True}
    with pytest.raises(cc.InputError, match="'clicks': is the name of a metric of lists"):
        cc.compare(
            _models(values),
            TRUTH,
            metrics=["clicks"],
            higher_is_better=directions,
            **OPTIONS,
        )


def test_sessions_have_no_values() -> None:
    lists = pl.DataFrame({"user": USERS, "session": ["1"] * N, "item": "a", "rank": 1})
    models = {name: cc.Model(lists, VALUES[name]) for name in LISTS}
    with pytest.raises(cc.InputError, match="unit: values next to lists are of users"):
        cc.compare(
            models,
            lists.drop("rank"),
            metrics=["P@1"],
            higher_is_better=DIRECTIONS,
            unit=["user", "session"],
            conventions={"preset": "standard", "unit_mean": "users"},
            **OPTIONS,
        )


@pytest.mark.parametrize(
    "call",
    [
        lambda model: cc.evaluate(model, TRUTH, metrics=["RR@2"]),
        lambda model: cc.search.judge({"near": model, "far": model}, TRUTH, metrics=["RR@2"]),
        lambda model: cc.explain(model, TRUTH, metric="RR@2", user="u1"),
        lambda model: cc.audit(
            {"near": model, "far": model}, TRUTH, metrics=["RR@2"], train={"u1": ["b"]}
        ),
        lambda model: cc.cases(
            {"near": model, "far": model}, TRUTH, metrics=["RR@2"], model="near", versus="far"
        ),
    ],
)
def test_other_functions_take_the_lists(call: Any) -> None:
    with pytest.raises(cc.InputError, match="only `compare` reads values next to lists"):
        call(_models()["near"])
