"""Words of segments, gates, panels and replicates follow from their printed intervals."""

import math
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

import concord as cc
from concord.metrics_core.results.gate import MeasuredDifference
from tests.metrics_core.comparison.test_families import WITHOUT_INTERVAL, word_of
from tests.metrics_core.defined import defined

N_USERS, N_ITEMS, MAIN = 150, 30, "nDCG@10"
LABELS = [MAIN, "R@5", "RR@10", "P@5", "Coverage@5"]
USERS = pl.DataFrame(
    {
        "user": range(N_USERS),
        "country": ["a" if n < 20 else "b" if n < 60 else "c" for n in range(N_USERS)],
    }
)
_RNG = np.random.default_rng(3)
RELEVANT = np.stack([_RNG.permutation(N_ITEMS)[:3] for _ in range(N_USERS)])
TRUTH = pl.DataFrame({"user": np.repeat(np.arange(N_USERS), 3), "item": RELEVANT.ravel()})
EFFECTS: dict[str, Any] = {"number": 0.02, "percent": "10%"}


def lists(seed: int, skill: float, noise: float = 1.0) -> pl.DataFrame:
    """Return ten items per user; relevant items rank higher with more `skill`."""
    scores = np.random.default_rng(1).random((N_USERS, N_ITEMS))
    scores += noise * np.random.default_rng(seed).random((N_USERS, N_ITEMS))
    np.put_along_axis(scores, RELEVANT, skill + np.take_along_axis(scores, RELEVANT, 1), 1)
    best = np.argsort(-scores, axis=1)[:, :10]
    return pl.DataFrame(
        {
            "user": np.repeat(np.arange(N_USERS), 10),
            "item": best.ravel(),
            "rank": np.tile(np.arange(1, 11), N_USERS),
        }
    )


MODELS = {
    "old": lists(2, 0.25),
    "same": lists(2, 0.25),
    "near": lists(2, 0.27),
    "equal": lists(3, 0.25),
    "good": lists(4, 0.5),
    "bad": lists(5, 0.05),
}
GATE = {
    "guardrails": {MAIN: "min_effect", "R@5": "5%", "Coverage@5": 0.1, "P@5": 0.0},
    "segments": {"country": {MAIN: "20%"}},
    "success": ["R@5", MAIN, "Coverage@5"],
}


@cache
def compared(effect: str) -> cc.results.Comparison:
    return cc.compare(
        MODELS,
        TRUTH,
        baseline="old",
        metrics=LABELS,
        primary=[MAIN, "R@5"],
        min_effect=EFFECTS[effect],
        conventions="standard",
        users=USERS,
        items=pl.DataFrame({"item": range(N_ITEMS)}),
        segments={"country": {"by": "user", "column": "country"}},
        gate=GATE,
        resamples=199,
    )


def margin_of(setting: Any, mean: float | None) -> float:
    """Return a margin as a number."""
    if isinstance(setting, str):
        return float(setting.removesuffix("%")) / 100 * abs(defined(mean))
    return float(setting)


@pytest.mark.parametrize("effect", EFFECTS)
def test_words_of_segments_follow_from_their_intervals(effect: str) -> None:
    (segmentation,) = compared(effect).segments
    means = {(c.label, c.segment): c.mean for c in segmentation.cells if c.model == "old"}
    words = set()
    for cell in segmentation.cells:
        if cell.model == "old":
            continue
        words.add(defined(cell.verdict))
        excludes_zero = cell.diff_low is not None and (
            cell.diff_low > 0 or defined(cell.diff_high) < 0
        )
        if cell.verdict in WITHOUT_INTERVAL:
            assert cell.diff_low is None
            continue
        margin = margin_of(EFFECTS[effect], means[cell.label, cell.segment])
        assert cell.verdict == word_of(cell.diff_low, cell.diff_high, margin)
        if cell.diff_low is not None:
            assert excludes_zero == (defined(cell.p_adjusted) <= 0.05)
        assert not (cell.is_reversed and not excludes_zero)
    assert {"identical", "undecided"} <= words
    assert words & {"better", "better_below_threshold"}
    (level,) = {cell.level for cell in segmentation.cells}
    p = [cell.p_adjusted for cell in segmentation.cells if cell.p_adjusted is not None]
    n_found = sum(each <= 0.05 for each in p)
    assert 1 - level == pytest.approx(0.05 * max(n_found, 1) / len(p))


def gain(measured: MeasuredDifference) -> tuple[float, float]:
    low, high = defined(measured.ci_low), defined(measured.ci_high)
    return (low, high) if measured.higher_is_better else (-high, -low)


@pytest.mark.parametrize("effect", EFFECTS)
def test_outcomes_of_a_gate_follow_from_its_intervals(effect: str) -> None:
    outcomes = set()
    for model in defined(compared(effect).gate).models:
        for guardrail in model.guardrails:
            outcomes.add(guardrail.outcome)
            if guardrail.identical:
                assert guardrail.outcome == "pass"
            elif guardrail.ci_low is None or guardrail.margin is None:
                assert guardrail.outcome == "undecided"
            else:
                setting: Any = guardrail.margin_setting
                setting = EFFECTS[effect] if setting == "min_effect" else setting
                setting = setting if str(setting).endswith("%") else float(setting)
                margin = margin_of(setting, guardrail.reference)
                assert guardrail.margin == pytest.approx(margin)
                low, high = gain(guardrail)
                expected = "pass" if low > -margin else "worse" if high < -margin else "undecided"
                assert guardrail.outcome == expected
                assert guardrail.level == 0.95
        for success in model.success:
            has_gain = success.ci_low is not None and gain(success)[0] > 0
            assert success.better == has_gain
            n_tested = sum(each.p is not None for each in model.success)
            assert success.level == pytest.approx(1 - 0.05 / max(n_tested, 1))
    assert outcomes == {"pass", "worse", "undecided"}


@pytest.mark.parametrize("effect", EFFECTS)
def test_the_configured_definition_of_the_panel_has_the_words_of_the_comparison(
    effect: str,
) -> None:
    comparison = compared(effect)
    for entry in comparison.panel:
        words = {row.a: row.verdict for row in comparison.against_baseline(entry.metric)}
        assert entry.definitions[0].verdicts == words


@pytest.mark.parametrize("effect", EFFECTS)
def test_words_of_the_comparison_follow_from_its_intervals(effect: str) -> None:
    comparison = compared(effect)
    words = set()
    for row in comparison.pairs:
        words.add(row.verdict)
        if row.test == "swap":
            is_found = row.p is not None and row.p <= 1 - row.level
            assert row.excludes_zero == is_found
            assert row.verdict.endswith("without_interval") == is_found
        elif row.verdict not in WITHOUT_INTERVAL:
            mean = comparison.score("old", row.label).mean
            margin = margin_of(EFFECTS[effect], mean)
            assert row.min_effect == pytest.approx(margin)
            assert row.verdict == word_of(row.ci_low, row.ci_high, margin)
    assert {"identical", "better", "worse", "undecided"} <= words


def replicated(n_models: int, **settings: Any) -> cc.results.Comparison:
    models: dict[str, Any] = {"old": lists(2, 0.25)}
    for n in range(1, n_models):
        seeds = {str(seed): lists(10 * n + seed, 0.2 + 0.03 * (n // 2), 0.1) for seed in (1, 2, 3)}
        models[f"m{n}"] = {"replicates": seeds}
    return cc.compare(
        models,
        TRUTH,
        baseline="old",
        metrics=[MAIN, "R@5"],
        primary=[MAIN],
        conventions="standard",
        panel=False,
        resamples=99,
        **settings,
    )


@pytest.mark.parametrize("family", ["baseline", "all"])
def test_words_over_replicates_follow_from_their_intervals(family: Any) -> None:
    comparison = replicated(4, min_effect=0.02, family=family)
    rows = defined(comparison.replicates).pairs
    for row in rows:
        assert row.verdict == word_of(row.ci_low, row.ci_high, 0.02)
        n = {"all": 6, "baseline": 3}[family]  # both families of pairs are three
        if row.primary:
            assert row.level == pytest.approx(1 - 0.05 / n)
    assert {row.verdict for row in rows} >= {"undecided"}


def test_pairs_that_the_data_did_not_choose_count_over_replicates_too() -> None:
    """13 other models: 78 pairs, of which only those with the leader are compared."""
    comparison = replicated(14)
    rows = [row for row in defined(comparison.replicates).pairs if row.primary]

    others = {row.level for row in rows if not row.vs_baseline}
    assert sum(not row.vs_baseline for row in rows) < math.comb(13, 2)
    assert [*others] == pytest.approx([1 - 0.05 / math.comb(13, 2)])
    assert [*{row.level for row in rows if row.vs_baseline}] == pytest.approx([1 - 0.05 / 13])
