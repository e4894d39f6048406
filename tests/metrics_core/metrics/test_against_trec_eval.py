"""The same numbers as trec_eval (pytrec_eval, ir_measures) and gdeval (ir_measures)."""

import random
import shutil
from collections.abc import Iterable
from typing import Any

import ir_measures
import polars as pl
import pytest
import pytrec_eval

import concord as cc

approx = pytest.approx

Truth = dict[str, dict[str, int]]
Scores = dict[str, dict[str, float]]

KNOBS: dict[str, Any] = {
    "ties": "item_desc",
    "score_dtype": "float32",
    "ap_denominator": "relevant",
    "rr_cutoff": "none",
    "user_no_recs": "drop",
    "user_empty_truth": "zero",
    "user_both_empty": "drop",
}
IR_MEASURES = KNOBS | {"user_no_recs": "zero", "user_both_empty": "zero"}
# ours: theirs
BINARY = {
    "P@1": "P_1",
    "P@5": "P_5",
    "P@20": "P_20",
    "P": "set_P",
    "R@5": "recall_5",
    "R@20": "recall_20",
    "R": "set_recall",
    "F1": "set_F",
    "Hit@1": "success_1",
    "Hit@5": "success_5",
    "AP@5": "map_cut_5",
    "AP@20": "map_cut_20",
    "AP": "map",
    "RR": "recip_rank",
    "RR@1": "recip_rank",
    "Rprec": "Rprec",
}
GRADED = {"nDCG@1": "ndcg_cut_1", "nDCG@5": "ndcg_cut_5", "nDCG@20": "ndcg_cut_20", "nDCG": "ndcg"}
REQUESTED = {"P.1,5,20", "recall.5,20", "success.1,5", "map_cut.5,20", "ndcg_cut.1,5,20"} | {
    name for name in (*BINARY.values(), *GRADED.values()) if not name[-1].isdigit()
}


def _sample(*, ties: bool) -> tuple[Truth, Scores]:
    """Two hundred users: grades 0 to 3, lists of 1 to 25 items, some users without a list."""
    generator = random.Random(7)
    items = [f"i{number}" for number in range(40)]
    truth: Truth = {}
    scores: Scores = {}
    for user in (str(number) for number in range(100, 300)):
        judged = generator.sample(items, k=generator.randint(1, 25))
        truth[user] = {item: generator.choice([0, 0, 1, 2, 3]) for item in judged}
        if generator.random() < 0.9:
            listed = generator.sample(items, k=generator.randint(1, 25))
            distinct = generator.sample(range(1000), k=len(listed))
            tied = generator.choices([0.0, -1.0, 1.0, 1.0 + 1e-9], k=len(listed))
            given = tied if ties else [float(score) for score in distinct]
            scores[user] = dict(zip(listed, given, strict=True))
    return truth, scores


def _evaluate(truth: Truth, scores: Scores, labels: Iterable[str], **knobs: Any) -> cc.Result:
    rows = [(user, item, s) for user, listed in scores.items() for item, s in listed.items()]
    recs = pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")
    conventions = cc.preset("standard", **{**KNOBS, **knobs})
    return cc.evaluate(recs, truth, metrics=list(labels), conventions=conventions)


def _users(result: cc.Result, label: str) -> dict[str, float]:
    return dict(result.per_user.select("user", label).drop_nulls().iter_rows())


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("level", [1, 2])
def test_every_user_and_the_mean_equal_trec_eval(*, ties: bool, level: int) -> None:
    truth, scores = _sample(ties=ties)
    # trec_eval's nDCG has the gain of every positive grade, whatever its relevance level
    wanted = BINARY | (GRADED if level == 1 else {})

    ours = _evaluate(truth, scores, wanted, relevance_threshold=level)
    evaluator = pytrec_eval.RelevanceEvaluator(truth, REQUESTED, relevance_level=level)
    theirs = evaluator.evaluate(scores)

    for label, name in wanted.items():
        assert _users(ours, label) == approx({u: row[name] for u, row in theirs.items()}, abs=1e-9)
        mean = sum(row[name] for row in theirs.values()) / len(theirs)
        assert ours[label] == approx(mean, abs=1e-9)


def _theirs(truth: Truth, scores: Scores, label: str) -> tuple[dict[str, float], float]:
    measure = ir_measures.parse_measure(label)
    users = {row.query_id: row.value for row in ir_measures.iter_calc([measure], truth, scores)}
    return users, ir_measures.calc_aggregate([measure], truth, scores)[measure]


@pytest.mark.parametrize(
    ("label", "their_label"),
    [
        ("P@5", "P@5"),
        ("P(rel=2)@5", "P(rel=2)@5"),
        ("R@5", "R@5"),
        ("AP(rel=2)@20", "AP(rel=2)@20"),
        ("RR", "RR"),
        ("RR@3", "RR@3"),
        ("Rprec", "Rprec"),
        ("Hit(rel=3)@5", "Success(rel=3)@5"),
        ("nDCG@10", "nDCG@10"),
    ],
)
def test_every_user_and_the_mean_equal_ir_measures(label: str, their_label: str) -> None:
    truth, scores = _sample(ties=False)
    rr_cutoff = "k" if "@" in label else "none"

    ours = _evaluate(truth, scores, [label], **IR_MEASURES | {"rr_cutoff": rr_cutoff})
    users, mean = _theirs(truth, scores, their_label)

    assert _users(ours, label) == approx({user: users.get(user, 0) for user in truth}, abs=1e-9)
    assert ours[label] == approx(mean, abs=1e-9)


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval is a Perl script")
@pytest.mark.parametrize(
    ("label", "their_label"), [("ERR@5", "ERR@5"), ("nDCG@5", 'nDCG(dcg="exp-log2")@5')]
)
def test_every_user_equals_gdeval_in_the_five_decimals_it_prints(
    label: str, their_label: str
) -> None:
    truth, scores = _sample(ties=False)

    ours = _evaluate(truth, scores, [label], **IR_MEASURES | {"gain": "exp2"})
    users, _ = _theirs(truth, scores, their_label)

    half_a_unit = 0.5e-5 + 1e-9
    assert _users(ours, label) == approx(
        {user: users.get(user, 0) for user in truth}, abs=half_a_unit, rel=0
    )
