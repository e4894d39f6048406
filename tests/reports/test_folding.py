"""Reports of more than 30 models: pairs and charts show some of them, other tables all."""

import re

import numpy as np
import polars as pl
import pytest

import concord as cc
from concord.reports.page import render_html
from concord.reports.text.tables import fold_models, fold_note


def _compared(models: int) -> cc.results.Comparison:
    """Return a comparison in which the order on metric B is the reverse of that on metric A."""
    rng = np.random.default_rng(1)
    users, noise = [f"u{n}" for n in range(12)], rng.random(12) / 10
    values = {
        f"m{n:03}": pl.DataFrame(
            {
                "user": users,
                "A": noise + (models - n) / 100 + rng.random(12) / 99,
                "B": noise + n / 100,
            }
        )
        for n in range(models)
    }
    return cc.compare_values(values, baseline="m029", primary=["A", "B"], resamples=99)


@pytest.fixture(scope="module")
def many() -> cc.results.Comparison:
    return _compared(40)


def test_best_leaders_baseline_and_requested_models_are_shown(
    many: cc.results.Comparison,
) -> None:
    folded = fold_models(many, ["m035"])

    best = [f"m{n:03}" for n in range(15)]
    assert list(folded.models) == [*best, "m029", "m035", "m039"]
    assert len(folded.pairs_of("A")) == 17 + 16  # with the baseline, and with the leader
    assert folded.decimals == many.decimals
    assert fold_note(many, folded).startswith("18 of 40 models are shown here: the best 15 on A")


def test_up_to_30_models_nothing_is_folded() -> None:
    few = _compared(30)

    assert fold_models(few, ()) is few
    assert not fold_note(few, few)


def test_pairs_and_charts_are_folded_and_tables_are_not(many: cc.results.Comparison) -> None:
    page = render_html(many)

    parts = re.findall(r'<(section|header) id="(\w+)"[^>]*>(.*?)</\1>', page, re.DOTALL)
    sections = {name: text for _, name, text in parts}
    rows = {name: re.findall(r'<tr data-model="(m\d+)"', text) for name, text in sections.items()}
    assert set(rows["leaderboard"]) == set(many.models)
    assert set(rows["answer"]) == set(many.models) - {"m029"}
    assert len(set(rows["pairs"])) <= 17
    assert "17 of 40 models are shown here" in sections["pairs"]
    assert "m020" not in "".join(re.findall(r"<svg.*?</svg>", sections["answer"], re.DOTALL))
