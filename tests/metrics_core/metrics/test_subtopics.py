"""Metrics of subtopics: worked examples, definitions in plain Python, and properties."""

import math
import random
from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import permutations, product
from operator import or_
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import concord as cc
from concord.metrics_core.metrics import custom_metric
from concord.metrics_core.metrics.subtopics import BEST_OVER_GREEDY
from concord.typing import TableColumns
from tests.parity.cases import diversity_qrels
from tests.parity.measure import stored

Judged = Mapping[str, Mapping[str, float]]  # item: {subtopic: grade}
COLUMNS: TableColumns = {"truth": {"subtopic": "subtopic"}}
METRICS = ["StRecall", "alpha_DCG", "alpha_nDCG", "ERR_IA", "nERR_IA", "NRBP", "nNRBP"]
log2 = math.log2


def _frame(users: Mapping[str, Judged]) -> pl.DataFrame:
    rows = [
        (user, item, subtopic, float(grade))
        for user, judged in users.items()
        for item, grades in judged.items()
        for subtopic, grade in grades.items()
    ]
    return pl.DataFrame(rows, ["user", "item", "subtopic", "grade"], orient="row")


def _values(listed: Sequence[str], judged: Judged, labels: Sequence[str], **options: Any) -> Any:
    conventions = cc.preset("standard", **options)
    result = cc.evaluate(
        {"q": list(listed)},
        _frame({"q": judged}),
        metrics=list(labels),
        conventions=conventions,
        columns=COLUMNS,
    )
    return dict(zip(labels, result.per_user.row(0)[1:], strict=True))


# Subtopics 1, 2 and 3. Greedy ideal list: a (gain 2), c (1/2 + 1), d (1/4 + 1/2), d before b.
JUDGED: Judged = {
    "a": {"1": 2, "2": 1},
    "b": {"2": 1, "3": 0},
    "c": {"2": 1, "3": 3},
    "d": {"2": 1, "1": 1},
    "e": {"3": 0},
}
# Gains of the list b, x, a, e, c: 1, 0, 1 + 1/2, 0, 1/4 + 1
LISTED = "bxaec"
WORKED = [
    ("StRecall@1", 1 / 3),
    ("StRecall@3", 2 / 3),
    ("StRecall", 3 / 3),
    ("StRecall(rel=2)@3", 1 / 2),  # a has subtopic 1 only, c has 3
    (
        "alpha_nDCG@3",
        (1 / log2(2) + 1.5 / log2(4)) / (2 / log2(2) + 1.5 / log2(3) + 0.75 / log2(4)),
    ),
    ("alpha_nDCG(alpha=0.25)@1", 1 / 2),
    (
        "alpha_nDCG(alpha=0.25)@3",
        (1 + (1 + 0.75) / log2(4)) / (2 + (1 + 0.75) / log2(3) + (0.75 + 0.75**2) / log2(4)),
    ),
    (
        "alpha_DCG@3",
        (1 / log2(2) + 1.5 / log2(4)) / (3 * (1 / log2(2) + 0.5 / log2(3) + 0.25 / log2(4))),
    ),
    ("alpha_nDCG(judged_only=true)@2", (1 + 1.5 / log2(3)) / (2 + 1.5 / log2(3))),  # b, a
    ("ERR_IA@3", (1 + 1.5 / 3) / (3 * (1 + 0.5 / 2 + 0.25 / 3))),
    (
        "ERR_IA",  # the whole list: 5 items
        (1 + 1.5 / 3 + 1.25 / 5) / (3 * (1 + 0.5 / 2 + 0.25 / 3 + 0.125 / 4 + 0.0625 / 5)),
    ),
    ("nERR_IA@3", (1 + 1.5 / 3) / (2 + 1.5 / 2 + 0.75 / 3)),
    ("NRBP", (1 - 0.5 * 0.5) / 3 * (1 + 1.5 * 0.5**2 + 1.25 * 0.5**4)),
    (
        "NRBP(alpha=0.5,beta=0.8)",
        (1 - 0.5 * 0.8) / 3 * (1 + 1.5 * 0.8**2 + 1.25 * 0.8**4),
    ),
    # the ideal list ends with b, whose subtopic 2 three items have: gain 1/8
    (
        "nNRBP",
        (1 + 1.5 * 0.5**2 + 1.25 * 0.5**4) / (2 + 1.5 * 0.5 + 0.75 * 0.5**2 + 0.125 * 0.5**3),
    ),
]


@pytest.mark.parametrize(("label", "expected"), WORKED)
def test_worked_example(label: str, expected: float) -> None:
    assert _values(LISTED, JUDGED, [label])[label] == pytest.approx(expected, rel=1e-12)


def test_names_of_ir_measures_have_its_parameters() -> None:
    labels = ["alpha_nDCG@10", "alpha_DCG@10", "ERR_IA@10", "nERR_IA@10", "NRBP", "StRecall@10"]
    result = cc.evaluate(
        {"q": ["a"]}, _frame({"q": JUDGED}), metrics=[*labels, "nNRBP"], columns=COLUMNS
    )

    assert result.per_user.columns[1:] == [
        "alpha_nDCG(alpha=0.5)@10",
        "alpha_DCG(alpha=0.5)@10",
        "ERR_IA@10",
        "nERR_IA@10",
        "NRBP(alpha=0.5,beta=0.5)",
        "StRecall@10",
        "nNRBP(alpha=0.5,beta=0.5)",
    ]
    assert result["StRecall@10"] == 2 / 3


# The definitions in plain Python, of one user.


def _relevant(judged: Judged, threshold: float | None) -> dict[str, set[str]]:
    """Return the subtopics that each relevant item is relevant to."""
    items = {
        item: {s for s, grade in grades.items() if threshold is None or grade >= threshold}
        for item, grades in judged.items()
    }
    return {item: subtopics for item, subtopics in items.items() if subtopics}


def _gains(listed: Sequence[str], relevant: Mapping[str, set[str]], alpha: float) -> list[float]:
    """Return the gain at each rank: later copies of an item have none."""
    seen: list[str] = []
    gains = []
    for rank, item in enumerate(listed):
        new = relevant.get(item, set()) if item not in listed[:rank] else set()
        gains.append(math.fsum((1 - alpha) ** seen.count(subtopic) for subtopic in new))
        seen += new
    return gains


def _greedy(relevant: Mapping[str, set[str]], alpha: float) -> list[float]:
    """Return the gains of the list that takes the item of the highest gain, then of highest id."""
    ideal: list[str] = []
    while len(ideal) < len(relevant):
        others = [item for item in relevant if item not in ideal]
        gain = {item: round(_gains([*ideal, item], relevant, alpha)[-1], 12) for item in others}
        ideal.append(max(others, key=lambda item: (gain[item], item)))
    return _gains(ideal, relevant, alpha)


def _sum(gains: Sequence[float], k: int, weight: Any) -> float:
    return math.fsum(gain * weight(rank) for rank, gain in enumerate(gains[:k], 1))


def definitions(
    listed: Sequence[str], relevant: Mapping[str, set[str]], k: int, alpha: float, beta: float
) -> dict[str, float]:
    """Return the value of each metric for a user with a relevant item."""
    subtopics = reduce(or_, relevant.values())
    log_weight, reciprocal = (lambda rank: 1 / log2(rank + 1)), (lambda rank: 1 / rank)
    gains, ideal = _gains(listed, relevant, alpha), _greedy(relevant, alpha)
    halves, ideal_halves = _gains(listed, relevant, 0.5), _greedy(relevant, 0.5)
    all_at_each = [len(subtopics) * (1 - alpha) ** n for n in range(k)]
    all_halves = [len(subtopics) * 0.5**n for n in range(k)]
    covered = subtopics & set().union(*(relevant.get(item, ()) for item in listed[:k]))
    geometric = lambda rank: beta ** (rank - 1)  # noqa: E731
    rbp, n = _sum(gains, len(gains), geometric), len(ideal)
    return {
        f"StRecall@{k}": len(covered) / len(subtopics),
        f"alpha_DCG(alpha={alpha})@{k}": _sum(gains, k, log_weight)
        / _sum(all_at_each, k, log_weight),
        f"alpha_nDCG(alpha={alpha})@{k}": _sum(gains, k, log_weight) / _sum(ideal, k, log_weight),
        f"ERR_IA@{k}": _sum(halves, k, reciprocal) / _sum(all_halves, k, reciprocal),
        f"nERR_IA@{k}": _sum(halves, k, reciprocal) / _sum(ideal_halves, k, reciprocal),
        f"NRBP(alpha={alpha},beta={beta})": (1 - (1 - alpha) * beta) * rbp / len(subtopics),
        f"nNRBP(alpha={alpha},beta={beta})": rbp / _sum(ideal, n, geometric),
    }


ITEMS = [*"abcdefgh", "10", "9"]


@st.composite
def judgements(draw: st.DrawFn) -> Judged:
    """Items with grades for up to four subtopics."""
    grades = st.dictionaries(st.sampled_from("stuv"), st.sampled_from([0, 1, 2]), min_size=1)
    return draw(st.dictionaries(st.sampled_from(ITEMS), grades, min_size=1, max_size=8))


lists = st.lists(st.sampled_from([*ITEMS, "x", "y"]), min_size=1, max_size=9)


@given(
    users=st.lists(st.tuples(lists, judgements()), min_size=1, max_size=4),
    k=st.integers(1, 6),
    alpha=st.sampled_from([0.5, 0.25, 0.3, 0.9]),
    beta=st.sampled_from([0.5, 0.8]),
    options=st.sampled_from([*product([1, 2, None], ["all", "retrieved"])]),
)
def test_values_equal_the_definitions(
    users: list[tuple[list[str], Judged]],
    k: int,
    alpha: float,
    beta: float,
    options: tuple[float | None, Any],
) -> None:
    (threshold, visible), expected = options, {}
    for number, (listed, judged) in enumerate(users):
        relevant = _relevant(judged, threshold)
        if visible == "retrieved":
            relevant = {item: each for item, each in relevant.items() if item in listed}
        if relevant:
            expected[f"u{number}"] = definitions(listed, relevant, k, alpha, beta)
    labels = list(definitions("a", {"a": {"s"}}, k, alpha, beta))
    names = [f"u{number}" for number in range(len(users))]
    pinned = cc.preset(
        "standard",
        relevance_threshold=threshold,
        truth_visible=visible,
        duplicates="keep",
        ties="given",
    )
    result = cc.evaluate(
        dict(zip(names, (listed for listed, _ in users), strict=True)),
        _frame(dict(zip(names, (judged for _, judged in users), strict=True))),
        metrics=labels,
        conventions=pinned,
        columns=COLUMNS,
        input={"unknown_items": "keep"},
    )

    for user, *values in result.per_user.rows():
        if user in expected:
            assert values == pytest.approx(list(expected[user].values()), abs=1e-12)
        else:
            assert all(map(math.isnan, values))


def test_the_greedy_ideal_is_that_of_the_highest_id_and_can_be_beaten() -> None:
    """Of three items with gain 2, greedy takes c: {2, 3}. a: {1, 2} and b: {3, 4} gain more."""
    judged = {"a": {"1": 1, "2": 1}, "b": {"3": 1, "4": 1}, "c": {"2": 1, "3": 1}}
    (value,) = _values("ab", judged, ["alpha_nDCG@2"]).values()

    assert value == pytest.approx((2 + 2 / log2(3)) / (2 + 1.5 / log2(3)))


@given(judged=judgements(), alpha=st.sampled_from([0.5, 0.9]), k=st.integers(1, 4))
def test_no_list_has_more_than_the_bound(judged: Judged, alpha: float, k: int) -> None:
    some = dict(list(judged.items())[:5])
    relevant = _relevant(some, 1)
    values = [
        definitions(order, relevant, k, alpha, 0.8) for order in permutations(relevant) if order
    ]

    assert all(each <= BEST_OVER_GREEDY for value in values for each in value.values())


@given(listed=lists, judged=judgements(), seed=st.integers(0, 99))
def test_names_of_subtopics_and_the_order_of_rows_change_no_bit(
    listed: list[str], judged: Judged, seed: int
) -> None:
    draw = random.Random(seed)
    names = dict(zip("stuv", draw.sample("abcdefgh", 4), strict=True))
    labels = [f"{name}(alpha=0.3)@3" for name in ("alpha_DCG", "alpha_nDCG")]
    labels += ["NRBP(alpha=0.3,beta=0.7)", "ERR_IA@3", "StRecall@3"]
    frame = _frame({"q": judged}).with_columns(pl.col("grade").clip(1))
    renamed = frame.with_columns(pl.col("subtopic").replace(names)).sample(
        fraction=1, shuffle=True, seed=seed
    )

    first, second = (
        cc.evaluate(
            {"q": listed},
            each,
            metrics=labels,
            conventions=cc.preset("standard", duplicates="first"),
            columns=COLUMNS,
        ).per_user.row(0)
        for each in (frame, renamed)
    )

    assert [repr(value) for value in first] == [repr(value) for value in second]


def test_other_metrics_read_the_highest_grade() -> None:
    labels = ["nDCG@3", "P@3", "AP", "Bpref"]
    highest = {item: max(grades.values()) for item, grades in JUDGED.items()}
    recs = {"q": list(LISTED)}

    with_subtopics = cc.evaluate(recs, _frame({"q": JUDGED}), metrics=labels, columns=COLUMNS)
    without = cc.evaluate(recs, {"q": highest}, metrics=labels)

    assert with_subtopics.per_user.equals(without.per_user)


def test_a_column_of_subtopics_is_read_only_if_it_is_named() -> None:
    one = _frame({"q": {"a": {"1": 1}, "b": {"2": 2}}})
    labels = ["nDCG@3"]

    named, unnamed = (
        cc.evaluate({"q": ["a"]}, one, metrics=labels, columns=columns)
        for columns in (COLUMNS, None)
    )
    assert named.per_user.equals(unnamed.per_user)
    with pytest.raises(ValueError, match="the item is judged more than once for the user; 4 rows"):
        cc.evaluate({"q": ["a"]}, _frame({"q": JUDGED}), metrics=labels)


def test_qrels_of_the_diversity_task_have_the_subtopic_in_the_second_field(
    tmp_path: Path,
) -> None:
    qrels = tmp_path / "diversity.qrels"
    lines = [
        f"q {subtopic} {item} {grade}\n"
        for item, grades in JUDGED.items()
        for subtopic, grade in grades.items()
    ]
    qrels.write_text("".join(lines), encoding="utf-8")
    columns: TableColumns = {"truth": {"subtopic": "iteration"}}

    from_file = cc.evaluate({"q": list(LISTED)}, qrels, metrics=METRICS_AT_3, columns=columns)

    assert dict(zip(METRICS_AT_3, from_file.per_user.row(0)[1:], strict=True)) == _values(
        LISTED, JUDGED, METRICS_AT_3
    )


METRICS_AT_3 = [name if "NRBP" in name else f"{name}@3" for name in METRICS]


@pytest.mark.parametrize("name", METRICS_AT_3)
def test_the_derivation_has_the_evaluated_value(name: str) -> None:
    derivation = cc.explain(
        {"q": list(LISTED)}, _frame({"q": JUDGED}), user="q", metric=name, columns=COLUMNS
    )

    assert derivation.value == _values(LISTED, JUDGED, [name])[name]


def test_alpha_ndcg_is_derived_as_by_hand() -> None:
    derivation = cc.explain(
        {"q": list(LISTED)}, _frame({"q": JUDGED}), user="q", metric="alpha_nDCG@3", columns=COLUMNS
    )

    assert derivation.summary.splitlines()[2:] == [
        "rank  item  grade  judged  adds",
        "1     b     1      hit     subtopics 2: 1 × 1",
        "2     x",
        "3     a     2      hit     subtopics 1, 2: 1.5 × 0.5",
        "sum = 1 × 1 + 1.5 × 0.5 = 1.75",
        "ideal sum = 2 × 1 + 1.5 × 0.63093 + 0.75 × 0.5 = 3.32139  (greedy)",
        "alpha_nDCG = 1.75 / 3.32139",
        "alpha_nDCG(alpha=0.5)@3 = 0.526887",
    ]


def test_a_metric_of_subtopics_without_subtopics_is_refused() -> None:
    with pytest.raises(ValueError) as refused:
        cc.evaluate({"q": ["a"]}, {"q": ["a"]}, metrics=["StRecall@5", "P@5"])

    assert str(refused.value) == (
        "metrics: StRecall@5 reads subtopics, and the ground truth names none\n"
        "  fix: name the column of the subtopics, `iteration` in TREC qrels: "
        "`columns={'truth': {'subtopic': …}}`"
    )


def test_explain_without_subtopics_is_refused() -> None:
    with pytest.raises(ValueError, match="StRecall@5: needs the subtopics of the ground truth"):
        cc.explain({"q": ["a"]}, {"q": ["a"]}, user="q", metric="StRecall@5")


@pytest.fixture
def _no_other_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(custom_metric, "_registry", custom_metric.Registry())


@pytest.mark.usefixtures("_no_other_metrics")
def test_custom_metrics_read_subtopics() -> None:
    @cc.metric(high=float("inf"), subtopics=True)
    def subtopicsFound(lists: cc.metrics.Judged, k: int | None) -> Any:  # noqa: N802
        """subtopicsFound@k = distinct subtopics of the user in the top k."""
        rows = lists.hit_subtopics
        top = rows.select(lists.within(k)[rows.row])
        pairs = {*zip(lists.hit_user[top.row].tolist(), top.name.tolist(), strict=True)}
        return np.bincount([user for user, _ in pairs], minlength=lists.n_users)

    assert _values(LISTED, JUDGED, ["subtopicsFound@3"]) == {"subtopicsFound@3": 2}


@pytest.mark.usefixtures("_no_other_metrics")
def test_a_custom_metric_that_names_no_subtopics_cannot_read_them() -> None:
    @cc.metric()
    def undeclared(lists: cc.metrics.Judged, k: int | None) -> Any:
        """undeclared@k = 0."""
        return lists.hit_subtopics

    with pytest.raises(ValueError, match="register the metric with `subtopics=True`"):
        _values(LISTED, JUDGED, ["undeclared@3"])


@pytest.mark.parametrize("case", diversity_qrels(), ids=lambda case: case["name"])
def test_values_are_those_of_ndeval(case: dict[str, Any]) -> None:
    """Except at cutoff 1, where ndeval leaves out the divisor of two metrics."""
    arguments = {"alpha": f"alpha={case['alpha']}", "NRBP": f"alpha={case['alpha']},"}
    arguments["NRBP"] += f"beta={case['beta']}"
    rows = stored("pyndeval").filter(case=case["name"])
    rows = rows.filter(~pl.col("label").is_in(["ERR_IA@1", "alpha_DCG@1"]))
    labels = {label: _with_arguments(label, arguments) for label in rows["label"].unique()}
    qrels = pl.DataFrame(case["qrels"], ["user", "subtopic", "item", "grade"], orient="row")
    pinned = cc.preset("standard", relevance_threshold=case["rel"])

    result = cc.evaluate(
        case["lists"], qrels, metrics=list(labels.values()), conventions=pinned, columns=COLUMNS
    )

    values = {row["user"]: row for row in result.per_user.to_dicts()}
    compared = 0
    for label, user, value in rows.select("label", "user", "value").iter_rows():
        ours = values[user][labels[label]]
        if not math.isnan(ours):  # ndeval gives 0 or NaN where no item is relevant
            assert ours == pytest.approx(value, abs=1e-9), (label, user)
            compared += 1
    assert compared > 1000


def _with_arguments(label: str, arguments: Mapping[str, str]) -> str:
    name, _, k = label.partition("@")
    found = [text for part, text in arguments.items() if part in name]
    return name + (f"({found[-1]})" if found else "") + (f"@{k}" if k else "")
