"""`ppi`: by hand, against plain Python on evaluated values, and what it refuses."""

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import concord as cc
from concord.metrics_core.metrics.label import parse
from tests.metrics_core.analyses.ppi.ppi_data import (
    DOCUMENTS,
    SMALL_MODELS,
    ZERO,
    drawn,
    estimated,
    small_truth,
)
from tests.metrics_core.analyses.ppi.ppi_reference import powered

CONVENTIONS = cc.preset("standard", user_empty_truth="zero")
METRICS = ["nDCG@5", "RR@5", "Hit@1", "DCG@3"]


def test_six_queries_by_hand() -> None:
    result = estimated(SMALL_MODELS, small_truth(), metrics=["P@1"])
    ab, ba = result.means

    # P@1 of "ab": people 1, 0, 0 for q1, q3, q5; the judge 1, 1, 0 there, 0, 1, 1 for the others.
    # All six of the judge: mean 4/6, variance 6 · (4/6) · (2/6) / 5 = 4/15; 1 + n / N = 2.
    # Covariance of the sample: Σ h f / 3 - (1/3) · (2/3) = 1/3 - 2/9 = 1/9.
    assert ab.tuning == pytest.approx(1 / 9 / (2 * 4 / 15))
    # Without q1: h is constant, so 0. Without q3: h 1, 0 and f 1, 0: covariance 1/4, / (8/15).
    # Without q5: f is constant, so 0. The judge's mean of the others is 2/3.
    of_q3 = 1 / 4 / (8 / 15)
    assert ab.estimate == pytest.approx((1 + (0 - of_q3 * (1 - 2 / 3)) + 0) / 3)
    assert [ab.people, ab.judge, ab.n_corrected] == pytest.approx([1 / 3, 4 / 6, 1])
    assert (ab.ci_low, ab.people_low) == (None, None)  # three queries
    assert (result.n_sampled, result.n_queries, result.depth) == (3, 6, 1)

    # "ba": people 0, 1, 0; the judge 0, 0, 0 and 1, 0, 1. Differences ba - ab of people: -1, 1, 0;
    # of the judge -1, -1, 0 and 1, -1, 0.
    (difference,) = result.differences
    assert [difference.people, difference.judge] == pytest.approx([0, -2 / 6])
    assert (difference.verdict, difference.n_nonzero) == ("too_few_users", 2)
    assert ba.people == pytest.approx(1 / 3)


def test_agreement_counts_the_documents_that_both_judged() -> None:
    agreement = estimated(SMALL_MODELS, small_truth()).agreement

    # Grades of people 1 0, 0 1, 0 0 and of the judge 1 0, 1 0, 0 0.
    assert agreement.n_documents == 6
    assert agreement.confusion == ((0.0, 0.0, 3), (0.0, 1.0, 1), (1.0, 0.0, 1), (1.0, 1.0, 1))
    assert agreement.equal == pytest.approx(4 / 6)
    assert agreement.kappa == pytest.approx(1 - (2 / 6) / (2 * (2 / 6) * (4 / 6)))


def test_agreement_leaves_out_the_document_that_is_the_query() -> None:
    truth = small_truth().with_columns(pl.col("item").str.replace("b", "q1"))
    models = {model: {q: ["a"] for q in lists} for model, lists in SMALL_MODELS.items()}

    result = estimated(models, truth, conventions={**ZERO, "exclude": "same_id"}, metrics=["P@1"])

    assert result.agreement.n_documents == 5


def test_a_copy_needs_no_grade() -> None:
    conventions = {**ZERO, "duplicates": "first"}
    models = {model: {q: ["a", "a", "b"] for q in lists} for model, lists in SMALL_MODELS.items()}

    ab, _ = estimated(models, small_truth(), conventions=conventions, metrics=["P@2"]).means

    assert ab.people == pytest.approx((1 / 2 + 0 + 0) / 3)  # q1 has a hit at rank 1


@pytest.mark.parametrize("sampled", [20, 60])
def test_estimates_equal_plain_python_on_the_values_of_evaluate(sampled: int) -> None:
    models, truth = drawn(np.random.default_rng(3), 200, sampled, noise=0.3)
    people = truth.filter(pl.col("grade").is_not_null()).drop("predicted")
    judge = truth.select("user", "item", grade="predicted")
    values: dict[str, Any] = {}
    for name, lists in models.items():
        by_people, by_judge = (
            cc.evaluate(lists, each, metrics=METRICS, conventions=CONVENTIONS).per_user.sort("user")
            for each in (people, judge)
        )
        in_sample = by_judge["user"].is_in(by_people["user"].implode())
        values[name] = by_people, by_judge.filter(in_sample), by_judge.filter(~in_sample)

    result = estimated(models, truth, metrics=METRICS)

    for row in result.means:
        columns = [frame[row.label].to_list() for frame in values[row.model]]
        bounds = (0.0, 1.0) if row.label != "DCG@3" else None
        human, judged, others = columns
        expected = powered(human, judged, others, bounds)
        found = (row.estimate, row.ci_low, row.ci_high, row.effective_labels)
        assert found == pytest.approx(expected, rel=1e-9)
    for row in result.differences:
        pair = zip(values["dense"], values["bm25"], strict=True)
        columns = [(a[row.label] - b[row.label]).to_list() for a, b in pair]
        human, judged, others = columns
        mean, low, high, _ = powered(human, judged, others)
        assert row.estimate == pytest.approx(mean, abs=1e-9)
        if row.n_nonzero < 10:
            assert (row.ci_low, row.single_low, row.verdict) == (None, None, "too_few_users")
        elif sampled >= 30:
            assert (row.single_low, row.single_high) == pytest.approx((low, high), rel=1e-9)
        else:  # that of sign flips, or of the t test
            assert row.single_low is not None
            assert row.single_high is not None
            assert row.single_low <= low + 1e-9 < high - 1e-9 <= row.single_high


def test_intervals_have_the_level_of_their_family_and_verdicts_follow_from_them() -> None:
    seen = set()
    for seed in range(2):
        models, truth = drawn(np.random.default_rng(seed), 200, 25 if seed % 2 else 80, noise=0.2)
        others = {f"m{n}": models["dense"].with_columns(_shifted(seed, n)) for n in (1, 2, 4)}
        result = estimated(
            models | others, truth, metrics=METRICS, primary=METRICS[:2], min_effect=0.05
        )

        tested = [row for row in result.differences if row.p is not None]
        sizes = Counter((row.primary, row.primary and row.versus == "bm25") for row in tested)
        found = sum((row.p_adjusted or 0) <= 0.05 for row in tested if not row.primary)
        for row in tested:
            size = sizes[row.primary, row.primary and row.versus == "bm25"]
            assert row.level == pytest.approx(1 - 0.05 * (1 if row.primary else found or 1) / size)
            assert row.ci_low is not None
            assert row.ci_high is not None
            seen.add(row.verdict)
            assert _word(row.ci_low, row.ci_high, 0.05) == row.verdict
            excludes_0 = not row.ci_low <= 0 <= row.ci_high
            assert row.primary or excludes_0 == ((row.p_adjusted or 0) <= 0.05)
    assert {"better", "worse", "undecided"} <= seen


def _shifted(seed: int, n: int) -> pl.Expr:
    """Return scores with noise that grows with n."""
    noise = np.random.default_rng((seed, n)).normal(0, 2.0 * n, 200 * DOCUMENTS)
    return (pl.col("score") + pl.lit(pl.Series(noise))).alias("score")


def _word(low: float, high: float, effect: float) -> str:
    if -effect <= low and high <= effect:
        return "equivalent"
    if low > 0:
        return "better" if low > effect else "better_below_threshold"
    if high < 0:
        return "worse" if high < -effect else "worse_below_threshold"
    return "undecided"


def test_queries_that_were_chosen_by_the_judge_are_a_serious_warning() -> None:
    models, truth = drawn(np.random.default_rng(1), 200, 40, noise=0.0)
    by_judge = truth.select("user", "item", grade="predicted")
    a, b = (
        cc.evaluate(lists, by_judge, metrics=["P@3"], conventions=CONVENTIONS).per_user
        for lists in models.values()
    )
    gaps = a.join(b, on="user").select("user", gap=pl.col("P@3") - pl.col("P@3_right"))
    is_chosen = pl.col("user").is_in(gaps.sort("gap", "user")["user"][:40].implode())
    chosen = truth.with_columns(grade=pl.when(is_chosen).then("predicted"))

    (warning,) = estimated(models, chosen, metrics=["P@3"]).warnings

    assert estimated(models, truth, metrics=["P@3"]).warnings == ()
    assert (warning.code, warning.severity) == ("sample_not_random", "serious")
    gap = -gaps["gap"].to_numpy()
    is_sampled = np.isin(gaps["user"], gaps.sort("gap", "user")["user"][:40])
    expected = gap[is_sampled].mean(), gap[~is_sampled].mean()
    assert warning.details["model"] == "dense"
    assert (warning.details["sampled"], warning.details["others"]) == pytest.approx(expected)
    assert "P@3 of dense minus bm25 is 0.383 on the 40 sampled users and" in warning.sentence
    lines = str(estimated(models, chosen, metrics=["P@3"])).splitlines()
    assert lines[1].startswith("Warning: The sample does not look random: by the judge, P@3 of")
    assert "What to do: decide nothing by them" in lines[1]


@pytest.mark.parametrize(("queries", "is_refuted"), [(15, False), (30, True)])
def test_three_sampled_queries_can_refute_a_random_sample(
    queries: int, *, is_refuted: bool
) -> None:
    # Only the sampled ones have a hit: one of 455 samples of 15 queries, one of 4,060 of 30.
    hits = [float(number < 3) for number in range(queries)]
    ids = [f"q{number}" for number in range(queries)]
    truth = pl.DataFrame(
        {"user": ids, "item": "a", "grade": [hit or None for hit in hits], "predicted": hits}
    )
    models = {name: {query: ["a"] for query in ids} for name in ("one", "two")}

    warnings = estimated(models, truth, metrics=["P@1"]).warnings

    assert [each.details["n_checks"] for each in warnings] == [3] * is_refuted


def test_the_order_of_rows_and_numbers_as_ids_change_no_bit() -> None:
    models, truth = drawn(np.random.default_rng(4), 80, 20, noise=0.3)
    numbers = pl.col("user").str.strip_prefix("q").cast(pl.Int64) + 1000
    other_models = {
        name: lists.with_columns(numbers).sample(fraction=1, shuffle=True, seed=1)
        for name, lists in models.items()
    }
    other_truth = truth.with_columns(numbers).sample(fraction=1, shuffle=True, seed=2)

    first, second = estimated(models, truth), estimated(other_models, other_truth)

    assert first.to_dict() == second.to_dict()


def test_verdicts_use_the_minimum_relevant_difference_and_adjusted_p_values() -> None:
    models, truth = drawn(np.random.default_rng(5), 600, 150, noise=0.1, lead=1.5)

    small, large = (
        estimated(models, truth, metrics=METRICS, min_effect=effect) for effect in (0.01, 0.5)
    )
    verdicts = {row.label: row.verdict for row in small.differences}

    assert verdicts["nDCG@5"] == "better"
    assert {row.label for row in small.differences if row.primary} == {"nDCG@5"}
    assert all(row.p is None or row.p <= (row.p_adjusted or 0) for row in small.differences)
    assert large.differences[0].verdict == "equivalent"


def test_equal_differences_of_all_queries_have_no_interval() -> None:
    """The relevant document is first in one model and second in the other, for every query."""
    queries = [f"q{n}" for n in range(40)]
    rows = [
        (q, item, int(item == "a") if n < 12 else None, int(item == "a"))
        for n, q in enumerate(queries)
        for item in "ab"
    ]
    truth = pl.DataFrame(rows, schema=["user", "item", "grade", "predicted"], orient="row")
    models = {"b": {key: ["b", "a"] for key in queries}, "a": {key: ["a", "b"] for key in queries}}

    (row,) = cc.search.ppi(models, truth, metrics=["RR"], baseline="b", sample="random").differences

    assert (row.estimate, row.ci_low, row.n_nonzero) == (0.5, None, 12)
    assert row.verdict == "no_interval"


def test_equal_models_are_identical() -> None:
    models, truth = drawn(np.random.default_rng(6), 60, 20, noise=0.3)

    result = estimated({"a": models["bm25"], "b": models["bm25"]}, truth)

    assert result.differences[0].verdict == "identical"


def test_the_metrics_of_the_whole_list_need_every_document() -> None:
    assert estimated(SMALL_MODELS, small_truth(), metrics=["AP", "P@1"]).depth is None
    assert parse("AP").k is None
    every_rank = cc.preset("pytrec_eval", user_empty_truth="zero")
    read = estimated(SMALL_MODELS, small_truth(), metrics=["RR@1"], conventions=every_rank)
    assert read.depth is None


WITHOUT_Q4 = {
    "ab": SMALL_MODELS["ab"],
    "ba": {query: ranked for query, ranked in SMALL_MODELS["ba"].items() if query != "q4"},
}


def test_a_query_without_a_list_counts_as_its_convention_says() -> None:
    result = estimated(WITHOUT_Q4, small_truth(), metrics=["P@2"])

    assert [mean.judge for mean in result.means] == pytest.approx([6 / 12, 5 / 12])


def test_the_sample_may_have_no_relevant_document() -> None:
    no_hit = _graded(_graded(small_truth(), "q1", "a", grade=0), "q3", "b", grade=0)

    result = estimated(SMALL_MODELS, no_hit, metrics=["P@1"])

    assert [(mean.people, mean.estimate, mean.tuning) for mean in result.means] == [(0, 0, 0)] * 2


@pytest.mark.parametrize("policy", ["pooled", "unjudged"])
def test_a_negative_grade_is_no_grade_of_a_person(policy: str) -> None:
    negative = _graded(small_truth(), "q2", "b", grade=-1)

    allowed = estimated(SMALL_MODELS, negative, input={"negative_grade": policy})

    assert allowed.to_dict() == estimated(SMALL_MODELS, small_truth()).to_dict()


def _graded(truth: pl.DataFrame, query: str, item: str, **grades: float | None) -> pl.DataFrame:
    """Return the truth with other grades of one document."""
    is_row = (pl.col("user") == query) & (pl.col("item") == item)
    return truth.with_columns(
        pl.when(is_row).then(pl.lit(grade)).otherwise(pl.col(name)).alias(name)
        for name, grade in grades.items()
    )


@pytest.mark.parametrize(
    ("truth", "options", "message"),
    [
        (small_truth(), {"sample": None}, "sample: is None, and only a random sample"),
        (small_truth(), {"sample": "hard"}, "sample: is 'hard', and only a random sample"),
        (
            _graded(small_truth(), "q3", "b", grade=None),
            {"metrics": ["nDCG@2"]},
            "query 'q3' is judged in part: people did not grade document 'b' (rank 2 of ab); 1",
        ),
        (
            _graded(small_truth(), "q3", "b", grade=None),
            {"metrics": ["P@1", "RR"]},
            "(rank 2 of ab); 1 such documents in all. RR reads whole lists\n"
            "  fix: write RR@10, or let people grade all documents",
        ),
        (
            _graded(small_truth(), "q3", "b", grade=None),
            {"metrics": ["P@1", "RR@1"], "conventions": {**ZERO, "rr_cutoff": "none"}},
            "1 such documents in all. RR@1 reads whole lists\n"
            "  fix: set conventions.rr_cutoff to k, or let people grade all documents",
        ),
        (
            _graded(small_truth(), "q3", "b", grade=None),
            {"metrics": ["nDCG@1"], "conventions": {**ZERO, "ideal": "retrieved"}},
            "1 such documents in all. nDCG@1 reads whole lists\n"
            "  fix: set conventions.ideal to retrieved_at_k, or let people grade all documents",
        ),
        (
            _graded(small_truth(), "q3", "b", grade=None),
            {"metrics": ["Rprec"]},
            "  fix: leave out Rprec, or let people grade all documents",
        ),
        (
            small_truth().with_columns(predicted=pl.col("predicted") * 0.9),
            {},
            "truth: column 'predicted': is at most 0.9, and the relevance threshold is 1",
        ),
        (
            small_truth().filter(pl.col("user") != "q4"),
            {},
            "query 'q4' is judged in part: the judge did not grade document 'a' (rank 1 of ab); 2",
        ),
        (
            small_truth().filter((pl.col("user") + pl.col("item")).is_in(["q2b", "q3b"]).not_()),
            {"metrics": ["P@1"]},
            "query 'q2' is judged in part: the judge did not grade document 'b' (rank 1 of ba); 2",
        ),
        (
            small_truth(),
            {"conventions": "standard"},
            "nDCG@5 of query 'q5' is undefined by the grades of people; 1 such queries in all"
            "\n  fix: set user_empty_truth to zero",
        ),
        (
            small_truth(),
            {"conventions": {**ZERO, "user_empty_truth": "drop", "undefined": "zero"}},
            "nDCG@5 of query 'q5' is undefined by the grades of people",
        ),
        (
            small_truth(),
            {"models": WITHOUT_Q4, "conventions": {**ZERO, "user_no_recs": "drop"}},
            "nDCG@5 of query 'q4' is undefined because ba has no list for it; 1 such queries in all"
            "\n  fix: set user_no_recs and user_both_empty to zero",
        ),
        (
            small_truth(),
            {"metrics": ["StRecall@2"], "columns": {"truth": {"subtopic": "s"}}},
            "StRecall@2 reads subtopics, and grades of a judge have none",
        ),
        ([small_truth(), small_truth()], {}, "truth: names several tables of judgements"),
        (
            small_truth().filter(pl.col("user").is_in(["q1", "q2", "q3", "q4", "q6"])),
            {"models": {"ab": {"q1": ["a"]}, "ba": {"q1": ["b"]}}},
            "truth: people judged only 2 of the queries",
        ),
        (small_truth().with_columns(grade=0.0), {}, "truth: people judged all queries"),
        (small_truth().with_columns(grade=None), {}, "'grade' is null in every row"),
        (
            _graded(small_truth(), "q2", "a", predicted=None),
            {},
            "column 'predicted' (user 'q2', item 'a'): is missing",
        ),
        (
            _graded(small_truth(), "q2", "a", predicted=-1),
            {},
            "column 'predicted' (user 'q2', item 'a'): -1.0 is negative",
        ),
        (
            _graded(small_truth(), "q1", "a", grade=-1),
            {},
            "column 'grade' (user 'q1', item 'a'): -1.0 is negative",
        ),
        (
            _graded(small_truth(), "q2", "a", predicted=9),
            {"metrics": ["ERR@2"], "conventions": {**ZERO, "err_max_grade": 4}},
            "conventions.err_max_grade: is 4, and truth has grade 9",
        ),
        (small_truth().drop("predicted"), {}, "truth: column 'predicted': is missing"),
        ({"q1": ["a"]}, {}, "truth: column 'predicted': is missing"),
        (
            small_truth(),
            {"metrics": ["Novelty@2"]},
            "Novelty@2 is not a mean of values that depend on the grades of a query",
        ),
        (
            small_truth(),
            {"conventions": {**ZERO, "unit_mean": "requests"}},
            "unit",
        ),
        (small_truth(), {"baseline": "bm25"}, "baseline: 'bm25' is not among the models"),
    ],
)
def test_is_refused(truth: Any, options: dict[str, Any], message: str) -> None:
    options = {"models": SMALL_MODELS, **options}
    with pytest.raises(cc.InputError) as refused:
        estimated(truth=truth, **options)

    assert message in str(refused.value)


def test_replicates_are_refused() -> None:
    models = {"ab": {"replicates": {1: SMALL_MODELS["ab"], 2: SMALL_MODELS["ab"]}}}

    with pytest.raises(cc.InputError, match="models: have replicates"):
        estimated(models, small_truth())


@pytest.mark.parametrize("function", [cc.evaluate, cc.compare])
def test_other_functions_refuse_null_grades_and_name_ppi(function: Any) -> None:
    options = {} if function is cc.evaluate else {"baseline": "ab"}
    recs = SMALL_MODELS["ab"] if function is cc.evaluate else SMALL_MODELS

    with pytest.raises(cc.InputError) as refused:
        function(recs, small_truth(), metrics=["P@1"], **options)

    assert "column 'grade' (user 'q2', item 'a'): is missing" in str(refused.value)
    assert "`ppi` reads grades of people" in str(refused.value)


def test_the_text_shows_people_and_judge_alone_and_the_agreement() -> None:
    models, truth = drawn(np.random.default_rng(8), 120, 30, noise=0.2)

    lines = str(estimated(models, truth)).splitlines()

    assert lines[0].startswith("People judged the top 5 for 30 of 120 users, the judge for all")
    assert "people and judge" in lines[1]
    assert "judge alone, uncorrected" in lines[1]
    assert any(line.startswith("nDCG@5  dense − bm25") for line in lines)
    assert lines[4].startswith("A difference has its own lambda")
    assert any(line.startswith("Judge and people on 240 items: weighted") for line in lines)
    assert lines[-3].startswith("people 0")


def test_the_text_has_the_words_of_the_ground_truth() -> None:
    models, truth = drawn(np.random.default_rng(8), 120, 30, noise=0.2)

    truth = truth.rename({"user": "qid", "item": "passage_id"})
    result = estimated(models, truth, columns={"truth": {"item": "passage_id"}})

    text = str(result)
    assert text.startswith("People judged the top 5 for 30 of 120 queries, the judge for all")
    assert "Judge and people on 240 passages" in text
    assert not re.search(r"\b(users?|items?|who)\b", text)
    assert result.to_dict()["words"] == {"user": "query", "item": "passage"}


def test_the_text_explains_a_worth_above_all_users_and_a_lambda_of_0() -> None:
    models, truth = drawn(np.random.default_rng(8), 40, 20, noise=0.2)
    result = estimated(models, truth)
    (mean, *_), (difference,) = result.means, result.differences
    unusual = replace(mean, effective_labels=47.0), replace(mean, tuning=0.0, estimate=0.5)

    usual, explained = (
        str(replace(result, means=means, differences=(difference,)))
        for means in ((replace(mean, effective_labels=30.0, tuning=0.5),), unusual)
    )

    for sentence in ("it can exceed the number of all users", "with a lambda of 0 the estimate"):
        assert (sentence in explained, sentence in usual) == (True, False)


def test_frames_hold_means_and_differences() -> None:
    models, truth = drawn(np.random.default_rng(9), 60, 20, noise=0.2)

    result = estimated(models, truth)

    assert result.to_frame()["model"].to_list() == ["bm25", "dense"]
    assert result.pairs["versus"].to_list() == ["bm25"]
    assert result.to_dict()["agreement"]["n_documents"] == 160
