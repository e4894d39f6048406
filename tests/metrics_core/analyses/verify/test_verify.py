"""`concord.verify`: published means beside recomputed ones, and what explains the gaps."""

from pathlib import Path

import polars as pl
import pytest

import concord as cc
from concord.typing import ConventionOptions, PresetName

# u1: hits at ranks 1 and 3 of three relevant items; u2: a hit at rank 2 of one.
TRUTH: dict[str, dict[str, float]] = {
    "u1": {"a": 1, "c": 3, "x": 2},
    "u2": {"b": 2},
}
MODELS = {
    "als": {"u1": ["a", "b", "c"], "u2": ["a", "b", "c"]},
    "pop": {"u1": ["b", "a", "d"], "u2": ["b", "a", "d"]},
}


def published(*rows: tuple[str, str, str]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=["model", "metric", "value"], orient="row")


def printed_under(conventions: cc.metrics.Conventions, *labels: str) -> pl.DataFrame:
    results = {
        model: cc.evaluate(lists, TRUTH, metrics=labels, conventions=conventions)
        for model, lists in MODELS.items()
    }
    return published(
        *((model, label, f"{results[model][label]:.4f}") for model in MODELS for label in labels)
    )


def test_a_worked_example_of_two_denominators() -> None:
    """AP@2 of als: u1 (1/1) / min(2, 3) = 1/2, u2 (1/2) / 1 = 1/2; divided by 3, u1 has 1/3."""
    table = published(("als", "AP@2", "0.417"), ("als", "MRR@2", "0.75"), ("pop", "AP@2", "0.58"))

    result = cc.verify(MODELS, TRUTH, table)

    means = [(each.label, each.mean, each.agrees) for each in result.values]
    # pop: u1 (1/2) / 2 = 1/4 and u2 1; divided by 3, (1/6 + 1) / 2 = 0.583
    assert means == [("AP@2", 0.5, False), ("RR@2", 0.75, True), ("AP@2", 0.625, False)]
    ap = result.values[0].definitions[0]
    assert ap.mean == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert ap.changes["ap_denominator"] == "relevant"
    assert "amitness" in {each.preset for each in result.explanations}
    assert result.explanations[-1].changes == {"ap_denominator": "relevant"}
    assert result.explanations[-1].n_values == 3
    assert "All 3 means have a joint explanation: presets amitness, beir, cornac," in str(result)
    assert str(result).endswith(", or your conventions with ap_denominator: relevant.")


def test_an_agreeing_value_that_was_cut_off_is_marked() -> None:
    """R@3 of pop: u1 1/3, u2 1, so 2/3; it is 0.7 rounded, and 0.6 cut off."""
    rounded, cut = (
        cc.verify(MODELS, TRUTH, published(("pop", "R@3", text))) for text in ("0.7", "0.6")
    )

    assert [(each.agrees, each.values[0].is_cut) for each in (rounded, cut)] == [
        (True, False),
        (True, True),
    ]
    assert "cut off" not in str(rounded)
    assert "your conventions (cut off, not rounded)" in str(cut)


@pytest.mark.parametrize("preset", ["rectools", "lenskit", "spark_mllib"])
def test_one_preset_explains_the_whole_table(preset: PresetName) -> None:
    table = printed_under(cc.preset(preset), "P@5", "R@5", "AP@5", "nDCG@5")

    result = cc.verify(MODELS, TRUTH, table)

    assert not result.agrees
    assert result.explanations[0].n_values == len(table)
    complete = {each.preset for each in result.explanations}
    assert preset in complete
    gaps = [each for each in result.values if not each.agrees]
    assert all(complete & {*each.definitions[0].presets} for each in gaps)


@pytest.mark.parametrize(
    "changes",
    [{"relevance_threshold": 2}, {"relevance_threshold": 2, "gain": "binary"}],
)
def test_changes_explain_a_table_of_metrics_that_only_some_of_them_affect(
    changes: ConventionOptions,
) -> None:
    table = printed_under(cc.preset("standard", **changes), "P@3", "nDCG@3", "RR@3")

    best = cc.verify(MODELS, TRUTH, table).explanations[0]

    assert (best.preset, best.changes, best.n_values) == ("", changes, 6)


def test_a_misprint_leaves_the_explanation_of_the_other_means() -> None:
    table = printed_under(cc.preset("rectools"), "AP@5", "nDCG@5")
    table[1, "value"] = "0.9999"

    result = cc.verify(MODELS, TRUTH, table)

    assert result.values[1].definitions == ()
    best = result.explanations[0]
    assert (best.preset, best.n_values) == ("rectools", 3)
    assert "3 of 4 means have a joint explanation: preset rectools" in str(result)
    assert "No definition gives a mean marked `nothing`." in str(result)


def test_one_mean_is_explained_in_the_singular() -> None:
    table = printed_under(cc.preset("rectools"), "nDCG@5")[:1]

    assert "The mean is explained by preset" in str(cc.verify(MODELS, TRUTH, table))


def test_a_table_that_agrees_needs_no_explanation(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    printed_under(cc.preset("standard"), "P@2", "nDCG@2").write_csv(path)

    result = cc.verify(MODELS, TRUTH, path)

    assert result.agrees
    assert result.explanations == ()
    assert result.to_frame()["agrees"].to_list() == [True] * 4
    assert str(result).startswith("4 of 4 published means agree:")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("bpr", "P@2", "0.5")], "row 1: model: 'bpr' is not among the models"),
        ([("als", "P@2", "a half")], "row 1: 'a half' is not a number: write the number"),
        ([("als", "acc@2", "0.5")], "row 1: metric 'acc@2'"),
        ([("als", "Novelty@2", "0.5")], "verify covers metrics of lists and truth"),
        ([("als", "AP@2", "0.5"), ("als", "MAP@2", "0.6")], "AP@2 of 'als' occurs in two rows"),
        ([], "table: has no rows"),
    ],
)
def test_an_invalid_table_is_refused(rows: list[tuple[str, str, str]], message: str) -> None:
    with pytest.raises(cc.InputError, match=message):
        cc.verify(MODELS, TRUTH, published(*rows))


def test_a_column_is_missing_or_holds_numbers() -> None:
    with pytest.raises(cc.InputError, match="table: has no column value, only model, metric"):
        cc.verify(MODELS, TRUTH, published(("als", "P@2", "0.5")).drop("value"))
    with pytest.raises(cc.InputError, match=r"table: value: holds numbers, which have lost"):
        cc.verify(MODELS, TRUTH, published(("als", "P@2", "0.50")).cast({"value": pl.Float64}))


def test_the_table_names_presets_that_give_a_mean_with_null() -> None:
    table = printed_under(cc.preset("recbole", relevance_threshold=None), "F1@5")
    strict = cc.preset("standard", relevance_threshold=3)

    result = cc.verify(MODELS, TRUTH, table, conventions=strict)
    row = result.to_frame().row(0, named=True)
    best = result.values[0].definitions[0]

    assert row["presets_with_null"] == ["standard", "bellei", "amitness"]  # as recbole here
    assert row["presets_with_null"] == [*best.presets_with_null]
    assert row["changes"] == ["relevance_threshold: null", *best.change_texts[1:]]
