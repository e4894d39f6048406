"""Charts: schema, colours, shapes, scales, room for names."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import altair as alt
import pytest
from altair.utils import schemapi

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.stored import from_content
from concord.reports.charts.bump import bump_chart
from concord.reports.charts.curves import (
    all_series,
    curve_chart,
    curve_labels,
    curve_stems,
    leader_changes,
)
from concord.reports.charts.differences import _band, difference_chart
from concord.reports.charts.gains import gain_chart
from concord.reports.charts.heatmap import pair_heatmap
from concord.reports.charts.history import history_chart
from concord.reports.charts.model_styles import model_styles
from concord.reports.charts.primitives import nice_ticks, shorten, spread, tick_digits
from concord.reports.charts.replicates import replicate_chart
from concord.reports.charts.segments import segment_chart, share_chart
from concord.reports.charts.svg import COLOURS
from concord.reports.charts.tradeoffs import entries as tradeoffs
from concord.reports.charts.tradeoffs import tradeoff_chart
from concord.reports.text.panel import entries
from concord.reports.text.segments import grids, shows_shares
from concord.reports.text.tables import fold_models
from tests.metrics_core.analyses.study_data import comparison_of
from tests.reports.samples import sample
from tests.reports.samples.sample_history import FIRST, HISTORY, standing
from tests.reports.samples.sample_replicates import replicate_sample

LABEL = "nDCG@10"


@pytest.fixture(scope="module")
def five() -> Comparison:
    return from_content(sample.five_models())


def _segments(five: Comparison, *, narrow: bool) -> str:
    entry = five.segments[0]
    return segment_chart(five, entry, grids(five, entry)[0], narrow=narrow)


def _shares(five: Comparison, *, narrow: bool) -> str:
    (entry,) = filter(shows_shares, five.segments)
    return share_chart(five, entry, grids(five, entry)[0], narrow=narrow)


CHARTS: dict[str, Callable[[Comparison], str]] = {
    "differences, narrow": lambda five: difference_chart(five, LABEL, narrow=True),
    "differences, wide": lambda five: difference_chart(five, LABEL, narrow=False),
    "curves": lambda five: curve_chart(five, "nDCG"),
    "pairs": lambda five: pair_heatmap(five, LABEL),
    "gains, narrow": lambda five: gain_chart(five, LABEL, narrow=True),
    "gains, wide": lambda five: gain_chart(five, LABEL, narrow=False),
    "segments, narrow": lambda five: _segments(five, narrow=True),
    "segments, wide": lambda five: _segments(five, narrow=False),
    "shares, narrow": lambda five: _shares(five, narrow=True),
    "shares, wide": lambda five: _shares(five, narrow=False),
    "trade-offs": lambda five: tradeoff_chart(five, tradeoffs(five)[0]),
    "definitions, narrow": lambda five: bump_chart(five, entries(five)[0], narrow=True),
    "definitions, wide": lambda five: bump_chart(five, entries(five)[0], narrow=False),
    "trainings": lambda _: replicate_chart(replicate_sample(), "nDCG@3", narrow=False),
    "history": lambda _: history_chart(HISTORY, "R@1", narrow=False),
}


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_passes_the_schema_and_uses_only_colours_that_follow_the_scheme(
    five: Comparison, name: str
) -> None:
    with schemapi.debug_mode(True):
        chart = CHARTS[name](five)

    root = ElementTree.fromstring(chart)
    colours = {element.get(paint) for element in root.iter() for paint in ("fill", "stroke")}
    assert colours - {None, "none", "transparent"} <= {light for light, _ in COLOURS.values()}
    assert "font-family" not in chart


def test_a_model_keeps_its_colour_when_the_order_of_merit_changes(five: Comparison) -> None:
    by_other_metric = replace(five, primary=("R@20", "nDCG@10"))
    colours = {line.model: line.colour for line in all_series(five)}
    assert colours == {line.model: line.colour for line in all_series(by_other_metric)}


def test_a_model_has_one_colour_in_report_and_history() -> None:
    names = ("popularity", "item-knn", "ease", "als")  # not in the order of merit
    comparison = comparison_of(dict(zip(names, (0.1, 0.2, 0.4, 0.3), strict=True)))
    label = comparison.primary[0]
    standings = tuple(standing(each, 0.2, None, label) for each in names)
    earlier = replace(FIRST, baseline=None, standings=standings[::-1])
    latest = replace(FIRST, baseline=names[0], standings=standings)
    history = replace(HISTORY, revisions=(earlier, latest))
    charts = {
        "trade-offs": [(each.model, each.colour) for each in all_series(comparison)],
        "history": strokes(history_chart(history, label, narrow=False)),
    }

    colours = {model: style.colour for model, style in model_styles(names, names[0]).items()}
    for chart, found in charts.items():
        assert set(found) == {(m, colours[m]) for m, _ in found}, chart
        assert len(dict(found)) >= len(names) - 1


def strokes(svg: str) -> list[tuple[str, str]]:
    marks = [
        each.attrib for each in ElementTree.fromstring(svg).iter() if "data-model" in each.attrib
    ]
    return [(mark["data-model"], mark["stroke"]) for mark in marks if "stroke" in mark]


def test_folded_models_leave_the_colours_of_others_alone() -> None:
    names = [f"model {n}" for n in range(40)]
    comparison = comparison_of({name: 0.1 + 0.01 * i for i, name in enumerate(names)})
    folded = fold_models(comparison, ())

    assert len(folded.models) < len(comparison.models)
    assert all_series(folded)[-1] == all_series(comparison)[-1]


def test_no_two_named_lines_share_colour_or_shape() -> None:
    many = from_content(sample.many_models())
    eight = replace(many, models=many.models[:8])
    named = [line for line in all_series(eight) if line.is_named]
    assert len({line.colour for line in named}) == len({line.shape for line in named}) == 8


def test_a_crowd_is_grey_but_for_the_best_and_the_baseline() -> None:
    comparison = from_content(sample.many_models())
    named = [line.model for line in all_series(comparison) if line.is_named]
    assert set(named) == {comparison.baseline, *comparison.compared_models[:3]}


def test_curves_are_of_primary_metrics_with_differences_at_several_cutoffs(
    five: Comparison,
) -> None:
    assert curve_stems(five) == ["nDCG", "R"]
    assert curve_stems(replace(five, primary=("Rprec", "R@20"))) == ["R"]
    assert curve_stems(from_content(sample.without_numbers())) == []


def test_a_metric_with_another_parameter_is_another_curve() -> None:
    content = sample.five_models()
    for key in ("metrics", "scores", "pairs"):
        strict = [
            {
                **row,
                "label": row["label"].replace("nDCG", "nDCG(rel=3)"),
                **({"stem": "nDCG(rel=3)"} if key == "metrics" else {}),
            }
            for row in content[key]
            if row["label"].startswith("nDCG@")
        ]
        content[key] += strict
    content["primary"] = ["nDCG@10", "nDCG(rel=3)@10"]
    comparison = from_content(content)

    assert curve_stems(comparison) == ["nDCG", "nDCG(rel=3)"]
    assert curve_labels(comparison, "nDCG(rel=3)") == {k: f"nDCG(rel=3)@{k}" for k in content["ks"]}
    assert "rel=3" not in curve_chart(comparison, "nDCG")


def test_a_curve_says_difference_interval_and_verdict_and_draws_points_without_intervals() -> None:
    content = sample.five_models()
    for row in content["pairs"]:
        if row["a"] == "als" and row["label"].startswith("nDCG@"):
            row.update(ci_low=None, ci_high=None, verdict="no_interval")
    chart = str(curve_chart(from_content(content), "nDCG"))

    assert re.search(r"ease, nDCG@5: \+0\.\d+ \(\+0\.\d+ to \+0\.\d+\), better<", chart)
    assert re.search(r"als, nDCG@5: \+0\.\d+, no interval<", chart)


@pytest.mark.parametrize(
    ("lead", "words"),
    [
        (0.5, "AP@20: popularity leads ({} against {} of ease, undecided)."),
        (0.004, "The same model leads at every k, or is behind by less than the minimum relevant "),
    ],
)
def test_another_leader_at_another_cutoff_is_said_if_its_lead_matters(
    lead: float, words: str
) -> None:
    content = sample.five_models()
    rows = {row["model"]: row for row in content["scores"] if row["label"] == "AP@20"}
    best = rows["ease"]["mean"]
    rows["ease"]["best"], rows["popularity"]["best"] = False, True
    rows["popularity"]["mean"] = best + lead
    for row in content["pairs"]:
        if row["label"] == "AP@20" and {row["a"], row["b"]} == {"ease", "popularity"}:
            row.update(verdict="undecided", min_effect=0.005)
    comparison = from_content(content)
    digits = comparison.decimals["AP@20"]

    assert words.format(f"{best + lead:.{digits}f}", f"{best:.{digits}f}") in leader_changes(
        comparison
    )


@pytest.mark.parametrize(
    ("content", "ticks"),
    [
        (sample.two_models(), ["\N{MINUS SIGN}0.5", "0", "+0.5"]),
        (sample.lower_is_better(), ["+0.5", "0", "\N{MINUS SIGN}0.5"]),
    ],
)
def test_better_is_to_the_right_also_where_lower_is_better(
    content: sample.Content, ticks: list[str]
) -> None:
    chart = gain_chart(from_content(content), LABEL, narrow=False)

    assert [text for text in texts(chart) if text in ticks] == ticks


def test_names_are_pushed_a_line_apart_and_stay_inside() -> None:
    positions = spread([10.0, 11.0, 12.0, 170.0, 175.0], 176)
    assert all(b - a >= 14 for a, b in pairwise(positions))
    assert positions == sorted(positions)
    assert positions[-1] <= 176
    assert spread([10.0, 60.0], 176) == [10.0, 60.0]
    assert spread([], 176) == []


def test_ticks_are_round_and_inside() -> None:
    assert nice_ticks(-0.012, 0.081, 6) == [0.0, 0.02, 0.04, 0.06, 0.08]
    assert tick_digits([0.0, 0.02]) == 2
    assert tick_digits([0.0, 0.005]) == 3
    assert tick_digits([0.0, 50.0]) == 0


def texts(svg: str) -> list[str]:
    every = (element.text or "" for element in ElementTree.fromstring(svg).iter())
    return [text for text in every if text.strip()]


def test_long_names_are_shortened_with_an_ellipsis() -> None:
    assert shorten("als", 5) == "als"
    assert shorten("two-tower", 5) == "two-…"


def test_the_band_of_small_differences_is_described_with_three_digits() -> None:
    band = _band(0.0039550294219, 1, alt.X("difference:Q"))

    assert next(iter(band.to_dict()["datasets"].values()))[0]["hover"] == "within ±0.00396"
