"""Look-ups of a comparison: best models, differences and cutoffs."""

from dataclasses import fields, replace
from typing import Any

import polars as pl
import pytest

from concord.metrics_core.errors import InputError
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import MIRROR, Difference, Score
from concord.metrics_core.results.stored import from_content
from tests.metrics_core.defined import defined
from tests.reports.samples import sample

LABEL = "nDCG@10"


@pytest.fixture(scope="module")
def five() -> Comparison:
    return from_content(sample.five_models())


def test_models_are_ranked_by_the_first_primary_metric(five: Comparison) -> None:
    means = [five.score(model, LABEL).mean or 0.0 for model in five.ranked]
    assert means == sorted(means, reverse=True)
    assert all(means)
    assert five.models == sample.FIVE  # as they were given
    assert five.compared_models == [model for model in five.ranked if model != five.baseline]


def test_lower_values_come_first_where_lower_is_better() -> None:
    content = sample.five_models()
    for metric in content["metrics"]:
        metric["higher_is_better"] = False
    comparison = from_content(content)
    means = [comparison.score(model, LABEL).mean or 0.0 for model in comparison.ranked]
    assert means == sorted(means)
    assert all(means)


def test_models_without_a_mean_come_last_in_the_given_order() -> None:
    content = sample.five_models()
    for row in content["scores"]:
        if row["label"] == LABEL and row["model"] in {"popularity", "ease"}:
            row.update(mean=None, ci_low=None, ci_high=None, best=False)
    comparison = from_content(content)

    assert comparison.ranked[-2:] == ["popularity", "ease"]
    assert comparison.others(LABEL)[-2:] == ["popularity", "ease"]
    assert from_content(sample.without_numbers()).ranked == list(sample.FIVE)
    assert from_content(sample.without_numbers()).leaders(LABEL) == []


def test_a_difference_read_the_other_way_round_is_mirrored(five: Comparison) -> None:
    forward = defined(five.difference("ease", "popularity", LABEL))
    backward = defined(five.difference("popularity", "ease", LABEL))
    assert None not in (forward.difference, forward.ci_low, forward.ci_high, forward.mean_a)
    assert (backward.a, backward.b) == ("popularity", "ease")
    assert (backward.mean_a, backward.mean_b) == (forward.mean_b, forward.mean_a)
    assert backward.difference == -(forward.difference or 0)
    assert (backward.ci_low, backward.ci_high) == (-(forward.ci_high or 0), -(forward.ci_low or 0))
    assert (backward.better, backward.worse) == (forward.worse, forward.better)
    assert backward.verdict == "worse"
    assert backward.relative == -(forward.difference or 0) / (forward.mean_a or 0)
    assert backward.effect_size == -(forward.effect_size or 0)
    assert backward.p_adjusted == forward.p_adjusted


@pytest.mark.parametrize(
    "change",
    [
        {"mean_a": 0.1, "mean_b": 0.1, "difference": 0.0, "relative": 0.0},
        {"mean_a": 0.2, "mean_b": 0.0, "difference": 0.2, "relative": None},
        {"mean_a": 0.2, "mean_b": -0.1, "difference": 0.3, "relative": None},
        {"ci_low": None, "ci_high": None, "effect_size": None, "p": None, "relative": None,
         "difference": None, "mean_a": None},
        *({"verdict": verdict} for verdict in (*MIRROR, "equivalent", "identical", "undecided")),
    ],
)  # fmt: skip
def test_a_difference_that_is_mirrored_twice_is_the_same_again(
    five: Comparison, change: dict[str, Any]
) -> None:
    pair = replace(five.pairs[0], **change)

    assert pair.mirrored().mirrored() == pair
    assert (pair.mirrored().verdict == pair.verdict) == (pair.verdict not in MIRROR)


def test_a_mirrored_difference_is_no_share_of_a_mean_of_zero(five: Comparison) -> None:
    change = {"mean_a": 0.0, "mean_b": 0.1, "difference": -0.1, "relative": -1.0}

    assert replace(five.pairs[0], **change).mirrored().relative is None  # type: ignore[arg-type]


def test_unknown_label_or_model_is_refused_and_missing_difference_is_none(five: Comparison) -> None:
    with pytest.raises(InputError, match="nDCG@7: was not evaluated; there are P@5, "):
        five.metric("nDCG@7")
    with pytest.raises(InputError, match="nea: is not among the models: popularity, item-knn"):
        five.score("nea", LABEL)
    assert five.metric(LABEL).label == LABEL
    assert five.difference("ease", "ease", LABEL) is None
    assert five.pairs_of("nDCG@7") == []
    assert five.labels == tuple(metric["label"] for metric in sample.five_models()["metrics"])


@pytest.mark.parametrize(
    ("effect", "share"), [("2%", 0.02), ("7.5%", 0.075), ("0.005", None), ("0.0", None)]
)
def test_a_threshold_is_a_share_only_where_it_was_written_as_one(
    five: Comparison, effect: str, share: float | None
) -> None:
    assert replace(five.metric(LABEL), min_effect=effect).share == share


def test_leaders_and_others_are_all_models(five: Comparison) -> None:
    for label in five.labels:
        best = [score.model for score in five.scores if score.label == label and score.best]
        assert five.leaders(label) == best != []
        assert {*best, *five.others(label)} == set(five.models)
        means = [five.score(model, label).mean or 0 for model in (*best, *five.others(label))]
        assert means == sorted(means, reverse=five.metric(label).higher_is_better is True)


def test_compared_models_are_listed_best_first(five: Comparison) -> None:
    pairs = five.against_baseline(LABEL)

    assert [(pair.a, pair.b) for pair in pairs] == [
        (m, five.baseline) for m in five.compared_models
    ]
    assert {pair.label for pair in pairs} == {LABEL}


def test_the_family_is_all_primary_pairs(five: Comparison) -> None:
    assert five.primary_pairs == [pair for pair in five.pairs if pair.label in five.primary]
    assert len(five.primary_pairs) == 10 * len(five.primary)


@pytest.mark.parametrize(
    ("primary", "k"), [(["nDCG@10"], 10), (["Rprec", "P@5"], 5), (["Rprec"], 20)]
)
def test_the_main_cutoff_is_that_of_the_first_primary_label_that_has_one(
    five: Comparison, primary: list[str], k: int
) -> None:
    assert replace(five, primary=tuple(primary)).main_cutoff == k
    assert replace(five, primary=("Rprec",), ks=()).main_cutoff is None


@pytest.mark.parametrize(
    ("name", "kind", "part"),
    [("leaderboard", Score, "scores"), ("differences", Difference, "pairs")],
)
def test_types_of_a_frame_do_not_depend_on_what_is_null(
    five: Comparison, name: str, kind: type[Score | Difference], part: str
) -> None:
    full = getattr(five, name)
    actual = getattr(from_content(sample.without_numbers()), name)
    empty = getattr(from_content(sample.five_models() | {part: []}), name)

    assert full.columns == [field.name for field in fields(kind) if not field.metadata]
    parts = [vars(each) for each in getattr(five, part)]
    assert full.to_dicts() == [{name: each[name] for name in full.columns} for each in parts]
    assert full.schema == actual.schema == empty.schema
    assert (len(actual), len(empty)) == (len(full), 0)
    assert pl.Null not in full.dtypes


def test_counts_are_whole_numbers_and_flags_are_flags(five: Comparison) -> None:
    scores, pairs = five.leaderboard.schema, five.differences.schema

    flags = ("best", "indistinguishable_from_best")
    assert [scores[name] for name in ("model", "mean", "n_users")] == [
        pl.String,
        pl.Float64,
        pl.Int64,
    ]
    assert [scores[name] for name in flags] == [pl.Boolean] * 2
    assert [pairs[name] for name in ("label", "verdict")] == [pl.String] * 2
    assert [pairs[name] for name in ("ci_low", "p_wilcoxon")] == [pl.Float64] * 2
    assert [pairs[name] for name in ("n_nonzero", "caution")] == [pl.Int64, pl.Boolean]
