"""Charts: what a reader sees in them, colours, scales, room for names."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise
from math import log

import pytest

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
from concord.reports.charts.differences import difference_chart, replicate_chart
from concord.reports.charts.gains import gain_chart
from concord.reports.charts.history import history_chart
from concord.reports.charts.plots import nice_ticks, shorten, spread, tick_digits
from concord.reports.charts.segments import segment_chart, share_chart
from concord.reports.charts.svg import COLOURS, Chart, model_styles
from concord.reports.charts.tradeoffs import entries as tradeoffs
from concord.reports.charts.tradeoffs import tradeoff_chart
from concord.reports.study.chart import forest_chart, heatmap_charts
from concord.reports.text.panel import entries
from concord.reports.text.references import known
from concord.reports.text.segments import grids, shows_shares
from concord.reports.text.tables import against_baseline, fold_models, plot_rows
from concord.reports.text.verdict_styles import VERDICTS
from tests.metrics_core.analyses.study.study_data import comparison_of
from tests.reports.samples import sample
from tests.reports.samples.picture import Picture
from tests.reports.samples.sample_history import FIRST, HISTORY, standing
from tests.reports.samples.sample_references import MEANS, Means, with_references
from tests.reports.samples.sample_replicates import replicate_sample
from tests.reports.samples.sample_study import LABEL as STUDY_LABEL
from tests.reports.samples.sample_study import study

LABEL, RECALL = "nDCG@10", "R@20"


@pytest.fixture(scope="module")
def five() -> Comparison:
    return from_content(sample.five_models())


def _segments(comparison: Comparison, *, narrow: bool) -> str:
    entry = comparison.segments[0]
    return segment_chart(comparison, entry, grids(comparison, entry)[0], narrow=narrow)


def _shares(five: Comparison, *, narrow: bool) -> str:
    (entry,) = filter(shows_shares, five.segments)
    return share_chart(grids(five, entry)[0], narrow=narrow)


def _perhaps_less(comparison: Comparison) -> Comparison:
    """Return the comparison with the longest verdict for all pairs."""
    pairs = (replace(pair, verdict="better_below_threshold") for pair in comparison.pairs)
    return replace(comparison, pairs=tuple(pairs))


def _with_digits(comparison: Comparison) -> Comparison:
    """Return the comparison with the most decimals."""
    pairs = (replace(pair, min_effect=5e-6) for pair in comparison.pairs)
    return replace(comparison, pairs=tuple(pairs))


# Chance, most popular and best possible on R@20: the axis of differences to 0.561, the mean of the
# baseline, reaches from 0.269 to 0.885.
REFERENCES: dict[str, Means] = {
    "beyond both ends": (0.004, 0.2, 0.981),
    "beyond one end": (0.9, 0.95, 0.981),
    "on the axis": (0.3, 0.561, 0.85),
    "close together at the left": (0.275, 0.28, 0.285),
    "close together at the right": (0.86, 0.87, 0.88),
    "beyond the left end and close to it": (0.004, 0.275, 0.981),
    "with one unknown": (None, 0.4, 0.981),
}


def _with_references(name: str, five: Comparison, *, narrow: bool) -> str:
    comparison = with_references(five, {RECALL: REFERENCES[name]})
    return difference_chart(comparison, RECALL, narrow=narrow)


CHARTS: dict[str, Callable[[Comparison], str]] = {
    "differences, narrow": lambda five: difference_chart(five, LABEL, narrow=True),
    "differences, wide": lambda five: difference_chart(five, LABEL, narrow=False),
    "differences, left": lambda five: difference_chart(five, LABEL, "left", narrow=False),
    "differences, right": lambda five: difference_chart(five, LABEL, "right", narrow=False),
    "differences, perhaps less, right": lambda five: difference_chart(
        _perhaps_less(five), LABEL, "right", narrow=False
    ),
    "differences, many digits, right": lambda five: difference_chart(
        _with_digits(five), LABEL, "right", narrow=False
    ),
    "differences, references, right": lambda five: difference_chart(
        with_references(five, {RECALL: REFERENCES["on the axis"]}), RECALL, "right", narrow=False
    ),
    "differences, perhaps less, narrow": lambda five: difference_chart(
        _perhaps_less(five), LABEL, narrow=True
    ),
    "differences, perhaps less": lambda five: difference_chart(
        _perhaps_less(five), LABEL, narrow=False
    ),
    "differences, many digits": lambda five: difference_chart(
        _with_digits(five), LABEL, narrow=False
    ),
    "curves": lambda five: curve_chart(five, "nDCG"),
    "gains, narrow": lambda five: gain_chart(five, LABEL, narrow=True),
    "gains, wide": lambda five: gain_chart(five, LABEL, narrow=False),
    "segments, narrow": lambda five: _segments(five, narrow=True),
    "segments, wide": lambda five: _segments(five, narrow=False),
    "shares, narrow": lambda five: _shares(five, narrow=True),
    "shares, wide": lambda five: _shares(five, narrow=False),
    "trade-offs": lambda five: tradeoff_chart(five, tradeoffs(five)[0]),
    "trade-offs, lower is better": lambda five: tradeoff_chart(five, tradeoffs(five)[1]),
    "definitions, narrow": lambda five: bump_chart(five, entries(five)[0], narrow=True),
    "definitions, wide": lambda five: bump_chart(five, entries(five)[0], narrow=False),
    "trainings, narrow": lambda _: replicate_chart(replicate_sample(), "nDCG@3", narrow=True),
    "trainings, wide": lambda _: replicate_chart(replicate_sample(), "nDCG@3", narrow=False),
    "history, narrow": lambda _: history_chart(HISTORY, "R@1", narrow=True),
    "history, wide": lambda _: history_chart(HISTORY, "R@1", narrow=False),
    **{
        f"references {name}{', narrow' * narrow}": partial(_with_references, name, narrow=narrow)
        for name in REFERENCES
        for narrow in (False, True)
    },
    "study": lambda _: heatmap_charts(study(), STUDY_LABEL, narrow=False)[0],
    "forest": lambda _: forest_chart(study(), STUDY_LABEL, narrow=False),
}


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_has_texts_apart_from_each_other_and_colours_that_follow_the_scheme(
    five: Comparison, name: str
) -> None:
    markup = CHARTS[name](five)
    picture = Picture(markup)

    assert picture.colours <= {light for light, _ in COLOURS.values()}
    overlaps = [
        (a.text, b.text)
        for a, b in combinations(picture.texts, 2)
        if a.overlaps(b) and not (a.is_slanted or b.is_slanted)
    ]
    assert overlaps == []
    assert "font-family" not in markup
    assert not re.search(r"\d\.\d{3}", re.sub(r"<(title|desc)>.*?</\1>|>[^<]*<", "", markup))


def test_charts_are_beside_each_other_only_with_the_same_rows(five: Comparison) -> None:
    some = tuple(x for x in five.pairs if (x.a, x.b, x.label) != ("als", "popularity", RECALL))

    assert plot_rows(five) == [[LABEL, RECALL]]
    assert plot_rows(replace(five, pairs=some)) == [[LABEL], [RECALL]]


@pytest.mark.parametrize("narrow", [True, False])
def test_a_difference_is_where_its_axis_says(five: Comparison, *, narrow: bool) -> None:
    picture = Picture(difference_chart(five, LABEL, narrow=narrow))
    value_at = picture.horizontal_axis()

    for row in against_baseline(five, LABEL):
        mark = picture.mark(row.a)
        assert value_at(mark.x) == pytest.approx(row.difference, abs=0.002)
        assert [value_at(x) for x, _ in picture.line(row.a)] == pytest.approx(
            [row.ci_low, row.ci_high], abs=0.002
        )


@pytest.mark.parametrize("narrow", [True, False])
def test_every_row_has_the_mean_and_the_baseline_no_interval(
    five: Comparison, *, narrow: bool
) -> None:
    picture = Picture(difference_chart(five, LABEL, narrow=narrow))

    for model in five.ranked:
        mean = f"{five.score(model, LABEL).mean:.{five.decimals[LABEL]}f}"
        assert picture.texts_of(model, f"{model} {mean}" if narrow else mean)
    baseline = picture.mark(five.baseline)
    assert picture.horizontal_axis()(baseline.x) == pytest.approx(0.0, abs=1e-3)
    assert baseline.hover == "popularity: 0.262, baseline"
    assert [line for line in picture.lines_of(five.baseline) if len(line) > 1] == []
    (word,) = picture.texts_of(five.baseline, "baseline")
    assert word.y == pytest.approx(baseline.y)


@pytest.mark.parametrize("narrow", [True, False])
@pytest.mark.parametrize("name", REFERENCES)
def test_a_reference_is_a_line_where_the_axis_says_or_an_arrow_to_it(
    five: Comparison, name: str, *, narrow: bool
) -> None:
    """Best possible, 0.85, minus the baseline's mean, 0.561, is at +0.289."""
    comparison = with_references(five, {RECALL: REFERENCES[name]})
    without = Picture(difference_chart(five, RECALL, narrow=narrow))
    picture = Picture(difference_chart(comparison, RECALL, narrow=narrow))
    value_at, texts = picture.horizontal_axis(), {text.text for text in picture.texts}
    low, high = (without.horizontal_axis()(x) for x in (0, 350 - 4 if narrow else 540))
    mean = five.score(five.baseline, RECALL).mean
    assert mean is not None

    assert value_at(0) == pytest.approx(low)  # the axis is that without references
    for reference, value in known(comparison, RECALL).items():
        lines = picture.lines_of_hover(f"{reference} {value:.3f}: ")
        if low <= value - mean <= high:
            (_, top), *parts = lines  # the first line leads to the name
            ends = [top, *(end for part in parts for end in part)]
            assert reference in texts
            assert [value_at(x) - value + mean for x, _ in ends] == pytest.approx(
                [0] * len(ends), abs=0.002
            )
        else:
            arrow = f"← {reference}" if value - mean < low else f"{reference} →"
            assert (arrow in texts, lines) == (True, [])


def test_lines_of_a_reference_do_not_cross_the_texts_of_a_narrow_chart(five: Comparison) -> None:
    comparison = with_references(five, {RECALL: REFERENCES["on the axis"]})
    picture = Picture(difference_chart(comparison, RECALL, narrow=True))
    lines = [
        line
        for name, value in known(comparison, RECALL).items()
        for line in picture.lines_of_hover(f"{name} {value:.3f}: ")[1:]
    ]

    assert len(lines) == 3 * 4  # references on rows with marks
    assert not any(
        text.is_crossed_by(line) for text in picture.texts for line in lines if text.model
    )


def test_a_model_with_the_name_of_a_reference_is_not_confused_with_it(five: Comparison) -> None:
    names = {"random-walk": "chance", "als": "most popular", "ease": "best possible"}
    comparison = with_references(from_content(sample.renamed(sample.five_models(), names)))
    chart = difference_chart(comparison, LABEL, narrow=False)
    picture = Picture(chart)

    for name in names.values():
        assert len(picture.texts_of(name, name)) == 1
    assert picture.mark("chance").hover.startswith("chance: −0.0")
    assert picture.mark("chance").hover.endswith("worse")
    description = re.sub(".*<desc>|</desc>.*", "", chart).split("; ")
    assert [text for text in description if text.startswith("chance: 0.")] != []
    assert description[-3:] == [
        "reference chance: 0.004",
        "reference most popular: 0.176",
        "reference best possible: 0.981",
    ]


def test_a_metric_without_references_has_none_in_its_chart(five: Comparison) -> None:
    of_another_label = with_references(five, {"R@20": MEANS})

    assert difference_chart(of_another_label, LABEL, narrow=False) == difference_chart(
        replace(five, references=None), LABEL, narrow=False
    )


@pytest.mark.parametrize("narrow", [True, False])
def test_a_segment_has_its_value_beside_the_interval(five: Comparison, *, narrow: bool) -> None:
    entry = five.segments[0]
    grid = grids(five, entry)[0]
    picture = Picture(_segments(five, narrow=narrow))
    value_at = picture.horizontal_axis()

    for line in grid.lines:
        marks = picture.marks(line.model)
        shown = [cell for cell in line.cells if cell.value is not None]
        assert [value_at(mark.x) for mark in marks] == pytest.approx(
            [cell.value for cell in shown], abs=0.005
        )
        for mark, cell in zip(marks, shown, strict=True):
            (number,) = [t for t in picture.texts_of(line.model, cell.text) if t.y == mark.y]
            assert 0 <= value_at(number.left) - max(cell.high or 0.0, 0.0) < 0.1


def test_a_segment_names_a_verdict_that_is_not_that_over_all_users(five: Comparison) -> None:
    grid = grids(five, five.segments[0])[0]
    names = [text.text for text in Picture(_segments(five, narrow=False)).texts]

    for line in grid.lines:
        overall = five.difference(line.model, five.baseline, LABEL)
        assert overall is not None
        for cell in line.cells:
            is_other = cell.verdict != overall.verdict or "reversed" in cell.word
            assert (f"{line.model}, {cell.word}" in names) == is_other
        assert all(cell.verdict for cell in line.cells)
        assert f"{line.model}, {VERDICTS[overall.verdict].word}" not in names


@pytest.mark.parametrize("number", [0, 1])
def test_a_tradeoff_has_marks_where_its_axes_say(five: Comparison, number: int) -> None:
    entry = tradeoffs(five)[number]
    picture = Picture(tradeoff_chart(five, entry))
    x_at, y_at = picture.horizontal_axis(), picture.vertical_axis()

    assert {entry.x, entry.y} <= {text.text for text in picture.texts}
    for point in entry.points:
        mark = picture.mark(point.model)
        assert (x_at(mark.x), y_at(mark.y)) == pytest.approx((point.x, point.y), abs=0.01)
    for text in picture.texts:
        if text.model:
            assert not any(text.is_crossed_by(line) for line in picture.lines)


def test_definitions_with_equal_ranks_share_a_column(five: Comparison) -> None:
    entry = entries(five)[0]
    picture = Picture(bump_chart(five, entry, narrow=False))
    orders = [tuple(each.ranks[m] for m in entry.models) for each in entry.definitions]
    n_columns = 1 + sum(a != b for a, b in pairwise(orders))

    assert n_columns < len(orders)
    assert all(len(picture.marks(model)) == n_columns for model in entry.models)
    hovers = " ".join(mark.hover for mark in picture.marks(entry.models[0]))
    assert all(name in hovers for each in entry.definitions for name in (each.name, *each.presets))
    counts = [int(n) for t in picture.texts for n in re.findall(r" \+(\d+)$", t.text)]
    n_names = len({(i, n) for i, d in enumerate(entry.definitions) for n in (d.name, *d.presets)})
    assert sum(counts) + n_columns == n_names


def test_a_curve_runs_on_a_logarithmic_axis(five: Comparison) -> None:
    picture = Picture(curve_chart(five, "nDCG"))
    marks = picture.marks("ease")
    ks = list(curve_labels(five, "nDCG"))

    steps = [
        (b.x - a.x) / log(k2 / k)
        for (a, b), (k, k2) in zip(pairwise(marks), pairwise(ks), strict=True)
    ]
    assert steps == pytest.approx([steps[0]] * len(steps), rel=0.01)
    value_at = picture.vertical_axis()
    pair = five.difference("ease", five.baseline, f"nDCG@{ks[0]}")
    assert pair is not None
    assert value_at(marks[0].y) == pytest.approx(pair.difference, abs=0.005)


def test_texts_and_attributes_are_escaped_and_numbers_are_short() -> None:
    hostile = "\"'><script>&"
    chart = Chart(10, 10)
    with chart.group(hostile, hover=hostile):
        chart.text(1.23456, -0.001, hostile, 12, "ink")
    markup = chart.markup(hostile, hostile)

    assert markup.count("&#34;&#39;&gt;&lt;script&gt;&amp;") == 5
    assert 'x="1.23" y="4"' in markup


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
    history = Picture(
        history_chart(replace(HISTORY, revisions=(earlier, latest)), label, narrow=False)
    )
    styles = model_styles(names, names[0])

    assert {each.model: each.colour for each in all_series(comparison)} == {
        model: style.colour for model, style in styles.items()
    }
    for model, style in styles.items():
        assert {mark.colour for mark in history.marks(model)} == {COLOURS[style.colour][0]}


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
    picture = Picture(gain_chart(from_content(content), LABEL, narrow=False))
    from_left = sorted(picture.texts, key=lambda text: text.left)

    assert [text.text for text in from_left if text.text in ticks] == ticks


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


def test_long_names_are_shortened_with_an_ellipsis() -> None:
    assert shorten("als", 5) == "als"
    assert shorten("two-tower", 5) == "two-…"
