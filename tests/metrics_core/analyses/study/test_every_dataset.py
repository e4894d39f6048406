"""`concord.study`: every data set counts; what is left out is named, and there is no verdict."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import concord
from concord.reports.study import text
from tests.metrics_core.analyses.study.study_data import comparison_of
from tests.metrics_core.defined import defined

Values = Mapping[str, np.ndarray]


def compared(values: Values, **settings: Any) -> concord.results.Comparison:
    """Return a comparison of the users' values of a metric m; the first model is the baseline."""
    tables = {model: {"m": dict(enumerate(each.tolist()))} for model, each in values.items()}
    return concord.compare_values(tables, baseline=next(iter(values)), resamples=99, **settings)


def of_differences(*differences: float, base: float = 0.3) -> dict[str, concord.results.Comparison]:
    """Return a data set for each difference of a to the baseline."""
    return {
        f"d{i}": comparison_of({"base": base, "a": base + y}, i) for i, y in enumerate(differences)
    }


def _only_pair(study: concord.results.Study) -> Any:
    (pair,) = study.pairs
    return pair


def test_data_sets_without_an_interval_count() -> None:
    """On three of six data sets, 45 of 50 users have equal values and five lose everything."""
    comparisons = {}
    for d in range(6):
        rng = np.random.default_rng(d)
        old = rng.random(50) * 0.1 + 0.5
        new = old + 0.01 + rng.normal(0, 0.004, 50)
        if d >= 3:
            new = np.where(np.arange(50) < 5, 0.0, old)
        comparisons[f"d{d}"] = compared({"old": old, "new": new})

    study = concord.study(comparisons)
    pair = _only_pair(study)

    each = [defined(c.pairs[0].difference) for c in comparisons.values()]
    assert pair.n_datasets == 6
    assert pair.difference == pytest.approx(np.mean(each))
    assert pair.difference == pytest.approx(-0.0225, abs=0.001)
    half = 2.570582 * np.std(each, ddof=1) / math.sqrt(6)  # t with 5 df
    assert (pair.ci_low, pair.ci_high) == pytest.approx(
        (pair.difference - half, pair.difference + half), rel=1e-6
    )
    assert pair.verdict == "undecided"
    assert not study.answers[0].is_sure
    assert "6 of 6" in study.summary


def test_identical_lists_on_most_data_sets_give_no_certainty() -> None:
    comparisons = {}
    for d in range(10):
        rng = np.random.default_rng(d)
        old = rng.random(300) * 0.5
        new = old + (0.05 + rng.normal(0, 0.05, 300) if d < 3 else 0)
        comparisons[f"d{d}"] = compared({"old": old, "new": new})

    study = concord.study(comparisons, min_effect=0.03)
    pair = _only_pair(study)

    assert pair.n_datasets == 10
    assert pair.difference == pytest.approx(0.015, abs=0.001)
    assert defined(pair.ci_low) < 0
    assert pair.verdict == "undecided"
    assert study.answers[0].certainty == "undecided"


@pytest.mark.parametrize("count", [2, 3])
def test_two_or_three_data_sets_have_no_verdict(count: int) -> None:
    study = concord.study(of_differences(*[0.10, 0.11, 0.12][:count]))
    pair = _only_pair(study)

    assert pair.difference == pytest.approx([0.105, 0.11][count - 2])
    assert (pair.ci_low, pair.verdict, pair.reason) == (None, "no_interval", "few_datasets")
    assert study.answers[0].certainty == "too_few_datasets"
    assert f"Unknown: an interval over data sets needs at least 4; there are {count}." in str(study)


def test_what_is_left_out_is_named_and_there_is_no_verdict() -> None:
    rng = np.random.default_rng(1)
    comparisons = {}
    for d in range(5):
        old = rng.random(40)
        new = old + 0.1 + rng.normal(0, 0.01, 40)
        missing = np.full(40, np.nan) if d == 2 else old + 0.02
        comparisons[f"d{d}"] = compared({"old": old, "new": new, "part": missing})

    study = concord.study(comparisons)

    of = {(pair.a, pair.b): pair for pair in study.pairs}
    assert of["new", "old"].verdict == "better"
    for names in (("part", "old"), ("new", "part")):
        pair = of[names]
        assert (pair.n_datasets, pair.ci_low, pair.p) == (4, None, None)
        assert (pair.verdict, pair.reason) == ("no_interval", "left_out")
    assert {(o.a, o.b, o.dataset, o.reason) for o in study.left_out} == {
        ("part", "old", "d2", "no_value"),
        ("new", "part", "d2", "no_value"),
    }
    assert not study.answers[0].is_sure
    note = "Left out of mean differences of m, which have no verdict: d2 (part has no value)."
    assert note in [*text.notes(study)]
    page = study.to_html()
    for words in ("4 of 5", "left out: d2 (part has no value)"):
        assert words in study.summary
        assert words in page
    assert json.loads(json.dumps(study.to_dict()))["left_out"][0]["dataset"] == "d2"


def test_models_that_lack_most_lists_are_left_out() -> None:
    comparisons = of_differences(0.1, 0.11, 0.12, 0.13, 0.14)
    pairs = tuple(replace(p, verdict="not_comparable") for p in comparisons["d1"].pairs)
    comparisons["d1"] = replace(comparisons["d1"], pairs=pairs)

    study = concord.study(comparisons)

    assert _only_pair(study).reason == "left_out"
    assert [(each.dataset, each.reason) for each in study.left_out] == [("d1", "not_comparable")]
    assert "4 of 5; left out: d1 (a or base lacks the lists of most users)" in study.summary


def test_a_pair_that_was_not_compared_is_the_difference_of_the_means() -> None:
    """With many models, a comparison has no pairs among those behind."""
    means = {"base": 0.1, "a": 0.2}
    full = {f"d{i}": comparison_of(means | {"c": 0.3 + i / 100}, i) for i in range(4)}
    few = {
        name: replace(each, pairs=tuple(p for p in each.pairs if p.vs_baseline))
        for name, each in full.items()
    }

    a, b = (concord.study(each).pairs[-1] for each in (full, few))

    assert (a.a, a.b, b.n_datasets) == ("a", "c", 4)
    assert (b.difference, b.ci_low) == pytest.approx((a.difference, a.ci_low))
    scores = [*few["d2"].scores]
    scores[1] = replace(scores[1], n_users=59)
    study = concord.study(few | {"d2": replace(few["d2"], scores=tuple(scores))})
    assert [(each.dataset, each.reason) for each in study.left_out] == [("d2", "not_compared")]


@pytest.mark.parametrize("base", [0.1, 0.3])
def test_equal_differences_claim_nothing(base: float) -> None:
    study = concord.study(of_differences(0.03, 0.03, 0.03, 0.03, 0.03, base=base))
    pair = _only_pair(study)

    assert pair.difference == pytest.approx(0.03)
    assert (pair.ci_low, pair.p, pair.verdict) == (None, None, "no_interval")
    assert pair.reason == "equal_differences"
    assert study.answers[0].certainty == "undecided"


def test_identical_models_have_no_verdict_over_data_sets() -> None:
    values = np.random.default_rng(1).random(40)
    comparisons = {f"d{i}": compared({"old": values, "new": values}) for i in range(4)}

    pair = _only_pair(concord.study(comparisons))

    assert (pair.difference, pair.verdict, pair.reason) == (0, "no_interval", "equal_differences")


def test_families_share_the_level_and_the_verdict_is_what_the_interval_says() -> None:
    comparisons = {
        f"d{i}": comparison_of(
            {"base": 0.1, "a": 0.2 + i / 100, "b": 0.19 - i / 60, "c": 0.3 - i / 50}, i
        )
        for i in range(5)
    }

    study = concord.study(comparisons)

    assert [round(pair.level, 4) for pair in study.pairs] == [round(1 - 0.05 / 3, 4)] * 6
    three = concord.study(comparisons, models=["base", "a", "b"])
    assert [round(pair.level, 3) for pair in three.pairs] == [0.975, 0.975, 0.95]
    first = three.pairs[0]
    each = [0.1 + i / 100 for i in range(5)]
    half = 3.495406 * np.std(each, ddof=1) / math.sqrt(5)  # 0.9875 quantile of t with 4 df
    assert defined(first.ci_high) - defined(first.difference) == pytest.approx(half, rel=1e-6)


def _noise(
    seed: int,
    models: Sequence[str] = ("base", "a", "b"),
    metrics: Sequence[str] = ("m",),
    **more: Any,
) -> concord.results.Comparison:
    """Return a comparison of models that differ by chance; the first is the baseline."""
    rng = np.random.default_rng(seed)
    tables = {m: {k: dict(enumerate(rng.normal(1, 0.1, 30))) for k in metrics} for m in models}
    return concord.compare_values(tables, baseline=models[0], primary=metrics, resamples=99, **more)


def test_all_primary_metrics_are_in_two_families() -> None:
    models, metrics = ("base", "a", "b", "c"), ("m1", "m2")
    comparisons = {f"d{i}": _noise(i, models, metrics) for i in range(5)}

    study = concord.study(comparisons)

    assert [pair.label for pair in study.pairs] == ["m1"] * 6 + ["m2"] * 6
    for is_baseline in (True, False):
        family = [pair for pair in study.pairs if pair.vs_baseline == is_baseline]
        assert [pair.level for pair in family] == pytest.approx([1 - 0.05 / 6] * 6)
        by_p = sorted(family, key=lambda pair: defined(pair.p))
        adjusted = np.maximum.accumulate([(6 - i) * defined(x.p) for i, x in enumerate(by_p)])
        assert [x.p_adjusted for x in by_p] == pytest.approx(np.minimum(adjusted, 1))
    one = concord.study(comparisons, primary=["m1"])
    assert [pair.level for pair in one.pairs] == pytest.approx([1 - 0.05 / 3] * 6)


def test_pairs_without_an_interval_have_no_share_of_the_level() -> None:
    comparisons = {}
    for i in range(5):
        rng = np.random.default_rng(i)
        old = rng.random(40)
        comparisons[f"d{i}"] = compared({"old": old, "copy": old, "new": old + rng.random(40)})

    copy, new, _ = concord.study(comparisons).pairs

    assert (copy.reason, new.a) == ("equal_differences", "new")
    assert new.level == pytest.approx(0.95)


@pytest.mark.parametrize(("tried", "share"), [(None, 1.0), (2, 1.0), (40, 2 / 40)])
def test_models_that_were_tried_have_a_share_of_the_level(tried: int | None, share: float) -> None:
    comparisons = {f"d{i}": _noise(i) for i in range(4)} | {"d4": _noise(4, tried=tried)}

    study = concord.study(comparisons)

    levels = [1 - share * 0.05 / 2, 1 - share * 0.05 / 2, 1 - share * 0.05]
    assert [pair.level for pair in study.pairs] == pytest.approx(levels)
    note = (
        "Intervals over data sets allow for {} models that were tried on the users of a data set."
    )
    assert [*text.notes(study)] == ([note.format(tried)] if tried else [])


def _without_hard_users(seed: int, n_hard: int = 80) -> concord.results.Comparison:
    """Return a comparison in which a is worse on each user, and lacks the hard ones of 200."""
    rng = np.random.default_rng(seed)
    hard = np.arange(200) < n_hard
    base = np.where(hard, 0.2, 0.8) + rng.normal(0, 0.05, 200)
    a = base - 0.05 + rng.normal(0, 0.03, 200)
    return compared({"base": base, "a": np.where(hard, np.nan, a)})


def test_a_better_mean_of_easier_users_is_no_lead() -> None:
    study = concord.study({f"d{i}": _without_hard_users(i) for i in range(5)})

    (answer,) = study.answers
    assert _only_pair(study).verdict == "worse"
    assert (answer.winners, answer.behind, answer.ahead) == (("a",), (), ("base",))
    assert text.headline(study, answer) == (
        "a has the best mean m on 5 of 5 data sets, but base is ahead of it over all of them"
    )
    assert text.best_datasets(study, answer) == 0
    (note,) = text.notes(study)
    assert note == (
        "Not all models have values of m for the same users. Means are over the users of each "
        "model, differences over those with values of both; with base, these are: d0 (a 120 of "
        "200), d1 (a 120 of 200), d2 (a 120 of 200), d3 (a 120 of 200) and d4 (a 120 of 200)."
    )
    assert note in study.to_html()


def test_only_data_sets_on_which_no_interval_or_missing_list_denies_it_are_won() -> None:
    comparisons = {"d3": _without_hard_users(3), "d4": _without_hard_users(4, n_hard=120)}
    for i in range(3):
        old = np.random.default_rng(i).random(40)
        comparisons[f"d{i}"] = compared({"base": old, "a": old + (i + 1) / 10})

    study = concord.study(comparisons)

    (answer,) = study.answers
    assert text.headline(study, answer) == (
        "a has the best m on 3 of 5 data sets; its lead is not shown over all of them"
    )
    cells = [cell for cell in study.cells if cell.model == "a"]
    assert [cell.rank for cell in cells] == [1, 1, 1, 1, 1]
    assert [cell.rank_low for cell in cells] == [2, 1, 1, 1, 1]
    assert study.values_of("m", "wins") == {"base": 0, "a": 5}
    assert "d3 (a 120 of 200) and d4 (a 80 of 200)" in study.summary


def test_models_of_equal_means_do_not_tie_where_an_interval_shows_one_ahead() -> None:
    """Model a has 0 for h hard users and 1 for the others, b has 1 - h / 100 and no hard users."""
    comparisons = {}
    for i in range(5):
        is_hard, base = np.arange(100) < 10 + 10 * i, np.resize([0.01, -0.01], 100)
        a, b = np.where(is_hard, 0.0, 1.0), np.where(is_hard, np.nan, (90 - 10 * i) / 100)
        comparisons[f"d{i}"] = compared({"base": base, "a": a, "b": b})

    (answer,) = concord.study(comparisons).answers

    assert (answer.winners, answer.ahead) == (("a", "b"), ("a",))
    study = concord.study(comparisons)
    assert text.headline(study, answer) == (
        "a and b tie on m over 5 data sets, but a is ahead of one of them"
    )
    assert "No model leads" not in study.summary


def test_a_share_is_named_and_a_share_of_zero_is_zero() -> None:
    comparisons = {}
    for i in range(5):
        old = np.random.default_rng(i).random(40)
        comparisons[f"d{i}"] = compared({"base": old, "a": old + (i + 1) / 10})
    number, none, share = (
        concord.study(comparisons, min_effect=effect) for effect in (0.0, "0%", "2%")
    )
    note = "Intervals over data sets are for the share times the mean of base."

    assert none == number
    assert note in share.summary
    assert note not in none.summary


def test_intervals_that_do_not_hold_together_exclude_no_rank() -> None:
    comparisons = {f"d{i}": _without_hard_users(i) for i in range(2)}
    others = {name: replace(each, primary=("x",)) for name, each in comparisons.items()}

    study = concord.study(others, primary=["m"])

    assert {text.rank_text(cell) for cell in study.cells} == {"rank 1 (1 to 2)", "rank 2 (1 to 2)"}


def test_a_percent_is_compared_with_the_interval_of_the_ratio() -> None:
    """Fieller's interval, found as the roots of a search over ratios."""
    bases, gains = (0.30, 0.32, 0.29, 0.35, 0.31), (0.030, 0.040, 0.020, 0.045, 0.030)
    comparisons = {
        f"d{i}": comparison_of({"base": b, "a": b + y}, i)
        for i, (b, y) in enumerate(zip(bases, gains, strict=True))
    }
    study = concord.study(comparisons, min_effect="5%")
    pair = _only_pair(study)

    mean = float(np.mean(bases))
    assert study.min_effect["nDCG@10"] == pytest.approx(0.05 * mean)
    for end in (defined(pair.ci_low), defined(pair.ci_high)):
        rest = np.array(gains) - end / mean * np.array(bases)  # significant at the ends, exactly
        t = abs(rest.mean()) / (rest.std(ddof=1) / math.sqrt(5))
        assert t == pytest.approx(2.776445, rel=1e-6)
    assert pair.verdict == "better"
    assert _only_pair(concord.study(comparisons, min_effect="9%")).verdict == (
        "better_below_threshold"
    )


def test_a_share_of_a_mean_that_may_be_0_decides_nothing() -> None:
    points = ((0.01, 0.11), (0.02, 0.11), (0.6, 0.7), (0.01, 0.11))
    comparisons = {
        f"d{i}": comparison_of({"base": base, "a": a}, i) for i, (base, a) in enumerate(points)
    }

    study = concord.study(comparisons, min_effect="5%")
    pair = _only_pair(study)

    assert (pair.verdict, pair.ci_low) == ("undecided", None)
    assert pair.reason == "baseline_near_zero"
    assert "a share of a mean that may be 0" in study.summary
    assert _only_pair(concord.study(comparisons, min_effect=0.01)).verdict == "better"
