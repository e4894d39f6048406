"""`concord.study`: winners, ways of aggregation, intervals and invalid arguments."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import concord
from concord.metrics_core.results.comparison_parts import InputFile, Provenance
from concord.metrics_core.results.replicates import Replicates
from concord.reports.study import text
from concord.reports.study.page import render
from tests.metrics_core.analyses.study.study_data import comparison_of

EXAMPLE = {  # a wins two of three by a little; c is far ahead on the third, which has large values
    "one": comparison_of({"base": 0.10, "a": 0.13, "c": 0.12}),
    "two": comparison_of({"base": 0.10, "a": 0.13, "c": 0.12}, seed=2),
    "three": comparison_of({"base": 0.50, "a": 0.51, "c": 0.60}, seed=3),
}


def _values(study: concord.results.Study, way: str) -> dict[str, Any]:
    return {r.model: r.value for r in study.ways if r.way == way}


def _winner(study: concord.results.Study) -> str:
    return text.winner_sentence(study, study.answers[0])


def _certainty(study: concord.results.Study) -> str:
    return text.certainty_sentence(study, study.answers[0])


def test_the_way_of_aggregation_changes_the_winner() -> None:
    study = concord.study(EXAMPLE)

    assert _values(study, "mean")["a"] == pytest.approx((0.13 + 0.13 + 0.51) / 3)
    assert _values(study, "mean_rank") == {
        "base": 3.0,
        "a": pytest.approx((1 + 1 + 2) / 3),
        "c": pytest.approx((2 + 2 + 1) / 3),
    }
    assert _values(study, "mean_relative_difference")["a"] == pytest.approx((0.3 + 0.3 + 0.02) / 3)
    assert _values(study, "mean_relative_difference")["c"] == pytest.approx((0.2 + 0.2 + 0.2) / 3)
    assert _values(study, "wins") == {"base": 0.0, "a": 2.0, "c": 1.0}
    (answer,) = study.answers
    assert answer.winners == ("a",)
    assert _winner(study) == "a wins under 3 of 4 ways of aggregating nDCG@10; by mean: c."


def test_ways_with_a_tie_count_for_no_model() -> None:
    one = comparison_of({"base": 0.1, "a": 0.2, "c": 0.3})
    other = comparison_of({"base": 0.1, "a": 0.45, "c": 0.3})
    study = concord.study({"one": one, "other": other})

    (answer,) = study.answers  # a: mean 0.325, relative (1 + 3.5) / 2; ranks 1.5 and wins 1 like c
    assert (answer.winners, answer.ways, answer.of_ways) == (("a",), 2, 4)
    assert (
        _winner(study)
        == "a wins under 2 of 4 ways of aggregating nDCG@10; by mean rank and wins: a and c tie."
    )
    single = comparison_of({"base": 0.1})
    study = concord.study({"one": _with_copy(single), "other": _with_copy(single)})
    assert (
        _winner(study) == "No model wins alone under any way of aggregating nDCG@10; by mean, "
        "mean rank, mean relative difference and wins: base and copy tie."
    )
    assert _certainty(study) == "No model leads: base and copy tie."


def _with_copy(comparison: concord.results.Comparison) -> concord.results.Comparison:
    """Return the comparison with a second model that equals the first."""
    scores = tuple(replace(score, model="copy") for score in comparison.scores)
    return replace(comparison, models=("base", "copy"), scores=(*comparison.scores, *scores))


def test_rank_intervals_follow_the_intervals_of_pairs_on_a_data_set() -> None:
    means = {"base": 0.1, "a": 0.5, "c": 0.505}
    study = concord.study({"x": comparison_of(means), "y": comparison_of(means, 2)})

    rows = {r["model"]: r for r in study.to_frame().filter(dataset="x").to_dicts()}
    assert (rows["base"]["rank_low"], rows["base"]["rank_high"]) == (3, 3)
    assert (rows["a"]["rank"], rows["a"]["rank_low"], rows["a"]["rank_high"]) == (2.0, 1, 2)
    assert (rows["c"]["rank_low"], rows["c"]["rank_high"]) == (1, 2)


def _agreeing(count: int) -> dict[str, concord.results.Comparison]:
    """Return data sets on which c is 0.1 ahead of a, and a of the baseline, more or less."""
    return {
        f"d{i}": comparison_of({"base": 0.10, "a": 0.20 + i / 1_000, "c": 0.30 + i / 400}, i)
        for i in range(count)
    }


def test_data_sets_that_agree_make_the_winner_sure() -> None:
    study = concord.study(_agreeing(6))

    (answer,) = study.answers
    assert _winner(study) == "c wins under all 4 ways of aggregating nDCG@10."
    assert _certainty(study) == "Over 6 of 6 data sets, c is ahead of every other model."
    assert answer.behind == ("base", "a")
    assert answer.is_sure
    assert {p.verdict for p in study.pairs if "c" in (p.a, p.b)} <= {"better", "worse"}


def test_a_winner_by_less_than_the_minimum_effect_is_still_sure() -> None:
    close = {f"d{i}": comparison_of({"base": 0.1, "a": 0.13 + i / 1_000}, i) for i in range(5)}
    lower = {
        name: replace(c, metrics=tuple(replace(m, higher_is_better=False) for m in c.metrics))
        for name, c in close.items()
    }

    for comparisons, winner in ((close, "a"), (lower, "base")):
        study = concord.study(comparisons, min_effect=0.06)
        assert study.pairs[0].verdict == "equivalent"
        assert study.answers[0].winners == (winner,)
        assert study.answers[0].is_sure
        assert _values(study, "wins")[winner] == 5.0
    assert not concord.study(dict(list(close.items())[:2])).answers[0].is_sure


def test_different_conventions_are_refused_one_by_one() -> None:
    other = comparison_of({"base": 0.1, "a": 0.2}, gain="exp2", hit_kind="count")

    with pytest.raises(concord.InputError) as refused:
        concord.study({"one": comparison_of({"base": 0.1, "a": 0.2}), "other": other})

    assert [p.where for p in refused.value.problems] == ["one, other"] * 2
    assert "conventions.gain: linear and exp2" in str(refused.value)
    assert "conventions.hit_kind: indicator and count" in str(refused.value)
    gain = comparison_of({"base": 0.1, "a": 0.2}, overrides={"nDCG": {"gain": "exp2"}})
    with pytest.raises(concord.InputError, match=r"overrides\.nDCG\.gain: linear and exp2"):
        concord.study({"one": comparison_of({"base": 0.1, "a": 0.2}), "stars": gain})


def test_catalogues_of_sampled_candidates_may_differ_in_size() -> None:
    means = {"base": 0.1, "a": 0.2}
    candidates = {"negatives": 100, "catalogue": 3_706, "sampling": "uniform"}
    one, larger, fewer = (
        comparison_of(means, candidates=candidates | changed)
        for changed in ({}, {"catalogue": 26_744}, {"negatives": 50})
    )

    assert concord.study({"one": one, "larger": larger}).answers[0].winners == ("a",)
    with pytest.raises(concord.InputError, match=r'candidates: {"negatives": 100, .*and'):
        concord.study({"one": one, "fewer": fewer})


OVERRIDES = {"overrides": {"nDCG": {"relevance_threshold": 4}, "RR": {"relevance_threshold": 3}}}


def _latencies(seed: int, *, higher_is_better: bool = False) -> concord.results.Comparison:
    rng = np.random.default_rng(seed)
    means = {"base": 5.0, "a": 4.5, "c": 3.0}
    return concord.compare_values(
        {m: {"latency": dict(enumerate(rng.normal(mean, 1, 60)))} for m, mean in means.items()},
        baseline="base",
        higher_is_better={"latency": higher_is_better},
        resamples=99,
    )


def test_values_of_another_tool_have_a_study_without_conventions() -> None:
    study = concord.study({name: _latencies(seed) for seed, name in enumerate(("x", "y", "z"))})
    page = render(study)

    assert study.answers[0].winners == ("c",)
    assert "Another tool computed the values, so their conventions are unknown." in page
    assert "<dt>Conventions</dt>" not in page


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            lambda: comparison_of({"base": 0.1, "a": 0.15, "c": 0.2}),
            "datasets: y evaluated lists, x compared values of another tool, whose definitions "
            "are unknown\n  fix: evaluate lists in all of them, or values in all",
        ),
        (
            lambda: _latencies(2, higher_is_better=True),
            "primary: latency: lower is better in x, and higher in the others\n"
            "  fix: set higher_is_better the same in all",
        ),
    ],
)
def test_values_that_cannot_be_pooled_are_refused(
    other: Callable[[], concord.results.Comparison], message: str
) -> None:
    with pytest.raises(concord.InputError) as refused:
        concord.study({"x": _latencies(1), "y": other()})

    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("conventions", "names"),
    [
        ({"relevance_threshold": 4}, ["relevance_threshold"]),
        (OVERRIDES, ["overrides.nDCG.relevance_threshold"]),
        ({"overrides": {"nDCG": {"gain": "linear"}}}, []),
    ],
)
def test_conventions_of_grades_may_differ_and_are_noted(
    conventions: dict[str, Any], names: list[str]
) -> None:
    plain = comparison_of({"base": 0.1, "a": 0.2})
    other = comparison_of({"base": 0.1, "a": 0.2}, **conventions)

    notes = [*text.notes(concord.study({"one": plain, "stars": other}))]

    note = "`{}` belongs to the grades of a data set: 1 on one; 4 on stars."
    assert notes == [note.format(name) for name in names]


@pytest.mark.parametrize("roles", [("truth",), ("truth of fold 1", "truth of fold 2")])
def test_the_same_truth_twice_is_one_data_set(roles: tuple[str, ...]) -> None:
    truths = tuple(InputFile(role, "truth.parquet", f"hash of {role}") for role in roles)
    provenance = Provenance(truths, {}, "")
    different = _agreeing(6)
    same = different | {n: replace(different[n], provenance=provenance) for n in ("d1", "d4")}

    assert concord.study(different).answers[0].is_sure
    study = concord.study(same)
    assert not study.answers[0].is_sure
    assert (
        _certainty(study)
        == "Unknown: d1 and d4 have the same ground truth, so they are one data set, not 2."
    )
    assert study.same_truth == (("d1", "d4"),)
    assert next(text.notes(study)).startswith("d1 and d4 have the same ground truth: means and")
    assert {(p.n_datasets, p.ci_low, p.verdict, p.reason) for p in study.pairs} == {
        (6, None, "no_interval", "same_truth")
    }


def test_models_with_replicates_are_noted() -> None:
    means = {"base": 0.10, "a": 0.20}
    replicates = Replicates(
        {"a": {"1": "a-1", "2": "a-2"}}, paired=False, nested=False, scores=(), pairs=()
    )
    plain = {"one": comparison_of(means, 1), "two": comparison_of(means, 2)}
    replicated = replace(comparison_of(means, 3), replicates=replicates)

    study = concord.study(plain | {"three": replicated})

    assert [*text.notes(concord.study(plain))] == []
    assert [*text.notes(study)] == [
        "Intervals and tests are over users and data sets, not over replicates of a; the report of "
        "each data set has intervals over replicates."
    ]


def test_models_missing_from_some_data_sets_are_left_out_and_noted() -> None:
    comparisons = {
        "one": comparison_of({"base": 0.1, "a": 0.2, "only": 0.3}),
        "two": comparison_of({"base": 0.1, "a": 0.2}),
    }

    study = concord.study(comparisons)

    assert study.models == ("base", "a")
    assert [*text.notes(study)] == ["only is left out: it is missing in two."]
    with pytest.raises(concord.InputError, match="models: only: is missing in two"):
        concord.study(comparisons, models=["base", "only"])


SWAPPED = {"one": EXAMPLE["one"], "two": comparison_of({"a": 0.2, "base": 0.1})}


@pytest.mark.parametrize(
    ("comparisons", "options", "message"),
    [
        (EXAMPLE, {"primary": ["nDCG@20"]}, "primary: nDCG@20: was not evaluated in one"),
        (EXAMPLE, {"primary": []}, r"primary: is \[\]\n  fix: write a list of names"),
        (EXAMPLE, {"primary": "nDCG@10"}, "primary: is 'nDCG@10'"),
        (EXAMPLE, {"primary": [5]}, r"primary: is \[5\]"),
        (EXAMPLE, {"models": 5}, "models: is 5"),
        (EXAMPLE, {"baseline": "nobody"}, "'nobody' is not among the models"),
        (EXAMPLE, {"min_effect": "much"}, "min_effect: is 'much'"),
        (EXAMPLE, {"models": ["base"]}, "got 1\n  fix: name 2 or more of base, a and c"),
        ([*EXAMPLE.values()], {}, "must be a dict that maps each data set"),
        (dict(enumerate(EXAMPLE.values())), {}, "must be a dict that maps each data set"),
        ({"one": 1, "two": 2}, {}, "must be a dict that maps each data set"),
        ({"one": EXAMPLE["one"]}, {}, "a study needs 2 data sets or more, got 1"),
        (SWAPPED, {}, "one has base, two has a"),
    ],
)
def test_invalid_arguments_are_refused(
    comparisons: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(concord.InputError, match=message):
        concord.study(comparisons, **options)


def test_data_sets_with_different_baselines_need_a_common_one() -> None:
    study = concord.study(SWAPPED, baseline="base")

    assert study.cells_of("nDCG@10")["two", "a"].difference == pytest.approx(0.1)


def test_shares_of_wins_are_exact() -> None:
    names = ("base", "a", "b", "c", "d", "e")
    one = comparison_of({"base": 0.1})

    def won_by(*best: str) -> concord.results.Comparison:
        """Return a comparison in which the best models have a mean of 0.9, others 0.1."""
        means = {name: 0.9 if name in best else 0.1 for name in names}
        scores = [replace(one.scores[0], model=m, mean=mean) for m, mean in means.items()]
        return replace(one, models=names, scores=tuple(scores), pairs=())

    wins = [won_by("a", "b"), won_by("a", "c", "d"), won_by(*names), won_by("e")]
    study = concord.study({f"d{i}": each for i, each in enumerate(wins)})

    # a: 1/2 + 1/3 + 1/6 as floats are less than 1; e: 1/6 + 1
    assert _values(study, "wins")["a"] == 1.0
    assert _values(study, "wins")["e"] == pytest.approx(7 / 6)


def test_the_content_is_json_and_deterministic() -> None:
    first, second = (
        json.dumps(concord.study(EXAMPLE).to_dict(), allow_nan=False) for _ in range(2)
    )

    assert first == second
    assert json.loads(first)["answers"][0]["certainty"] == "too_few_datasets"


def test_summary_has_winner_values_and_notes() -> None:
    study = concord.study(EXAMPLE)

    assert study.summary.splitlines() == [
        "a has the best nDCG@10 on 2 of 3 data sets, too few for an interval.",
        _certainty(study),
        "a wins under 3 of 4 ways of aggregating nDCG@10; by mean: c.",
        "model  mean   mean rank  mean relative difference  wins",
        "a      0.257  1.33       +20.7\N{NO-BREAK SPACE}%                   2",
        "c      0.280  1.67       +20.0\N{NO-BREAK SPACE}%                   1",
        "base   0.233  3.00       0.0\N{NO-BREAK SPACE}%                     0",
        "",
        "model  mean difference to base  95\N{NO-BREAK SPACE}% interval  verdict"
        "                               data sets",
        "a      +0.023                   \N{EN DASH}              no interval "
        "(fewer than 4 data sets)  3 of 3",
        "c      +0.047                   \N{EN DASH}              no interval "
        "(fewer than 4 data sets)  3 of 3",
    ]
    assert "<table" in study._repr_html_()
