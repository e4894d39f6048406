"""`cc.compare`: the same result for all types of input, and messages that name the argument."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import concord as cc
from concord.metrics_core.results.stored import to_content
from concord.reports.markdown import render_markdown
from tests.metrics_core.defined import defined

USERS = [f"u{n:02}" for n in range(40)]
ITEMS = [f"i{n}" for n in range(12)]
TRUTH = {user: {ITEMS[n % 12]: 1, ITEMS[(n + 5) % 12]: 2} for n, user in enumerate(USERS)}


def _lists(back: int) -> dict[str, list[str]]:
    """Return lists with the first relevant item at rank 1, for three of four users `back` lower."""
    return {
        user: [ITEMS[(n - back * (n % 4 > 0) + position) % 12] for position in range(6)]
        for n, user in enumerate(USERS)
    }


MODELS: dict[str, Any] = {"near": _lists(0), "far": _lists(2), "twin": _lists(0)}
ARGUMENTS: dict[str, Any] = {
    "metrics": ["nDCG@5", "R@5"],
    "baseline": "far",
    "primary": ["nDCG@5"],
    "min_effect": "2%",
    "conventions": "standard",
    "resamples": 99,
    "panel": False,
}


def _frame(lists: dict[str, list[str]]) -> pl.DataFrame:
    rows = [
        (user, item, rank) for user, items in lists.items() for rank, item in enumerate(items, 1)
    ]
    return pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row")


TRUTH_FRAME = pl.DataFrame(
    [(user, item, grade) for user, items in TRUTH.items() for item, grade in items.items()],
    schema=["user", "item", "grade"],
    orient="row",
)


def _numbers(comparison: cc.results.Comparison) -> dict[str, Any]:
    """Return the content without paths and names of tables."""
    content = to_content(comparison)
    return {key: content[key] for key in content if key not in {"quality", "provenance"}}


@pytest.fixture(scope="module")
def comparison() -> cc.results.Comparison:
    return cc.compare(MODELS, TRUTH, **ARGUMENTS)


def test_means_are_those_of_evaluate_and_differences_those_of_their_means(
    comparison: cc.results.Comparison,
) -> None:
    for model, lists in MODELS.items():
        alone = cc.evaluate(lists, TRUTH, metrics=ARGUMENTS["metrics"], conventions="standard")
        for label in ARGUMENTS["metrics"]:
            assert comparison.score(model, label).mean == alone[label]
    for pair in comparison.pairs:
        of_a, of_b = (
            defined(comparison.score(model, pair.label).mean) for model in (pair.a, pair.b)
        )
        assert pair.difference == pytest.approx(of_a - of_b)


def test_frames_paths_and_dicts_give_the_same_comparison_and_stay_as_they_are(
    tmp_path: Path,
) -> None:
    frames = {model: _frame(lists) for model, lists in MODELS.items()}
    paths: dict[str, Path] = {}
    for model, frame in frames.items():
        paths[model] = tmp_path / f"{model}.parquet"
        frame.write_parquet(paths[model])
    del frames["twin"], paths["twin"]  # it would be the same file
    before = {model: frame.clone() for model, frame in frames.items()}
    TRUTH_FRAME.write_parquet(tmp_path / "truth.parquet")
    by_dict = _numbers(cc.compare({model: MODELS[model] for model in frames}, TRUTH, **ARGUMENTS))

    assert _numbers(cc.compare(frames, TRUTH_FRAME, **ARGUMENTS)) == by_dict
    assert _numbers(cc.compare(paths, tmp_path / "truth.parquet", **ARGUMENTS)) == by_dict
    assert _numbers(cc.compare({**frames, "far": str(paths["far"])}, TRUTH, **ARGUMENTS)) == by_dict
    pandas = {model: frame.to_pandas() for model, frame in frames.items()}
    assert _numbers(cc.compare(pandas, TRUTH_FRAME.to_arrow(), **ARGUMENTS)) == by_dict
    assert all(frames[model].equals(before[model]) for model in frames)


def test_row_order_changes_nothing() -> None:
    frames = {model: _frame(lists) for model, lists in MODELS.items()}
    turned = {
        model: frame.sample(fraction=1, shuffle=True, seed=3) for model, frame in frames.items()
    }

    assert _numbers(cc.compare(turned, TRUTH_FRAME.reverse(), **ARGUMENTS)) == _numbers(
        cc.compare(frames, TRUTH_FRAME, **ARGUMENTS)
    )


def test_the_first_metric_decides_where_none_is_named() -> None:
    requested = {
        key: value for key, value in ARGUMENTS.items() if key not in {"primary", "min_effect"}
    }
    comparison = cc.compare(MODELS, TRUTH, **requested)

    assert comparison.primary == ("nDCG@5",)
    assert comparison.metric("nDCG@5").min_effect == "0.0"


def test_segments_train_items_and_users_are_used() -> None:
    train = {user: [ITEMS[(n + 3) % 12]] * 1 for n, user in enumerate(USERS) if n % 2}
    users = pl.DataFrame({"user": USERS, "country": ["dk", "no"] * 20})
    comparison = cc.compare(
        MODELS,
        TRUTH,
        **{**ARGUMENTS, "metrics": ["nDCG@5", "Novelty@5", "Coverage@5"]},
        train=train,
        items={item: ["a" if n % 2 else "b"] for n, item in enumerate(ITEMS)},
        users=users,
        segments={
            "known": {"by": "activity", "edges": [0]},
            "country": {"by": "user", "column": "country"},
            "popular": {"by": "truth_item", "shares": [0.5, 0.8]},
        },
    )

    known, country, popular = comparison.segments
    assert [(s.name, s.n_users) for s in known.segments] == [("0", 20), ("over 0", 20)]
    assert [s.name for s in country.segments] == ["dk", "no"]
    assert popular.kind == "truth_item"
    assert {each.x for each in comparison.tradeoffs} == {"Novelty@5", "Coverage@5"}
    assert {pair.test for pair in comparison.pairs_of("Coverage@5")} == {"swap"}
    assert "truth_in_train" in comparison.checked


def test_users_of_the_truth_without_an_item_count_as_in_evaluate() -> None:
    truth: dict[str, Any] = {**TRUTH, "u99": {}}
    requested = {
        **ARGUMENTS,
        "conventions": cc.preset("standard", user_empty_truth="zero", user_both_empty="zero"),
    }
    comparison = cc.compare(MODELS, truth, **requested)
    alone = cc.evaluate(
        MODELS["near"], truth, metrics=["nDCG@5"], conventions=requested["conventions"]
    )

    assert comparison.score("near", "nDCG@5").mean == alone["nDCG@5"]
    assert comparison.score("near", "nDCG@5").n_users == 41


def test_columns_are_named_by_model_and_by_table() -> None:
    expected = {"user": "user_id", "item": "item_id"}
    lists = _frame(MODELS["near"]).rename(expected)
    truth = TRUTH_FRAME.rename({**expected, "grade": "rating"})
    comparison = cc.compare(
        {"near": lists, "far": MODELS["far"]},
        truth,
        **ARGUMENTS,
        columns={"near": expected, "truth": {**expected, "grade": "rating"}},
    )

    both = {model: MODELS[model] for model in ("near", "far")}
    assert _numbers(comparison) == _numbers(cc.compare(both, TRUTH, **ARGUMENTS))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"models": {}}, "models: "),
        ({"models": [MODELS["near"]]}, "models: "),
        ({"models": {"truth": MODELS["near"]}}, "models: "),
        ({"models": {"": {}}}, "models: "),
        ({"models": {"a\x1b[31m": MODELS["near"]}}, "models: "),
        ({"models": {"\ud800": MODELS["near"]}}, "models: "),
        ({"models": {**MODELS, "near": _frame(MODELS["near"]).with_columns(rank=pl.lit(1))}},
         "near: row 1 and row 2, column 'rank' (user 'u00'): rank 1 occurs twice in the list"),
        ({"min_effect": 2},
         "min_effect: is 2, and no two values of nDCG@5 are further apart than 1\n  fix: write 2%"),
        ({"min_effect": {"nDCG@5": 2, "default": "2%"}}, "min_effect.nDCG@5: is 2, and no two"),
        ({"min_effect": {"default": 2}}, "min_effect.default: is 2, and no two values of nDCG@5"),
        ({"users": pl.DataFrame({"user": USERS}),
          "segments": {"a": {"by": "user", "column": "contry"}}},
         "segments.a: users have no column 'contry'"),
        ({"baseline": "nearr"},
         "baseline: 'nearr' is not among the models\n  fix: did you mean 'near'?"),
        ({"primary": ["nDCG@10"]}, "primary: 'nDCG@10' is not evaluated"),
        ({"primary": "nDCG@5"}, "primary: is 'nDCG@5'\n  fix: write a list of labels"),
        ({"metrics": ["nDCG@5", "nDCG@5"]}, "metrics: names nDCG@5 more than once"),
        ({"metrics": ["nDGC@5"]}, "did you mean"),
        ({"min_effect": "2 percent"}, "min_effect: is '2 percent'"),
        ({"min_effect": {"R@5": 0.1}}, "min_effect: has no value for nDCG@5"),
        ({"confidence": 95}, "confidence: is 95\n  fix: write a number above 0.5, at most 0.9999"),
        ({"resamples": 10}, "resamples: is 10\n  fix: write a whole number from 99 to 1,000,000"),
        ({"seed": -1}, "seed: is -1"),
        ({"title": 3}, "title: is 3"),
        ({"panel": "no"}, "panel: is 'no'\n  fix: write True or False"),
        ({"baseline": 3}, "baseline: is 3"),
        ({"baseline": 0, "models": {"0": MODELS["near"], "1": MODELS["far"]}},
         "baseline: is 0\n  fix: write '0'"),
        ({"primary": [3]}, "primary: is [3]"),
        ({"min_effect": {3: 0.1, "default": 0.0}}, "min_effect: has the key 3"),
        ({"metrics": pl.Series(["nDCG@5"])}, "is not a list"),
        ({"segments": {"a": {"by": ["activity"]}}}, "segments.a: is {'by': ['activity']}"),
        ({"train": MODELS["near"], "segments": {"a": {"by": "truth_item", "shares": [-0.5, 1.5]}}},
         "segments.a: is"),
        ({"train": ""}, "train: is an empty path"),
        ({"users": {"u1": {"age": 1}}}, "users: is a dict"),
        ({"columns": {"recs": {"user": "u"}}}, "columns: 'recs': is not a table of this call"),
        ({"family": "pairs"}, "family: is 'pairs'\n  fix: write"),
        ({"tried": 0}, "tried: is 0\n  fix: write"),
        ({"tried": 1, "models": {**MODELS, "third": MODELS["near"]}},
         "tried: is 1, but 3 models are compared with the baseline\n  fix: write 3 or more"),
        ({"segments": {"a": {"by": "age"}}}, "segments.a: is {'by': 'age'}"),
        ({"segments": {"a": {"by": "activity", "edges": [0]}}},
         "segments.a: needs train, which is missing"),
        ({"segments": {"a": {"by": "user", "column": "c"}}},
         "fix: give `users`, or remove the entry"),
        ({"columns": {"nobody": {"grade": "x"}}}, "columns: 'nobody'"),
        ({"input": {"rank_base": 2}}, "input: rank_base: 2 is not a policy"),
        ({"conventions": {"preset": "standard", "relevance_threshold": 9}},
         "relevance_threshold: is 9, and the highest grade in truth is 2"),
    ],
)  # fmt: skip
def test_invalid_argument_is_refused_by_name(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        cc.compare(**{"models": MODELS, "truth": TRUTH, **ARGUMENTS, **change})

    assert message in str(refused.value)


@pytest.mark.parametrize(("min_effect", "verdict"), [(0.0, "better"), (0.99, "equivalent")])
def test_verdicts_follow_the_minimum_relevant_difference(min_effect: float, verdict: str) -> None:
    comparison = cc.compare(MODELS, TRUTH, **{**ARGUMENTS, "min_effect": min_effect})

    assert defined(comparison.difference("near", "far", "nDCG@5")).verdict == verdict


def test_labels_come_in_report_order_whatever_the_order_of_the_argument() -> None:
    labels = ("R@5", "nDCG@1", "nDCG@5", "RBP(p=0.8)@1", "RBP(p=0.8)@3", "RBP(p=0.5)@1")
    comparison = cc.compare(
        MODELS, TRUTH, **{**ARGUMENTS, "metrics": [labels[n] for n in (0, 2, 1, 4, 5, 3)]}
    )

    assert comparison.labels == labels


def test_documents_are_written_to_a_path_which_is_returned(
    comparison: cc.results.Comparison, tmp_path: Path
) -> None:
    page, table, text = comparison.to_html(), comparison.to_latex(), comparison.to_markdown()
    paths = [
        comparison.to_html(tmp_path / "a.html"),
        comparison.to_latex(str(tmp_path / "a.tex")),
        comparison.to_markdown(tmp_path / "a.md"),
    ]

    assert paths == [tmp_path / "a.html", tmp_path / "a.tex", tmp_path / "a.md"]
    assert [path.read_text(encoding="utf-8") for path in paths] == [page, table, text]
    assert page.startswith("<!doctype html>")
    assert "held in memory" in page
    assert r"\toprule" in table


def test_latex_table_has_letters_of_its_columns() -> None:
    comparison = cc.compare(MODELS, TRUTH, **{**ARGUMENTS, "metrics": ["nDCG@5", "R@3"]})
    primary = comparison.to_latex(metrics="nDCG@5")
    other = comparison.to_latex(metrics=["R@3"])

    assert _columns(primary) == {"nDCG@5"}
    assert "has the letters of the models" in primary
    assert _columns(other) == {"R@3"}
    assert "letters" not in other
    assert "$^{" not in other


def test_latex_table_has_the_primary_metrics_or_those_that_were_asked_for() -> None:
    labels = ["nDCG@5", "P@2", "R@3", "Hit@1", "AP@4"]  # at several cutoffs
    comparison = cc.compare(MODELS, TRUTH, **{**ARGUMENTS, "metrics": labels})
    many = cc.compare(
        MODELS,
        TRUTH,
        **{**ARGUMENTS, "metrics": [f"P@{k}" for k in range(1, 13)], "primary": ["P@1"]},
    )

    assert _columns(comparison.to_latex()) == {"nDCG@5"}
    assert "% \\usepackage{booktabs}; 4 other metrics: to_latex(metrics=comparison.labels)" in (
        comparison.to_latex()
    )
    assert _columns(comparison.to_latex(metrics=comparison.labels)) == set(labels)
    assert _columns(many.to_latex()) == {"P@1"}
    assert r"Model & P@12 $\uparrow$ & P@1 $" in many.to_latex(metrics=["P@12", "P@1"])
    with pytest.raises(cc.InputError, match="was not evaluated"):
        many.to_latex(metrics=["P@13"])


def _columns(table: str) -> set[str]:
    head = next(line for line in table.splitlines() if line.startswith("Model"))
    return {cell.split()[0] for cell in head.split("&")[1:]}


def test_markdown_is_the_short_report(comparison: cc.results.Comparison) -> None:
    assert comparison.to_markdown() == render_markdown(comparison)


def test_shown_comparison_names_notices_other_metrics_and_the_plan() -> None:
    graded = {"x": 2.0, "y": 3.0, "z": 40.0}
    truth = {user: dict.fromkeys(items, 5.0) | graded for user, items in TRUTH.items()}
    models = {"a": dict(MODELS["near"]), "b": dict(MODELS["near"])}
    for n, user in enumerate(USERS[:10]):
        models["ab"[n % 2]][user] = ["-", *MODELS["near"][user]]

    comparison = cc.compare(
        models, truth, metrics=["nDCG@5", "R@3", "P@3"], primary=["nDCG@5"], baseline="a"
    )

    (notice,) = [each for each in comparison.warnings if each.code == "all_relevant"]
    notes = [
        f"Notice: {notice.sentence} What to do: {notice.fix}.",
        "2 other metrics: `comparison.leaderboard`",
        "How many users would decide: `comparison.plan()`",
    ]
    assert str(comparison).splitlines()[-3:] == notes
    assert "How many users would decide: <code>comparison.plan()" in comparison._repr_html_()


def test_shown_comparison_includes_serious_warnings() -> None:
    unrelated = {
        user: [f"other-{item}" for item in items] for user, items in MODELS["near"].items()
    }
    comparison = cc.compare(
        {"near": MODELS["near"], "strange": unrelated}, TRUTH, **{**ARGUMENTS, "baseline": "near"}
    )

    warning = "Warning: Nearly all items of strange are in no other list and not in the training"
    assert any(line.startswith(warning) for line in repr(comparison).splitlines())
    assert "<li><b>Warning:</b> Nearly all items of strange" in comparison._repr_html_()
    fingerprint = comparison.conventions.fingerprint
    heading = f"2 models on nDCG@5; the baseline is near, conventions standard {fingerprint}"
    assert f"{heading}\nSuspicious: strange.\n" in repr(comparison)
    assert repr(comparison).startswith(warning)
