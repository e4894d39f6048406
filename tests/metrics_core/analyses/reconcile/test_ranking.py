"""`reconcile` and `verify` rank the lists as each definition does: ties, copies, precision."""

import math
import random
from typing import Any

import polars as pl
import pytest

import concord as cc
from concord.metrics_core.conventions.presets import defines

TIED_RUN = {"q1": {"d1": 1, "d2": 1, "d3": 1}, "q2": {"d3": 1, "d2": 1}}
TIED_TRUTH = {"q1": {"d3": 1}, "q2": {"d2": 1, "d3": 1}}
COPIES = cc.preset("standard", duplicates="keep")


def _lists(seed: int) -> tuple[pl.DataFrame, dict[str, dict[str, int]]]:
    """Return lists with ties, near ties and copies, in random order of rows, and a truth."""
    generator = random.Random(seed)
    items = [str(n) for n in range(8, 15)]  # 8 and 9 sort after 10 as text
    scores = [0.5, 0.5 + 1e-9, 0.7, 0.9]
    rows = [
        (f"u{user}", item, generator.choice(scores))
        for user in range(6)
        for item in generator.choices(items, k=5)
    ]
    generator.shuffle(rows)
    recs = pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")
    truth = {
        f"u{user}": {item: generator.choice([0, 1, 2]) for item in generator.sample(items, 4)}
        for user in range(7)
    }
    return recs, truth


def _evaluated(
    recs: pl.DataFrame, truth: dict[str, dict[str, int]], label: str
) -> dict[str, float]:
    """Return the mean under each preset that accepts these lists."""
    means = {}
    for name in cc.presets():
        if not defines(name, label.partition("@")[0]) or name == "spark_mllib_graded":
            continue  # the last needs the order of the ground truth
        try:
            means[name] = cc.evaluate(recs, truth, metrics=[label], conventions=name)[label]
        except ValueError:  # refuses copies
            continue
    return {name: mean for name, mean in means.items() if not math.isnan(mean)}


@pytest.mark.parametrize(
    ("seed", "label"),
    [
        (2, "AP"),
        pytest.param(1, "nDCG@3", marks=pytest.mark.nightly),
        *(
            pytest.param(seed, label, marks=pytest.mark.nightly)
            for seed in range(3, 7)
            for label in ("P@2", "R@3", "AP@3", "RR@2", "nDCG@4", "Hit@1")
        ),
    ],
)
def test_each_preset_has_the_value_that_evaluate_gives(seed: int, label: str) -> None:
    recs, truth = _lists(seed)
    means = _evaluated(recs, truth, label)
    assert len(set(means.values())) > 5

    for mean in sorted(set(means.values()))[::3]:
        names = {name for name, each in means.items() if each == mean}
        value = f"{mean:.12f}"  # `repr` has few digits of a simple fraction
        matches = cc.reconcile(recs, truth, value=value, metric=label, conventions=COPIES).matches
        assert names <= {name for each in matches for name in each.presets}
        assert all(math.isclose(each.mean, mean, abs_tol=1e-12) for each in matches)

    for mean in sorted(set(means.values()))[1::9]:
        names = {name for name, each in means.items() if each == mean}
        table = pl.DataFrame({"model": "m", "metric": label, "value": f"{mean:.15f}"})
        verified = cc.verify({"m": recs}, truth, table, conventions=COPIES)
        explained = {each.preset for each in verified.explanations}
        assert verified.agrees or names <= explained


def test_a_preset_ranks_equal_scores_in_its_own_order() -> None:
    found = cc.reconcile(TIED_RUN, TIED_TRUTH, value="1.0", metric="AP")
    others = cc.reconcile(TIED_RUN, TIED_TRUTH, value="0.6667", metric="AP")

    (match,) = [each for each in found.matches if "pytrec_eval" in each.presets]
    assert "trec_eval" in match.presets
    assert "ties" in match.changes
    assert not any("pytrec_eval" in each.presets for each in others.matches)


def test_conventions_that_rank_alike_are_no_change() -> None:
    """Lists without ties and copies: presets differ from `standard` in neither."""
    lists, truth = {"u": {"a": 0.9, "b": 0.5}}, {"u": ["b"]}

    found = cc.reconcile(lists, truth, value="0.5", metric="RR")

    assert {"standard", "bellei", "pytrec_eval"} <= {
        x for each in found.matches for x in each.presets
    }
    assert not any({"ties", "duplicates"} & {*each.changes} for each in found.definitions)


def test_the_order_of_equal_scores_is_a_change_like_others() -> None:
    conventions = cc.preset("standard", ties="item_desc", recall_denominator="min_k_relevant")
    mean = cc.evaluate(TIED_RUN, TIED_TRUTH, metrics=["R@1"], conventions=conventions)["R@1"]

    found = cc.reconcile(TIED_RUN, TIED_TRUTH, value=mean, metric="R@1")

    assert mean == 1.0
    assert any("ties" in each.changes for each in found.matches if not each.presets)


@pytest.mark.parametrize("ties", ["given", "input", "average", "item_desc"])
def test_the_requested_order_of_equal_scores_does_not_hide_others(ties: Any) -> None:
    """Under `ties: given` lists have no equal scores; other definitions still rank by score."""
    run = {**TIED_RUN, "q3": {"d9": 1, "d8": 1, "d7": 1, "d1": 1}}
    truth = {**TIED_TRUTH, "q3": {"d8": 1}}
    conventions = cc.preset("standard", ties=ties)
    means = {
        name: cc.evaluate(run, truth, metrics=["AP"], conventions=name)["AP"]
        for name in ("ranx", "pytrec_eval", "standard", "rectools")
    }

    for name, mean in means.items():
        found = cc.reconcile(run, truth, value=mean, metric="AP", conventions=conventions)
        assert name in {x for each in found.matches for x in each.presets}
        for other, of_other in means.items():
            named = [each for each in found.definitions if other in each.presets]
            assert all(each.mean == of_other for each in named)


def test_the_order_of_missing_scores_is_that_of_the_definition() -> None:
    lists = pl.DataFrame(
        {"user": "u", "item": ["d", "c", "b", "a"], "score": [3.0, *[math.nan] * 3]}
    )
    truth = {"u": ["c"]}
    policies: Any = {"nan_score": "last"}
    own = cc.preset("standard", overrides={"RR": {"ties": "input"}})
    mean = cc.evaluate(lists, truth, metrics=["RR"], conventions="ranx", input=policies)["RR"]

    values = cc.evaluate(lists, truth, metrics=["RR", "AP"], conventions=own, input=policies)
    found = cc.reconcile(lists, truth, value=mean, metric="RR", input=policies)

    assert mean == 1 / 2
    assert (values["RR"], values["AP"]) == (1 / 2, 1 / 4)
    assert "ranx" in {x for each in found.matches for x in each.presets}


@pytest.mark.parametrize("n_tied", [2, 3, 4])
def test_the_mean_over_all_orders_is_a_definition_of_its_own(n_tied: int) -> None:
    items = [f"d{n}" for n in range(n_tied)]
    run, truth = {"u": dict.fromkeys(items, 1)}, {"u": [items[-1]]}
    mean = cc.evaluate(run, truth, metrics=["nDCG"], conventions="sklearn_ndcg")["nDCG"]

    (match, *_) = cc.reconcile(run, truth, value=f"{mean:.9f}", metric="nDCG").matches

    assert "sklearn_ndcg" in match.presets
