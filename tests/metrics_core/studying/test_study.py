"""`concord.study`: who wins over data sets, under how many ways, is it sure, and what is refused."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest

import concord
from concord.metrics_core.comparison.parts import InputFile, Provenance
from concord.metrics_core.comparison.replicates import Replicates
from concord.metrics_core.studying.standard_errors import standard_error
from tests.metrics_core.studying.samples import USERS, comparison_of

TURNS = {  # a wins two of three by a little, c is far ahead on the third, where values are large
    "one": comparison_of({"base": 0.10, "a": 0.13, "c": 0.12}),
    "two": comparison_of({"base": 0.10, "a": 0.13, "c": 0.12}, seed=2),
    "three": comparison_of({"base": 0.50, "a": 0.51, "c": 0.60}, seed=3),
}


def _values(study: concord.Study, way: str) -> dict[str, Any]:
    return {r.model: r.value for r in study.ways if r.way == way}


def test_the_way_of_aggregating_changes_the_winner() -> None:
    study = concord.study(TURNS)

    assert _values(study, "mean")["a"] == pytest.approx((0.13 + 0.13 + 0.51) / 3)
    assert _values(study, "mean_rank") == {"base": 3.0, "a": pytest.approx((1 + 1 + 2) / 3), "c": pytest.approx((2 + 2 + 1) / 3)}  # fmt: skip
    assert _values(study, "mean_relative_difference")["a"] == pytest.approx((0.3 + 0.3 + 0.02) / 3)
    assert _values(study, "mean_relative_difference")["c"] == pytest.approx((0.2 + 0.2 + 0.2) / 3)
    assert _values(study, "wins") == {"base": 0.0, "a": 2.0, "c": 1.0}
    (answer,) = study.answers
    assert answer.winners == ("a",)
    assert answer.sentence == "3 of 4 ways of aggregating nDCG@10 name a; by mean: c."


def test_a_win_that_is_shared_names_nobody() -> None:
    one = comparison_of({"base": 0.1, "a": 0.2, "c": 0.3})
    other = comparison_of({"base": 0.1, "a": 0.45, "c": 0.3})
    study = concord.study({"one": one, "other": other})

    (answer,) = study.answers  # a: mean 0.325, relative (1 + 3.5) / 2; ranks 1.5 and wins 1 as c's
    assert (answer.winners, answer.ways, answer.of_ways) == (("a",), 2, 4)
    assert answer.sentence == "2 of 4 ways of aggregating nDCG@10 name a; by mean rank and wins: a and c share it."  # fmt: skip
    same = comparison_of({"base": 0.1})
    level = {"one": _with_twin(same), "other": _with_twin(same)}
    assert concord.study(level).answers[0].sentence == "No way of aggregating nDCG@10 names one model alone; by mean, mean rank, mean relative difference and wins: base and twin share it."  # fmt: skip


def _with_twin(comparison: concord.Comparison) -> concord.Comparison:
    """The same, and a second model that is equal to the first."""
    twin = tuple(replace(score, model="twin") for score in comparison.scores)
    return replace(comparison, models=("base", "twin"), scores=(*comparison.scores, *twin))


def test_a_standard_error_comes_back_from_its_interval() -> None:
    comparison = TURNS["one"]
    pair = comparison.difference("a", "base", "nDCG@10")
    assert pair is not None
    assert pair.effect_size is not None
    assert pair.difference is not None

    # effect size is difference / sd, and the error sd / √n
    expected = pair.difference / pair.effect_size / math.sqrt(USERS)
    assert standard_error(pair, 0.95) == pytest.approx(expected)


def test_the_mean_over_data_sets_is_that_of_the_differences_with_their_errors() -> None:
    study = concord.study(TURNS)
    (pair,) = [p for p in study.pairs if (p.a, p.b) == ("a", "base")]
    shrunk = [s for s in study.shrunk if s.model == "a"]

    assert [round(s.difference, 9) for s in shrunk] == [0.03, 0.03, 0.01]
    assert (pair.n_datasets, pair.vs_baseline) == (3, True)
    assert pair.difference is not None
    assert pair.ci_low is not None
    assert pair.ci_low < pair.difference < 0.03
    assert all(min(s.difference, pair.difference) <= s.shrunk <= max(s.difference, pair.difference) for s in shrunk)  # fmt: skip


def test_ranks_are_as_sure_as_the_tests_on_the_data_set() -> None:
    apart = comparison_of({"base": 0.1, "a": 0.5, "c": 0.505})
    study = concord.study({"x": apart, "y": comparison_of({"base": 0.1, "a": 0.5, "c": 0.505}, 2)})

    rows = {r["model"]: r for r in study.ranks.filter(dataset="x").to_dicts()}
    assert (rows["base"]["rank_low"], rows["base"]["rank_high"]) == (3, 3)
    assert (rows["a"]["rank"], rows["a"]["rank_low"], rows["a"]["rank_high"]) == (2.0, 1, 2)
    assert (rows["c"]["rank_low"], rows["c"]["rank_high"]) == (1, 2)


def test_two_data_sets_give_no_interval_and_few_no_friedman() -> None:
    study = concord.study({name: TURNS[name] for name in ("one", "two")})

    assert all(pair.ci_low is None and pair.verdict == "no_interval" for pair in study.pairs)
    assert study.shrunk == ()
    assert study.answers[0].sure.startswith("Not known: 2 data sets say nothing of another one")
    assert study.omnibus[0].why_none == "Friedman's test needs 5 data sets; there are 2."


def test_data_sets_that_agree_make_the_winner_sure() -> None:
    means = {"base": 0.10, "a": 0.20, "c": 0.30}
    study = concord.study({f"d{i}": comparison_of(means, i) for i in range(6)})

    (answer,) = study.answers
    assert answer.sentence == "All 4 ways of aggregating nDCG@10 name c."
    assert answer.is_sure
    assert {p.verdict for p in study.pairs if "c" in (p.a, p.b)} <= {"better", "worse"}
    assert study.omnibus[0].p == pytest.approx(6.0**-5)  # six data sets, one of 3! orders each


def test_a_winner_by_less_than_what_matters_is_still_surely_ahead() -> None:
    close = {f"d{i}": comparison_of({"base": 0.1, "a": 0.104 + i / 10_000}, i) for i in range(5)}
    lower = {
        name: replace(c, metrics=tuple(replace(m, higher_is_better=False) for m in c.metrics))
        for name, c in close.items()
    }

    for every, winner in ((close, "a"), (lower, "base")):
        study = concord.study(every, min_effect=0.05)
        assert study.pairs[0].verdict == "equivalent"
        assert study.answers[0].winners == (winner,)
        assert study.answers[0].is_sure
    assert not concord.study(dict(list(close.items())[:2])).answers[0].is_sure


def test_where_lower_is_better_the_lowest_wins() -> None:
    lower = {}
    for name, comparison in TURNS.items():
        metrics = tuple(replace(m, higher_is_better=False) for m in comparison.metrics)
        lower[name] = replace(comparison, metrics=metrics)
    study = concord.study(lower)

    assert study.answers[0].winners == ("base",)
    assert _values(study, "wins")["base"] == 3.0


def test_other_conventions_are_refused_knob_by_knob() -> None:
    other = comparison_of({"base": 0.1, "a": 0.2}, gain="exp2", hit_kind="count")

    with pytest.raises(concord.InputError) as refused:
        concord.study({"one": comparison_of({"base": 0.1, "a": 0.2}), "other": other})

    assert [p.where for p in refused.value.problems] == ["one, other"] * 2
    assert "conventions.gain: linear and exp2" in str(refused.value)
    assert "conventions.hit_kind: indicator and count" in str(refused.value)


def test_what_belongs_to_grades_may_differ_and_is_told() -> None:
    other = comparison_of({"base": 0.1, "a": 0.2}, relevance_threshold=4)

    study = concord.study({"one": comparison_of({"base": 0.1, "a": 0.2}), "stars": other})

    assert study.notes == (
        "`relevance_threshold` belongs to the grades of a data set: 1 on one; 4 on stars.",
    )


def test_what_belongs_to_grades_may_differ_for_a_metric_too() -> None:
    plain = comparison_of({"base": 0.1, "a": 0.2})
    changed = {"nDCG": {"relevance_threshold": 4}, "RR": {"relevance_threshold": 3}}
    other = comparison_of({"base": 0.1, "a": 0.2}, overrides=changed)

    assert concord.study({"one": plain, "stars": other}).notes == (
        "`overrides.nDCG.relevance_threshold` belongs to the grades of a data set: 1 on one; 4 on stars.",
    )
    gain = comparison_of({"base": 0.1, "a": 0.2}, overrides={"nDCG": {"gain": "exp2"}})
    with pytest.raises(concord.InputError, match=r"overrides\.nDCG\.gain: linear and exp2"):
        concord.study({"one": plain, "stars": gain})
    same = comparison_of({"base": 0.1, "a": 0.2}, overrides={"nDCG": {"gain": "linear"}})
    assert concord.study({"one": plain, "other": same}).notes == ()


def test_the_same_truth_twice_is_one_data_set() -> None:
    means = {"base": 0.10, "a": 0.20, "c": 0.30}
    truth = (InputFile("truth", "truth.parquet", "ab12"),)
    known = Provenance(truth, {}, "")
    every = {f"d{i}": comparison_of(means, i) for i in range(6)}
    twice = every | {n: replace(every[n], provenance=known) for n in ("d1", "d4")}

    assert concord.study(every).answers[0].is_sure
    study = concord.study(twice)
    assert not study.answers[0].is_sure
    assert study.answers[0].sure == "Not known: d1 and d4 are scored on the same truth, so they are one data set, not 2."  # fmt: skip
    assert study.notes[0].startswith("d1 and d4 are scored on the same truth: intervals")


def test_folds_with_the_same_truths_are_one_data_set() -> None:
    means = {"base": 0.10, "a": 0.20, "c": 0.30}
    folds = tuple(InputFile(f"truth of fold {n}", f"{n}.parquet", f"ab{n}") for n in (1, 2))
    every = {f"d{i}": comparison_of(means, i) for i in range(6)}
    twice = every | {
        n: replace(every[n], provenance=Provenance(folds, {}, "")) for n in ("d1", "d4")
    }

    study = concord.study(twice)

    assert not study.answers[0].is_sure
    assert [note.split(":")[0] for note in study.notes] == [
        "d1 and d4 are scored on the same truth"
    ]


def test_models_that_were_trained_several_times_are_told() -> None:
    means = {"base": 0.10, "a": 0.20}
    trained = Replicates(
        {"a": {"1": "a-1", "2": "a-2"}}, paired=False, nested=False, scores=(), pairs=(), answers=()
    )
    plain = {"one": comparison_of(means, 1), "two": comparison_of(means, 2)}

    told = concord.study(plain | {"three": replace(comparison_of(means, 3), replicates=trained)})

    assert concord.study(plain).notes == ()
    assert told.notes == (
        "Intervals and tests take a as trained: they are over users and data sets, and what training again would change"
        " is in the report of each data set.",
    )


def test_models_that_some_lack_are_left_out_and_told() -> None:
    both = {
        "one": comparison_of({"base": 0.1, "a": 0.2, "only": 0.3}),
        "two": comparison_of({"base": 0.1, "a": 0.2}),
    }

    study = concord.study(both)

    assert study.models == ("base", "a")
    assert study.notes == ("only is left out: it is not in two.",)
    with pytest.raises(concord.InputError, match="models: only: is not in two"):
        concord.study(both, models=["base", "only"])


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"primary": ["nDCG@20"]}, "primary: nDCG@20: was not evaluated in one"),
        ({"primary": "nDCG@10"}, "is one text where a list is asked for"),
        ({"primary": [5]}, r"\[5\] is no list of texts"),
        ({"models": 5}, "5 is no list of texts"),
        ({"baseline": "nobody"}, "'nobody' is not among the models"),
        ({"min_effect": "much"}, "'much' is no effect"),
        ({"models": ["base"]}, "fewer than two models"),
    ],
)
def test_what_is_asked_wrongly_is_refused(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(concord.InputError, match=words):
        concord.study(TURNS, **asked)


def test_what_is_no_dict_of_comparisons_is_refused() -> None:
    wrong: list[Any] = [[*TURNS.values()], dict(enumerate(TURNS.values())), {"one": 1, "two": 2}]
    for given in wrong:
        with pytest.raises(concord.InputError, match="is no dict of comparisons"):
            concord.study(given)


def test_one_data_set_and_other_baselines_are_refused() -> None:
    with pytest.raises(concord.InputError, match="names 1, and a study needs 2"):
        concord.study({"one": TURNS["one"]})
    swapped = comparison_of({"a": 0.2, "base": 0.1})
    with pytest.raises(concord.InputError, match="one has base, two has a"):
        concord.study({"one": TURNS["one"], "two": swapped})
    study = concord.study({"one": TURNS["one"], "two": swapped}, baseline="base")
    assert study.cells_of("nDCG@10")["two", "a"].difference == pytest.approx(0.1)


def test_shared_wins_that_make_one_are_one() -> None:
    names = ("base", "a", "b", "c", "d", "e")
    one = comparison_of({"base": 0.1})

    def won_by(*best: str) -> concord.Comparison:
        """All have a mean of 0.1, those who share the win 0.9."""
        means = {name: 0.9 if name in best else 0.1 for name in names}
        scores = [replace(one.scores[0], model=m, mean=mean) for m, mean in means.items()]
        return replace(one, models=names, scores=tuple(scores), pairs=())

    wins = [won_by("a", "b"), won_by("a", "c", "d"), won_by(*names), won_by("e")]
    study = concord.study({f"d{i}": each for i, each in enumerate(wins)})

    # a: 1/2 + 1/3 + 1/6 as floats are less than 1; e: 1/6 + 1
    assert _values(study, "wins")["a"] == 1.0
    assert _values(study, "wins")["e"] == pytest.approx(7 / 6)


def test_differences_that_rounding_parts_share_their_rank() -> None:
    means = ((0.10, 0.13), (0.48, 0.51), (0.23, 0.20))  # as floats no two differences are as large
    one = comparison_of({"base": 0.1, "a": 0.2})
    every = {
        f"d{i}": replace(
            one,
            scores=tuple(replace(s, mean=m) for s, m in zip(one.scores, of, strict=True)),
        )
        for i, of in enumerate(means)
    }

    (pair,) = concord.study(every).pairs

    assert pair.p_signed_rank == 1.0  # ranks 2, 2, 2: |+ + -| = 2 is the least that can be


def test_models_without_users_who_differ_have_no_interval() -> None:
    same = comparison_of({"base": 0.1, "a": 0.2})
    pairs = tuple(replace(p, ci_low=None, ci_high=None, p=None, difference=0.0) for p in same.pairs)
    none = replace(same, pairs=pairs)

    study = concord.study({"one": none, "two": same, "three": same})

    assert study.pairs[0].n_datasets == 2
    assert study.pairs[0].ci_low is None


def test_the_content_is_json_and_the_same_each_time() -> None:
    one, other = (json.dumps(concord.study(TURNS).to_content(), allow_nan=False) for _ in "ab")

    assert one == other
    assert json.loads(one)["schema"] == 1


def test_the_page_answers_first_and_escapes_names() -> None:
    odd = {f"<b>{name}": comparison for name, comparison in TURNS.items()}
    page = concord.study(odd, title="<script>x").to_html()

    assert "a wins under 3 of 4 ways of aggregating nDCG@10" in page
    assert "<b>one" not in page
    assert "<script>x" not in page
    assert page.index("3 of 4") < page.index("Which model on which data set?")
    assert page == concord.study(odd, title="<script>x").to_html()
