"""`cc.compare_values`: the same result as from the lists, and messages for invalid values."""

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

import concord as cc
from concord.metrics_core.results.exported_tables import export_tables
from concord.metrics_core.results.stored import from_content, to_json
from concord.reports.markdown import render_markdown
from tests.metrics_core.defined import defined
from tests.project import ROOT

# Average precision of runs 125 and 126 of TREC-8 ad hoc on its 50 topics, anonymised.
# Source: Urbano, Lima & Hanjalic (SIGIR 2019), repository julian-urbano/sigir2019-statistical,
# data under CC BY-SA 4.0.
_URBANO = pl.read_csv(ROOT / "examples/published/urbano2019.csv")
RUN_125, RUN_126 = _URBANO["run125"].to_list(), _URBANO["run126"].to_list()
PUBLISHED_PERMUTATION = 0.001188

TOPICS = [f"t{n}" for n in range(60)]
LOW = {topic: 0.2 + 0.01 * (n % 7) for n, topic in enumerate(TOPICS)}
HIGH = {topic: 0.3 + 0.01 * (n % 5) for n, topic in enumerate(TOPICS)}
MODELS: dict[str, Any] = {
    "dense": {"AP": HIGH, "my metric": LOW},
    "bm25": {"AP": LOW, "my metric": LOW},
}
_WHOLE = st.integers(-200, 200)
ARGUMENTS: dict[str, Any] = {"baseline": "bm25", "primary": ["AP"], "resamples": 99}


def _runs(**options: Any) -> cc.results.Comparison:
    runs = {"run125": RUN_125, "run126": RUN_126}
    values = {name: {"AP": dict(enumerate(items))} for name, items in runs.items()}
    return cc.compare_values(values, baseline="run126", bounds={"AP": (0, 1)}, **options)


def _difference(comparison: cc.results.Comparison, a: str, b: str, label: str) -> Any:
    row = comparison.difference(a, b, label)
    assert row is not None
    return row


def _p_of_all_sign_flips(differences: np.ndarray) -> float:
    """Return the two-sided p-value over all 2^n sign flips; scores have four decimals."""
    units = np.rint(np.abs(differences) * 10_000).astype(int)
    total, observed = int(units.sum()), abs(int(np.rint(differences.sum() * 10_000)))
    chances = np.zeros(2 * total + 1)
    chances[total] = 1.0
    for unit in units[units > 0]:
        chances = (np.roll(chances, unit) + np.roll(chances, -unit)) / 2
    sums = np.arange(-total, total + 1)
    return float(chances[np.abs(sums) >= observed].sum())


def test_the_worked_example_of_urbano_et_al_has_nearly_the_p_of_their_permutation_test() -> None:
    a, b = np.array(RUN_125), np.array(RUN_126)
    exact = _p_of_all_sign_flips(a - b)  # 0.0011915
    assert exact == pytest.approx(PUBLISHED_PERMUTATION, abs=2 * math.sqrt(exact / 1_000_000))

    pair = _difference(_runs(), "run125", "run126", "AP")

    assert pair.p == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert pair.p == pytest.approx(exact, rel=0.25)


def test_values_of_our_own_evaluation_give_the_comparison_of_the_lists() -> None:
    truth = {topic: {"a": 1} for topic in TOPICS}
    lists = {
        "near": {topic: ["a", "b"] if n % 3 else ["b", "a"] for n, topic in enumerate(TOPICS)},
        "far": {topic: ["b", "a"] if n % 5 else ["a", "b"] for n, topic in enumerate(TOPICS)},
    }
    requested: dict[str, Any] = {"metrics": ["RR@2", "P@1"], "conventions": "standard"}
    options: dict[str, Any] = {"baseline": "far", "primary": ["RR@2"], "min_effect": "2%"}
    of_lists = cc.compare(lists, truth, **requested, **options, panel=False)

    values = {
        model: cc.evaluate(items, truth, **requested).per_user for model, items in lists.items()
    }
    bounds: Any = {"RR@2": (0, 1), "P@1": (0, 1)}
    of_values = cc.compare_values(values, **options, bounds=bounds)

    by_label = {pair.label: pair for pair in of_lists.pairs}
    assert {pair.label: pair for pair in of_values.pairs} == by_label
    assert {(s.label, s.model): s for s in of_values.scores} == {
        (s.label, s.model): s for s in of_lists.scores
    }
    assert of_values.verdicts == of_lists.verdicts
    assert of_values.best == of_lists.best
    assert of_values.distributions == of_lists.distributions


def _frame(items: dict[str, dict[Any, float]]) -> pl.DataFrame:
    users = list(items["AP"])
    return pl.DataFrame(
        {"user": users, **{m: [actual[u] for u in users] for m, actual in items.items()}}
    )


def test_frames_and_dicts_in_any_order_give_the_same_comparison() -> None:
    expected = cc.compare_values(MODELS, **ARGUMENTS)
    frames = {model: _frame(items) for model, items in MODELS.items()}
    shuffled = {
        model: frame.sample(fraction=1, shuffle=True, seed=3) for model, frame in frames.items()
    }

    for values in (
        frames,
        shuffled,
        {model: frame.lazy() for model, frame in frames.items()},
        {model: frame.to_pandas() for model, frame in frames.items()},
        {model: frame.to_arrow() for model, frame in frames.items()},
    ):
        assert cc.compare_values(values, **ARGUMENTS) == expected


def test_ids_that_are_numbers_meet_those_that_are_text() -> None:
    numbers = {
        model: {"AP": {n: items["AP"][t] for n, t in enumerate(TOPICS)}}
        for model, items in MODELS.items()
    }
    texts = {"AP": {str(n): value for n, value in numbers["bm25"]["AP"].items()}}

    comparison = cc.compare_values({"dense": numbers["dense"], "bm25": texts}, **ARGUMENTS)

    assert _difference(comparison, "dense", "bm25", "AP").n_users == 60
    assert comparison.warnings == ()


@pytest.mark.parametrize(
    "name", ["ndcg_cut_10", "my metric", "P@05", "AP(rel=2)@100", "métrique", "P@9999999"]
)
def test_a_metric_may_have_any_name(name: str) -> None:
    values = {"dense": {name: HIGH}, "bm25": {name: LOW}}

    comparison = cc.compare_values(values, baseline="bm25", min_effect={name: "1%"})

    assert comparison.labels == (name,)
    assert _difference(comparison, "dense", "bm25", name).verdict == "better"
    assert name in comparison.verdicts[0]


def test_a_cutoff_at_the_end_of_a_name_is_a_cutoff() -> None:
    values = {m: {f"hit@{k}": items for k in (5, 10)} for m, items in {"a": HIGH, "b": LOW}.items()}

    comparison = cc.compare_values(values, baseline="b", primary=["hit@5"])

    assert [(metric.stem, metric.k) for metric in comparison.metrics] == [("hit", 5), ("hit", 10)]
    assert comparison.ks == (5, 10)


def test_higher_is_better_false_reverses_the_order() -> None:
    values = {"dense": {"RMSE": HIGH}, "bm25": {"RMSE": LOW}}

    comparison = cc.compare_values(values, baseline="bm25", higher_is_better={"RMSE": False})

    assert _difference(comparison, "dense", "bm25", "RMSE").verdict == "worse"
    assert comparison.leaders("RMSE") == ["bm25"]
    assert comparison.warnings == ()


@pytest.mark.parametrize("name", ["RMSE", "ARP@10", "log loss", "calibration_error"])
def test_a_metric_whose_name_speaks_of_errors_needs_a_direction(name: str) -> None:
    values = {"dense": {name: HIGH}, "bm25": {name: LOW}}

    (warning,) = cc.compare_values(values, baseline="bm25").warnings

    assert (warning.code, warning.severity) == ("direction_unclear", "serious")
    assert name in warning.sentence
    assert cc.compare_values(values, baseline="bm25", higher_is_better={name: True}).warnings == ()


def test_users_without_values_of_a_model_are_a_warning() -> None:
    some = {topic: value for n, (topic, value) in enumerate(HIGH.items()) if n >= 6}

    comparison = cc.compare_values({"dense": {"AP": some}, "bm25": {"AP": LOW}}, baseline="bm25")

    (warning,) = comparison.serious
    assert warning.code == "user_sets_differ"
    assert warning.models == ("dense",)
    assert "of 60, dense lacks values for 6 users (10\N{NO-BREAK SPACE}%)" in warning.sentence
    pair = _difference(comparison, "dense", "bm25", "AP")
    assert (pair.n_users, comparison.score("bm25", "AP").n_users) == (54, 60)
    assert pair.mean_b == pytest.approx(np.mean([LOW[topic] for topic in some]))
    assert "each difference covers the users with values of both" in warning.sentence
    assert not any("values for the same users" in sentence for sentence in comparison.verdicts)


def test_a_user_without_a_value_of_one_model_is_a_warning_as_without_a_row() -> None:
    empty = dict.fromkeys([*HIGH][:6], math.nan)
    for values in ({**HIGH, **empty}, {t: v for t, v in HIGH.items() if t not in empty}):
        models = {"dense": {"AP": values}, "bm25": {"AP": LOW}}
        (warning,) = cc.compare_values(models, baseline="bm25").serious
        assert (warning.code, warning.models) == ("user_sets_differ", ("dense",))
        assert warning.details == {"without_values": {"dense": 6}, "n_users": 60}


@pytest.mark.parametrize("share", [0.35, 0.6])
def test_the_headline_names_the_users_with_values_of_both(share: float) -> None:
    hardest = sorted(LOW, key=LOW.__getitem__)[: int(share * len(LOW))]
    rows = {topic: value for topic, value in HIGH.items() if topic not in hardest}
    without_value = {**HIGH, **dict.fromkeys(hardest, math.nan)}
    by_row, by_value = (
        cc.compare_values({"dense": {"AP": values}, "bm25": {"AP": LOW}}, baseline="bm25")
        for values in (rows, without_value)
    )

    headline = by_row.verdicts[0]
    assert by_value.verdicts == by_row.verdicts
    assert by_value.quality == by_row.quality
    assert by_value.quality["dense"]["users"] == {"evaluated": 60, "missing": len(hardest)}
    if share > 0.5:
        assert headline.endswith("dense is not comparable, as too many users have no value.")
    else:
        assert headline == "dense beats bm25 on AP, on the 39 users with values of both."


def test_users_without_a_value_are_counted_once_over_all_metrics() -> None:
    one, two = ({**HIGH, [*HIGH][n]: math.nan} for n in range(2))
    dense: dict[str, Any] = {"AP": one, "RR": two, "F": one}
    bm25 = {"AP": LOW, "RR": LOW, "F": {**LOW, next(iter(LOW)): math.nan}}
    models = {"dense": dense, "bm25": bm25}
    (warning,) = cc.compare_values(models, baseline="bm25", primary=["AP"]).warnings

    assert warning.details["without_values"] == {"dense": 2}


def test_a_user_without_a_value_of_any_model_is_no_warning() -> None:
    values = {"dense": {"AP": {**HIGH, "t0": math.nan}}, "bm25": {"AP": {**LOW, "t0": None}}}

    assert "t0" in HIGH
    assert cc.compare_values(values, baseline="bm25").warnings == ()


def test_a_warning_is_acknowledged_up_to_its_extent() -> None:
    some = {topic: value for n, (topic, value) in enumerate(HIGH.items()) if n >= 6}
    values = {"dense": {"AP": some}, "bm25": {"AP": LOW}}
    serious = {
        up_to: cc.compare_values(
            values,
            baseline="bm25",
            acknowledge={"user_sets_differ": {"reason": "timed out", "up_to": up_to}},
        ).serious
        for up_to in ("10%", "9%")
    }

    assert {up_to: len(warnings) for up_to, warnings in serious.items()} == {"10%": 0, "9%": 1}


@pytest.mark.parametrize("empty", [math.nan, None])
def test_a_user_without_a_value_does_not_count(empty: float | None) -> None:
    values: dict[str, Any] = {**HIGH, "t3": empty}

    comparison = cc.compare_values({"dense": {"AP": values}, "bm25": {"AP": LOW}}, baseline="bm25")

    score = comparison.score("dense", "AP")
    assert (score.n_users, score.n_undefined) == (59, 1)
    assert defined(score.mean) == pytest.approx(np.mean([v for t, v in HIGH.items() if t != "t3"]))
    assert [each.code for each in comparison.serious] == ["user_sets_differ"]


def test_the_report_shows_nothing_that_needs_lists() -> None:
    comparison = cc.compare_values({**MODELS, "third": MODELS["bm25"]}, **ARGUMENTS)

    page, twin = comparison.to_html(), render_markdown(comparison)
    for text in (page, twin, comparison.to_latex(), comparison._repr_html_()):
        assert "dense" in text
    assert 'id="leaderboard"' in page
    for word in (
        "fingerprint",
        "Fingerprint",
        "Conventions",
        "a list from",
        "Duplicates",
        "Judged",
    ):
        assert word not in page.partition("<main>")[2]
        assert word not in twin
    assert "every evaluated user has a value of every model" in twin


def test_comparison_json_and_the_tables_hold_all_of_it() -> None:
    comparison = cc.compare_values(MODELS, **ARGUMENTS)

    assert from_content(json.loads(to_json(comparison))) == comparison
    assert export_tables(comparison)["metrics"]["family"].to_list() == ["values", "values"]


@pytest.mark.parametrize("name", ["my metric", "MRR"])
def test_a_plan_can_be_made_of_it(name: str) -> None:
    values = {"dense": {name: HIGH}, "bm25": {name: LOW}}

    plan = cc.plan(cc.compare_values(values, baseline="bm25"), metrics=[name], effect=0.01)

    assert plan.to_frame()["label"].to_list() == [name]


_UNITS, _PAIR = {"dense": HIGH, "bm25": LOW}, ("dense", "bm25")


def _in_unit(factor: float, values: Mapping[str, Mapping[str, float]], **options: Any) -> Any:
    """Return the difference of values of a metric without bounds, all times a factor."""
    scaled = {m: {"X": {u: v * factor for u, v in t.items()}} for m, t in values.items()}
    compared = cc.compare_values(scaled, **ARGUMENTS | {"primary": ["X"]} | options)
    return _difference(compared, *_PAIR, "X")


@pytest.mark.parametrize("factor", [1e-98, 1e-12, 1e99])
def test_tiny_and_huge_values_are_tested_as_scipy_does(factor: float) -> None:
    difference = _in_unit(factor, _UNITS)

    assert difference.verdict == "better"
    assert difference.n_nonzero == len(TOPICS)
    expected = stats.ttest_rel(list(HIGH.values()), list(LOW.values())).pvalue
    assert difference.p == pytest.approx(expected)


@given(
    pairs=st.lists(st.tuples(_WHOLE, _WHOLE), min_size=2, max_size=30),
    exponent=st.integers(-97, 97),
    effect=st.sampled_from([0, 1, 50]),
)
def test_the_unit_of_values_changes_no_decision(
    pairs: list[tuple[int, int]], exponent: int, effect: int
) -> None:
    assume(effect == 0 or exponent < 7)  # the largest minimum effect is 1e9
    values = {m: {f"u{n}": float(p[i]) for n, p in enumerate(pairs)} for i, m in enumerate(_PAIR)}

    def decisions(factor: float) -> tuple[list[Any], list[float]]:
        options = {"min_effect": effect * factor} if effect else {}
        row = _in_unit(factor, values, **options)
        return (
            [row.verdict, row.n_nonzero, row.better, row.worse, row.caution, row.test],
            [
                math.nan if x is None else x
                for x in (row.p, row.p_adjusted, row.effect_size, row.relative)
            ],
        )

    expected, expected_numbers = decisions(1.0)
    scaled, numbers = decisions(float(f"1e{exponent}"))
    assert scaled == expected
    assert numbers == pytest.approx(expected_numbers, rel=1e-6, nan_ok=True)


@pytest.mark.parametrize("name", ["question", "query_id", "qid", "sample"])
def test_the_column_of_users_is_recognised_or_named(name: str) -> None:
    frames = {m: pl.DataFrame({name: [*t], "score": [*t.values()]}) for m, t in _UNITS.items()}
    of_model = {"dense": {"user": name}, "not compared": {"user": "id"}}
    columns = {**of_model, "user": name} if name == "sample" else None

    compared = cc.compare_values(frames, baseline="bm25", columns=columns)

    assert _difference(compared, *_PAIR, "score").verdict == "better"


_FRAME = pl.DataFrame({"user": ["u", "v"], "AP": [0.5, 0.25]})
REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no_dict": (_FRAME, {}, "values: must be a dict that maps a model's name to its values"),
    "no_models": ({}, {}, "values: must be a dict that maps a model's name"),
    "path": ("values.csv", {}, "values['a']: is a text"),
    "number": (3, {}, "values['a']: int is not a frame, path or dict"),
    "empty_dict": ({"a": {}}, {}, "values['a']: is empty"),
    "values_by_user": ({"a": {"u": 0.5}}, {},
        "values['a']: is a dict whose values are not all dicts"),
    "no_user": ({"a": _FRAME.rename({"user": "sample"})}, {},
        "values['a']: has no column 'user' (there are: sample, AP)"),
    "user_in_the_index": ({"a": _FRAME.to_pandas().set_index("user")}, {},
        "values['a']: the index holds 'user'"),
    "no_such_column": ({"a": _FRAME}, {"columns": {"user": "qid"}},
        "values['a']: has no column 'qid' (there are: user, AP)"),
    "columns_by_number": ({"a": _FRAME}, {"columns": {"b": {"user": 1}}}, "columns['b']: is"),
    "too_large": ({"a": {"AP": {"u": 0.5, "v": -1e308}}}, {},
        "values['a']: AP of user 'v' is -1e+308, the largest value"),
    "too_small": ({"a": {"AP": {"u": 1e-200, "v": 0}}}, {},
        "values['a']: AP of user 'u' is 1e-200, the largest value"),
    "no_metric": ({"a": _FRAME.select("user")}, {}, "values['a']: has no column besides 'user'"),
    "no_rows": ({"a": _FRAME.head(0)}, {}, "values['a']: has no users"),
    "user_twice": ({"a": pl.concat([_FRAME, _FRAME.head(1)])}, {},
        "values['a']: user 'u' occurs more than once; 1 row too many"),
    "user_missing": ({"a": _FRAME.with_columns(user=pl.Series(["u", None]))}, {},
        "column 'user': is empty in 1 row"),
    "decimal_user": ({"a": _FRAME.with_columns(user=pl.Series([1.0, 2.0]))}, {},
        "column 'user': is of type Float64"),
    "ids_of_two_types": ({"a": {"AP": {"u": 1, 2: 1}}}, {},
        "values['a']: column 'user': has values that do not fit in one column"),
    "text": ({"a": _FRAME.with_columns(AP=pl.lit("0.5"))}, {},
        "values['a']: 'AP' does not hold numbers"),
    "text_in_a_dict": ({"a": {"AP": {"u": "0.5"}}}, {}, "values['a']: 'AP' does not hold numbers"),
    "infinite": ({"a": _FRAME.with_columns(AP=pl.Series([1.0, math.inf]))}, {},
        "AP of user 'v' is infinite; 1 value affected"),
    "metric_lacks": ({"a": _FRAME, "b": _FRAME.rename({"AP": "P"})}, {},
        "values['b']: has no metric 'AP'"),
    "metric_alone": ({"a": _FRAME, "b": _FRAME.with_columns(P=0.5)}, {},
        "values['b']: has a metric 'P'"),
    "no_name": ({"a": _FRAME.rename({"AP": " "})}, {},
        "values['a']: ' ' cannot be the name of a metric"),
    "name_of_a_number": ({"a": {1: {"u": 0.5}}}, {},
        "values['a']: 1 cannot be the name of a metric"),
    "weights": ({"a": _FRAME.with_columns(pl.lit(1.0).alias("#counts"))}, {},
        "propensity.normalised: over_all"),
    "primary_missing": ({"a": _FRAME.with_columns(P=0.5)}, {},
        "primary: is missing, and there are 2 metrics"),
    "primary_twice": ({"a": _FRAME}, {"primary": ["AP", "AP"]}, "primary: names AP more than once"),
    "turned": ({"a": {"u": {"AP": 0.5}, "v": {"AP": 0.5}}}, {"primary": ["AP"]},
        "values: 'AP' is a user, not a metric"),
    "direction_unknown": ({"a": _FRAME}, {"higher_is_better": {"P": False}},
        "higher_is_better: 'P' has no values"),
    "direction_word": ({"a": _FRAME}, {"higher_is_better": {"AP": "no"}},
        "higher_is_better['AP']: is 'no'"),
    "direction_list": ({"a": _FRAME}, {"higher_is_better": ["AP"]}, "higher_is_better: is ['AP']"),
    "bounds_unknown": ({"a": _FRAME}, {"bounds": {"P": (0, 1)}}, "bounds: 'P' has no values"),
    "bounds_turned": ({"a": _FRAME}, {"bounds": {"AP": (1, 0)}}, "bounds['AP']: is (1, 0)"),
    "outside": ({"a": _FRAME}, {"bounds": {"AP": (0, 0.4)}},
        "values['a']: AP of user 'u' is 0.5, and its bounds are 0 to 0.4; 1 value affected"),
    "effect_too_wide": ({"a": _FRAME}, {"bounds": {"AP": (0, 1)}, "min_effect": 2},
        "no two values of AP are further apart than 1"),
    "option_of_lists": ({"a": _FRAME}, {"options": cc.Options(segments={}, panel=False)},
        "panel: needs lists, and there are values only"),
    "unknown_option": ({"a": _FRAME}, {"titel": "A"}, "titel: is not an argument of `compare_valu"),
}  # fmt: skip


@pytest.mark.parametrize("id", REFUSED)
def test_invalid_values_are_refused_in_plain_words(id: str) -> None:
    values, options, message = REFUSED[id]
    models = {"a": values} if id in {"path", "number"} else values

    with pytest.raises(cc.InputError) as refused:
        cc.compare_values(models, **{"baseline": "a", **options})

    assert message in str(refused.value)


def test_bounds_may_be_open_at_one_end() -> None:
    frame = pd.DataFrame({"user": [1, 2], "DCG": [0.5, 3.0]})

    comparison = cc.compare_values({"a": frame}, baseline="a", bounds={"DCG": (0, math.inf)})

    assert comparison.score("a", "DCG").mean == 1.75


@pytest.mark.parametrize("huge", [1.0, 1e13])
def test_one_huge_value_hides_no_differences_of_others(huge: float) -> None:
    users = [f"u{n}" for n in range(20)]
    a = {user: n % 7 + 1.0 for n, user in enumerate(users)} | {"u0": huge}
    b = {user: value + 0.5 + n % 3 for n, (user, value) in enumerate(a.items())} | {"u0": huge}

    compared = cc.compare_values({"a": {"loss": a}, "b": {"loss": b}}, baseline="a", min_effect=0.1)

    assert compared.differences["verdict"].to_list() == ["better"]


def test_columns_rename_metrics_of_a_dict() -> None:
    values = {"map": {"u1": 0.1, "u2": 0.2, "u3": 0.3}}

    compared = cc.compare_values(
        {"a": values, "b": values}, baseline="a", min_effect=0.1, columns={"AP": "map"}
    )

    assert {*compared.differences["label"]} == {"AP"}
    with pytest.raises(cc.InputError, match="columns: has two names for one column"):
        cc.compare_values({"a": values}, baseline="a", columns={"AP": "map", "MAP": "map"})


def test_a_model_may_have_the_name_of_a_metric() -> None:
    frame = pl.DataFrame({"user": ["u1", "u2", "u3"], "map": [0.1, 0.2, 0.3]})

    compared = cc.compare_values(
        {"AP": frame, "b": frame}, baseline="AP", min_effect=0.1, columns={"AP": "map"}
    )

    assert {*compared.differences["label"]} == {"AP"}
