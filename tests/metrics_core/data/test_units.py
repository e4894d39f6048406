"""Requests as the unit of evaluation, through the library and through all stages."""

import math
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import t as student

import concord as cc
from concord.metrics_core.data.units import split_unit_id, unit_id, users_of_units
from concord.metrics_core.results.stored import read_comparison
from tests.library import (
    COMPARISON,
    assert_library_gives_the_same,
    assert_same_bits,
    evaluated_project,
)
from tests.project import params_refusal, run

UNIT = ["user", "session"]
N_USERS, N_ITEMS, K = 60, 40, 10
LABEL = f"R@{K}"
SKILLS = {"popularity": 0.0, "als": 0.2}
MEANS: tuple[Any, ...] = ("requests", "users")
UNIQUE_SESSION = pl.format("s{}-{}", "user", "session")


def sessions() -> list[tuple[int, int]]:
    """User u has 1 + u % 4 sessions, and every tenth one has twelve more."""
    return [(u, s) for u in range(N_USERS) for s in range(1 + u % 4 + 12 * (u % 10 == 9))]


def truth() -> pl.DataFrame:
    """Two items of each session."""
    rows = [
        (u, s, item)
        for u, s in sessions()
        for item in {(7 * u + 3 * s) % N_ITEMS, (11 * u + 5 * s + 1) % N_ITEMS}
    ]
    return pl.DataFrame(rows, schema=[*UNIT, "item"], orient="row")


def lists(model: str) -> pl.DataFrame:
    """Return ten items a session; a model with more skill ranks relevant items higher."""
    rng = np.random.default_rng(len(model))
    relevant = {(u, s): items for u, s, items in truth().group_by(UNIT).agg("item").iter_rows()}
    rows = []
    for session in sessions():
        scores = rng.random(N_ITEMS)
        scores[relevant[session]] += SKILLS[model]
        rows += [
            (*session, int(item), rank) for rank, item in enumerate(np.argsort(-scores)[:K], 1)
        ]
    return pl.DataFrame(rows, schema=[*UNIT, "item", "rank"], orient="row")


def train() -> pl.DataFrame:
    users = np.repeat(np.arange(N_USERS), 4)
    items = (users * users + np.tile([0, 1, 2, 17], N_USERS)) % N_ITEMS
    return pl.DataFrame({"user": users, "item": items}).unique()


def recalls(model: str) -> dict[int, list[float]]:
    """Return R@10 of every session of each user, computed by hand."""
    recommended, relevant = (
        {(u, s): set(items) for u, s, items in frame.group_by(UNIT).agg("item").iter_rows()}
        for frame in (lists(model), truth())
    )
    results: dict[int, list[float]] = {}
    for u, s in sessions():
        results.setdefault(u, []).append(
            len(recommended[u, s] & relevant[u, s]) / len(relevant[u, s])
        )
    return results


def pinned(mean: Any) -> cc.metrics.Conventions:
    return cc.preset("standard", unit_mean=mean)


def evaluate(model: str, mean: Any) -> cc.results.Evaluation:
    conventions = pinned(mean)
    return cc.evaluate(lists(model), truth(), metrics=[LABEL], conventions=conventions, unit=UNIT)


def compare(mean: Any, **settings: Any) -> cc.results.Comparison:
    options: dict[str, Any] = {"metrics": [LABEL], "baseline": "popularity", "resamples": 99}
    models = {model: lists(model) for model in SKILLS}
    return cc.compare(models, truth(), conventions=pinned(mean), unit=UNIT, **options | settings)


def jackknife(values: dict[int, list[float]], mean: str) -> tuple[float, float]:
    """Return the mean, and its standard error from the means without each user."""

    def mean_of(users: list[list[float]]) -> float:
        if mean == "users":
            return fmean(map(fmean, users))
        return fmean(value for sessions in users for value in sessions)

    users = list(values.values())
    total_mean, n = mean_of(users), len(users)
    means = [mean_of(users[:u] + users[u + 1 :]) for u in range(n)]
    error = math.sqrt((n - 1) / n * math.fsum((value - total_mean) ** 2 for value in means))
    return total_mean, error


@pytest.mark.parametrize("mean", MEANS)
def test_a_mean_has_the_error_of_a_jackknife_over_users(mean: Any) -> None:
    result = evaluate("als", mean)
    row = result.to_frame().row(0, named=True)
    whole, error = jackknife(recalls("als"), mean)

    assert result[LABEL] == pytest.approx(whole, abs=1e-14)
    assert (row["n_users"], row["n_requests"]) == (N_USERS, len(sessions()))
    half = (row["ci_high"] - row["ci_low"]) / 2
    if mean == "users":
        assert half == pytest.approx(student.ppf(0.975, N_USERS - 1) * error)
    else:
        assert 2.02 * error < half < 2.3 * error  # on fewer degrees of freedom than 59


@pytest.mark.parametrize("mean", MEANS)
def test_a_difference_is_clustered_by_user(mean: Any) -> None:
    actual, expected = recalls("als"), recalls("popularity")
    gaps = {u: [a - b for a, b in zip(actual[u], expected[u], strict=True)] for u in actual}
    whole, error = jackknife(gaps, mean)
    sums = [math.fsum(each) for each in gaps.values()]

    (row,) = compare(mean).differences.to_dicts()

    assert row["difference"] == pytest.approx(whole, abs=1e-14)
    assert row["n_users"] == N_USERS
    assert row["better"] == pytest.approx(fmean(gap > 0 for gap in sums))
    assert row["n_nonzero"] == sum(gap != 0 for gap in sums)
    t = (row["ci_high"] - row["ci_low"]) / 2 / error
    assert t == pytest.approx(student.ppf(0.975, N_USERS - 1)) or mean == "requests"
    assert t < 2.3


def test_per_user_has_the_columns_of_the_unit() -> None:
    result = evaluate("als", "users")
    results = {(int(u), int(s)): value for u, s, value in result.per_user.iter_rows()}
    expected = {
        (u, s): value for u, values in recalls("als").items() for s, value in enumerate(values)
    }

    assert result.per_user.columns == [*UNIT, LABEL]
    assert results == expected
    assert repr(result).startswith(f"{len(sessions())} requests of {N_USERS} users, conventions ")


def one_session() -> dict[str, Any]:
    """Return the arguments of compare with one session a user."""
    models = {model: lists(model).filter(pl.col("session") == 0) for model in SKILLS}
    return {"models": models, "truth": truth().filter(pl.col("session") == 0)}


@pytest.mark.parametrize("mean", MEANS)
def test_one_request_a_user_gives_the_bits_of_users(mean: Any) -> None:
    inputs = one_session()
    names = pl.col("user").cast(pl.String).str.zfill(3)  # users in the order of requests
    models = {model: frame.with_columns(names) for model, frame in inputs["models"].items()}
    relevant, known = inputs["truth"].with_columns(names), train().with_columns(names)
    options: dict[str, Any] = {
        "metrics": [LABEL, "nDCG@5", "P@5"],
        "baseline": "popularity",
        "resamples": 199,
        "train": known,
        "segments": {"activity": {"by": "activity", "edges": [3]}},
        "family": "all",
        "primary": [LABEL, "nDCG@5"],
        "wilcoxon": True,
    }
    users = cc.compare(models, relevant, conventions="standard", **options)
    requests = cc.compare(models, relevant, conventions=pinned(mean), unit=UNIT, **options)

    assert requests.leaderboard.drop("n_requests").equals(users.leaderboard)
    assert requests.differences.equals(users.differences)
    assert requests.segments == users.segments
    assert requests.best == users.best
    assert requests.distributions == users.distributions


def test_lists_of_a_user_are_swapped_together() -> None:
    """If all sessions of a user have the same lists, the test is that of users."""
    inputs, items = one_session(), {item: ["a"] for item in range(N_ITEMS)}
    five = pl.DataFrame({"session": range(5)})
    options: dict[str, Any] = {
        "metrics": [LABEL, f"Gini@{K}"],
        "baseline": "popularity",
        "items": items,
        "resamples": 199,
    }
    models = {model: frame.drop("session") for model, frame in inputs["models"].items()}
    users = cc.compare(models, inputs["truth"].drop("session"), conventions="standard", **options)
    requests = cc.compare(
        {model: frame.join(five, how="cross") for model, frame in models.items()},
        inputs["truth"].drop("session").join(five, how="cross"),
        conventions=pinned("requests"),
        unit=UNIT,
        **options,
    )
    by_user, by_request = (
        result.differences.filter(label=f"Gini@{K}").select("p", "n_users", "n_nonzero").row(0)
        for result in (users, requests)
    )

    assert by_request == by_user


@pytest.mark.parametrize("mean", MEANS)
def test_a_segment_has_the_means_of_its_own_requests(mean: Any) -> None:
    """A column of users says who has twelve more sessions."""
    kinds = ["many" if u % 10 == 9 else "few" for u in range(N_USERS)]
    users = pl.DataFrame({"user": range(N_USERS), "kind": kinds})
    comparison = compare(mean, users=users, segments={"kind": {"by": "user", "column": "kind"}})
    cells = {(cell.segment, cell.model): cell for cell in comparison.segments[0].cells}

    for kind, many in (("many", True), ("few", False)):
        values = {u: v for u, v in recalls("als").items() if (u % 10 == 9) == many}
        whole, error = jackknife(values, mean)
        cell = cells[kind, "als"]
        assert cell.mean == pytest.approx(whole, abs=1e-14)
        assert cell.n_users == len(values)
        assert cell.ci_high is not None
        assert (cell.ci_high - whole) / error > 1.98
    assert [segment.n_users for segment in comparison.segments[0].segments] == [54, 6]


def test_the_train_knows_the_users_of_requests() -> None:
    """Half of the items in the lists are in the user's train."""
    known = lists("als").filter(pl.col("rank") <= K / 2).select("user", "item").unique()
    comparison = compare("requests", train=known)
    sentences = {warning.code: warning.sentence for warning in comparison.warnings}
    share = lists("als").join(known, on=["user", "item"], how="semi").height / lists("als").height

    assert f"up to {100 * share:.3g}" in sentences["train_items_recommended"]
    assert "unrelated_train" not in sentences


def test_a_gate_sees_requests_that_a_model_lost() -> None:
    """Every user still has a session."""
    models = {
        "popularity": lists("popularity"),
        "als": lists("als").filter(pl.col("session") != 1),
    }
    comparison = cc.compare(
        models,
        truth(),
        metrics=[LABEL],
        baseline="popularity",
        conventions=cc.preset("standard", unit_mean="requests", user_no_recs="drop"),
        unit=UNIT,
        resamples=99,
        gate={"guardrails": {LABEL: 0.05}},
    )
    lost = sum(s == 1 for _, s in sessions())
    assert comparison.gate is not None
    (guardrail,) = comparison.gate.models[0].guardrails

    assert (guardrail.n_lost, guardrail.n_requests) == (lost, len(sessions()) - lost)
    assert guardrail.outcome == "undecided"
    assert (
        f"{lost} of the {len(sessions())} requests that have a value with the reference "
        "have none with the model"
    ) in guardrail.why
    assert comparison.differences["n_users"].item() == N_USERS
    assert any(
        "do not have values for the same requests" in sentence for sentence in comparison.verdicts
    )


@pytest.mark.parametrize("mean", MEANS)
def test_results_are_planned_by_user(mean: Any) -> None:
    results = {model: evaluate(model, mean) for model in SKILLS}
    (of_values,) = cc.plan(results, baseline="popularity").differences
    (of_comparison,) = cc.plan(compare(mean)).differences

    assert of_values.n_users == N_USERS
    assert of_values.sd == pytest.approx(of_comparison.sd)
    users = cc.evaluate({"1": ["a"]}, {"1": ["a"]}, metrics=[LABEL], conventions="standard")
    with pytest.raises(ValueError, match="als has unit_mean None"):
        cc.plan(results | {"als": users}, baseline="popularity")


def test_a_request_is_explained_by_its_id_or_by_its_parts() -> None:
    options: dict[str, Any] = {"metric": LABEL, "conventions": pinned("users"), "unit": UNIT}
    selected, reported = (
        cc.explain(lists("als"), truth(), user=user, **options) for user in ((9, 3), "9/3")
    )

    assert selected.value == reported.value == recalls("als")[9][3]
    assert f"{LABEL} of user '9/3'" in selected.summary


def test_cases_are_of_requests_and_know_their_user() -> None:
    train = truth().select("user").unique().with_columns(item=pl.lit("old"))
    models = {model: lists(model) for model in SKILLS}
    options: dict[str, Any] = {
        "model": "popularity",
        "versus": "als",
        "metrics": [LABEL],
        "train": train,
    }
    cases = cc.cases(models, truth(), conventions=pinned("requests"), unit=UNIT, **options)

    assert (cases.who, cases.n_users) == ("requests", len(sessions()))
    assert [case.n_train for case in cases.cases] == [1] * len(cases.cases)
    assert all("/" in case.user for case in cases.cases)
    with pytest.raises(ValueError, match="unit_mean: is requests, and no unit is named"):
        cc.cases(models, truth(), conventions=pinned("requests"), **options)


def test_an_audit_of_requests_is_refused() -> None:
    with pytest.raises(ValueError, match="unit_mean: the unit is a session"):
        cc.audit(
            {"als": lists("als")},
            truth(),
            train=truth(),
            metrics=[LABEL],
            conventions=pinned("users"),
        )


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_lists_may_be_of_any_form(form: str, tmp_path: Path) -> None:
    rows, path = lists("als"), tmp_path / f"lists.{form}"
    folded = rows.sort("rank").group_by(UNIT, maintain_order=True).agg(items="item")
    if form == "csv":
        rows.write_csv(path)
    elif form == "jsonl":
        folded.write_ndjson(path)
    else:
        folded.write_parquet(path)
    options: dict[str, Any] = {"metrics": [LABEL], "conventions": pinned("requests"), "unit": UNIT}
    relevant = truth().with_columns(pl.col(UNIT).cast(pl.String)) if form != "parquet" else truth()

    from_file = cc.evaluate(path, relevant, **options).to_frame()
    assert from_file.equals(cc.evaluate(rows, truth(), **options).to_frame())


UNUSUAL_IDS = ["a", "a/b", "a\\", "/", "\\/", "a b", "1"]


def test_request_ids_are_distinct_and_reversible() -> None:
    pairs = [(u, s) for u in UNUSUAL_IDS for s in UNUSUAL_IDS]
    ids = [unit_id(pair) for pair in pairs]

    assert len(set(ids)) == len(pairs)
    assert [tuple(split_unit_id(unit)) for unit in ids] == pairs
    assert users_of_units(pl.Series(ids)).to_list() == [u for u, _ in pairs]
    assert unit_id(("u1", "s7")) == "u1/s7"


def test_odd_ids_are_read_as_they_are() -> None:
    rows = [(u, s, "i") for u in UNUSUAL_IDS for s in UNUSUAL_IDS]
    frame = pl.DataFrame(rows, schema=[*UNIT, "item"], orient="row")
    ranked = frame.with_columns(rank=pl.lit(1))
    result = cc.evaluate(ranked, frame, metrics=["R@1"], conventions=pinned("users"), unit=UNIT)

    assert sorted(result.per_user.select(UNIT).rows()) == sorted((u, s) for u, s, _ in rows)
    assert result.n_users == len(UNUSUAL_IDS)


STEPS = pl.DataFrame(
    [("ann", "s1", 1, "b"), ("ann", "s1", 2, "c"), ("bob", "s1", 1, "b")],
    schema=["user", "session", "step", "item"],
    orient="row",
)


def test_each_next_item_of_a_session_may_be_a_request_of_its_own() -> None:
    """Two predictions in the session of ann, one in that of bob: RR 1/2, 1 and 1."""
    recommended = pl.DataFrame(
        [
            ("ann", "s1", 1, "a", 1),
            ("ann", "s1", 1, "b", 2),
            ("ann", "s1", 2, "c", 1),
            ("bob", "s1", 1, "b", 1),
        ],
        schema=["user", "session", "step", "item", "rank"],
        orient="row",
    )
    unit = ["user", "session", "step"]
    results = {
        mean: cc.evaluate(
            recommended, STEPS, metrics=["RR@10"], conventions=pinned(mean), unit=unit
        )
        for mean in MEANS
    }

    assert results["requests"]["RR@10"] == pytest.approx((1 / 2 + 1 + 1) / 3)
    assert results["users"]["RR@10"] == pytest.approx(((1 / 2 + 1) / 2 + 1) / 2)
    assert results["users"].per_user["step"].to_list() == ["1", "2", "1"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"recs": lists("als").drop("session")},
            "recs: column 'session': is missing; the columns are: user, item, rank\n"
            "  fix: add it where the table is made, or change `unit`",
        ),
        ({"truth": truth().drop("session")}, "truth: column 'session': is missing"),
        ({"recs": {"u": ["a"]}}, "recs: column 'session': is missing"),
        ({"truth": truth().with_columns(session=None)}, "truth: row 1, column 'session'"),
        ({"unit": ["session", "user"]}, "unit: is [session, user]"),
        ({"unit": ["user"]}, "unit: is [user]"),
        ({"unit": "user"}, "unit: 'user' is not a list of columns"),
        ({"unit": ["user", "item"]}, "unit: names 'item', which has another meaning"),
        ({"unit": ["user", "session", "session"]}, "unit: names a column twice"),
        ({"unit": []}, "conventions.unit_mean: is requests, and no unit is named"),
        (
            {"conventions": "standard"},
            "conventions.unit_mean: is missing, and the unit is a request",
        ),
        (
            {"conventions": {"preset": "standard", "unit_mean": "sessions"}},
            "unit_mean: is 'sessions'",
        ),
        (
            {
                "truth": truth().with_columns(user=pl.col("user") + 1, session=UNIQUE_SESSION),
                "recs": lists("als").with_columns(session=UNIQUE_SESSION),
            },
            "belongs to user '0' here and to user '1' in the ground truth",
        ),
    ],
)
def test_units_that_do_not_fit_are_refused(settings: dict[str, Any], message: str) -> None:
    options: dict[str, Any] = {
        "recs": lists("als"),
        "truth": truth(),
        "unit": UNIT,
        "conventions": pinned("requests"),
    }
    with pytest.raises(ValueError, match=r"fix: ") as refused:
        cc.evaluate(metrics=[LABEL], **options | settings)

    assert message in str(refused.value)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models, evaluated by request."""
    tables = {"truth": truth(), "train": train(), "items": pl.DataFrame({"item": range(N_ITEMS)})}
    changes = {
        "data.unit": UNIT,
        "evaluation.metrics": ["nDCG", "R", "Coverage@10"],
        "evaluation.ks": [10],
        "evaluation.rows_per_partition": 300,
        "comparison.primary": [LABEL, "nDCG@10"],
        "segments": {
            "activity": {"by": "activity", "edges": [3]},
            "relevant items": {"by": "truth_item", "shares": [0.5, 0.8]},
        },
        "conventions.unit_mean": "requests",
    }
    folder = tmp_path_factory.mktemp("units")
    return evaluated_project(folder, tables | {model: lists(model) for model in SKILLS}, changes)


@pytest.mark.whole
def test_stages_give_what_the_library_gives(project: Path) -> None:
    assert_library_gives_the_same(project)
    score = read_comparison(project / COMPARISON).score("als", LABEL)
    assert (score.n_users, score.n_requests) == (N_USERS, len(sessions()))
    assert score.mean == pytest.approx(jackknife(recalls("als"), "requests")[0])
    for page in ("report.md", "report.html"):
        text = (project / "results/report" / page).read_text(encoding="utf-8")
        assert f"{len(sessions())} requests of {N_USERS} users" in text
    explained = run(project, "concord", "explain", "--model", "als", "9/3", LABEL)
    assert f"{LABEL} = {recalls('als')[9][3]:g}" in explained


@pytest.mark.whole
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_engines_give_the_same_bits(project: Path, tmp_path: Path, engine: str) -> None:
    changes = {"evaluation.engine": engine, "evaluation.rows_per_partition": 5_000_000}
    assert_same_bits(project, tmp_path, changes, *SKILLS)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data.unit": []}, "conventions.unit_mean: is requests, and no unit is named"),
        ({"data.unit": ["session", "user"]}, "data.unit: is ['session', 'user']"),
        ({"conventions.unit_mean": "sessions"}, "conventions.unit_mean: is 'sessions'"),
    ],
)  # fmt: skip
def test_params_that_do_not_fit_are_refused(
    project: Path, change: dict[str, Any], message: str
) -> None:
    assert message in params_refusal(project, change)
