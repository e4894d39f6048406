"""The charts of a study: heat map of models by data sets, mean ranks, forest of differences over data sets."""

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.study import Cell, Pair, ShrunkDifference, Study
from concord.reports.charts.primitives import (
    COLOUR,
    HOVER,
    Row,
    Rows,
    axis,
    padded,
    plot_width,
    row_axes,
    scale,
    shortened,
    tag,
    text,
    values,
    x_at,
    y_at,
)
from concord.reports.charts.svg import light, picture
from concord.reports.text import numbers
from concord.reports.text.numbers import signed, signed_interval
from concord.reports.text.study import digits, open_ranks, rank_text, similar_groups
from concord.reports.text.verdict_styles import VERDICTS

MAX_FOREST_MODELS = 8
_COLOUR_STEPS = 4  # of the heat map, each side
_MAX_COLUMNS, _MAX_COLUMNS_NARROW = 8, 4  # data sets in one heat map
_SMALL_BELOW = 70  # pixels of a column
_RANK_ROW, _BAR_ROW, _FOREST_ROW = 24, 12, 24  # pixels


def heatmap_charts(study: Study, label: str, *, narrow: bool) -> list[Markup]:
    """Return relative differences to the baseline, as many pictures as the data sets need."""
    names = [each.name for each in study.datasets]
    most = _MAX_COLUMNS_NARROW if narrow else _MAX_COLUMNS
    parts = [names[first : first + most] for first in range(0, len(names), most)]
    return [_heatmap(study, label, part, narrow=narrow) for part in parts]


def _heatmap(study: Study, label: str, names: list[str], *, narrow: bool) -> Markup:
    """Return models by mean rank, data sets in the order of the study; a cell shows the difference and open ranks."""
    models = study.ranked(label)
    width, height, left_margin = (350, 44, 92) if narrow else (940, 44, 150)
    most = min(_MAX_COLUMNS_NARROW if narrow else _MAX_COLUMNS, len(study.datasets))
    column_width = min((width - left_margin - 4) // most, 150)
    cells = study.cells_of(label)
    largest = max((abs(c.relative) for c in cells.values() if c.relative is not None), default=0)
    rows = [
        _heatmap_cell(study, cells[name, model], (j, i), largest, rank="" if narrow else "rank ")
        for i, model in enumerate(models)
        for j, name in enumerate(names)
    ]
    x = alt.X("column:Q", axis=None, scale=scale(-0.5, len(names) - 0.5))
    y = alt.Y("row:Q", axis=None, scale=scale(len(models) - 0.5, -0.5))
    sides = [
        {"row": i, "name": shortened(model, max(4, left_margin // 8))}
        for i, model in enumerate(models)
    ]
    heads = [
        {"column": j, "name": shortened(name, max(4, column_width // 7))}
        for j, name in enumerate(names)
    ]
    layers = [
        *_heatmap_layers(rows, x, y, column_width),
        text(sides, "name", 13, "ink", align="left").encode(x=x_at(-left_margin), y=y),
        text(heads, "name", 12, "ink-soft").encode(x=x, y=y_at(-12)),
    ]
    right = 4 + column_width * (most - len(names))  # as wide as the pictures above
    margins = {"left": left_margin, "right": right, "top": 30, "bottom": 4}
    title = f"{label}: relative difference to {study.baseline}, models by data sets"
    description = "; ".join(row["plain"] for row in rows)
    size = (column_width * len(names), height * len(models))
    return picture(layers, size, margins, title, description)


def _heatmap_cell(
    study: Study, cell: Cell, position: tuple[int, int], largest: float, *, rank: str
) -> Row:
    column, row = position
    share = None if cell.relative is None else cell.relative / largest if largest else 0.0
    is_higher_better = study.metric(cell.label).higher_is_better
    tone = "band" if not share else "better" if (share > 0) == is_higher_better else "worse"
    cell_text = "baseline" if cell.model == study.baseline else numbers.relative(cell.relative)
    plain = f"{cell.model} on {cell.dataset}: {cell_text}, {rank_text(cell)}"
    return {
        "column": column,
        "row": row,
        "left": column - 0.48,
        "right": column + 0.48,
        "top": row - 0.46,
        "bottom": row + 0.46,
        "tone": light(tone),
        "strength": 0.08 + 0.32 * round(_COLOUR_STEPS * abs(share)) / _COLOUR_STEPS if share else 1,
        "shown": cell_text.replace("\N{NO-BREAK SPACE}%", "%"),
        "ranks": "" if cell.rank is None else f"{rank}{open_ranks(cell)}",
        "plain": plain,
        "hover": tag(plain, cell.model),
    }


def _heatmap_layers(rows: list[Row], x: alt.X, y: alt.Y, column_width: int) -> list[alt.Chart]:
    number_size, rank_size = (11, 10) if column_width < _SMALL_BELOW else (13, 11)
    ground = values(rows).mark_rect(aria=True)
    return [
        ground.encode(
            x=alt.X("left:Q", axis=None),
            x2=alt.X2("right"),
            y=alt.Y("top:Q", axis=None),
            y2=alt.Y2("bottom"),
            fill=alt.Fill("tone:N", scale=None),
            opacity=alt.Opacity("strength:Q", scale=None),
            description=HOVER,
        ),
        text(rows, "shown", number_size, "ink", fontWeight=600, dy=-6).encode(x=x, y=y),
        text(rows, "ranks", rank_size, "ink-soft", dy=9).encode(x=x, y=y),
    ]


def rank_chart(study: Study, label: str, *, narrow: bool) -> Markup:
    """Return models on an axis of mean ranks; bars join those that do not differ significantly.

    The best mean rank is leftmost; each model has a line of its own, so that no name covers another.
    """
    ranks = study.mean_ranks(label)
    groups = similar_groups(study, label)
    left_margin, width = (112, 178) if narrow else (180, 690)
    most = max(len(study.models), 2)
    head = 16 + _BAR_ROW * len(groups)
    height = head + _RANK_ROW * len(ranks) + 4
    points = [
        {
            "rank": rank,
            "at": head + _RANK_ROW * (i + 0.5),
            "top": 0,
            "name": shortened(model, 13 if narrow else 22),
            "shown": f"{rank:.2f}",
            "hover": tag(f"{model}: mean rank {rank:.2f}", model),
        }
        for i, (model, rank) in enumerate(ranks.items())
    ]
    bars = [
        {
            "from": ranks[group[0]],
            "to": ranks[group[-1]],
            "at": 8 + _BAR_ROW * i,
            "hover": tag(f"no significant difference: {', '.join(group)}"),
        }
        for i, group in enumerate(groups)
    ]
    ticks = [float(n) for n in range(1, most + 1, max(1, most // 12))]
    x = alt.X(
        "rank:Q",
        scale=scale(1.0, float(most)),
        axis=axis(ticks, "format(datum.value, 'd')", grid=True),
    )
    y = alt.Y("at:Q", axis=None, scale=scale(height, 0))
    drop = values(points).mark_rule(color=light("line-strong"), strokeWidth=1)
    dots = values(points).mark_circle(size=90, color=light("accent"), opacity=1, aria=True)
    layers = [
        drop.encode(x=alt.X("rank:Q"), y=alt.Y("top:Q", axis=None), y2=alt.Y2("at")),
        dots.encode(x=x, y=y, description=HOVER),
        text(points, "name", 13, "ink", align="left").encode(x=x_at(-left_margin), y=y),
        text(points, "shown", 13, "ink", align="right", fontWeight=600).encode(
            x=x_at(width + 56), y=y
        ),
    ]
    if bars:
        rule = values(bars).mark_rule(
            color=light("even"), strokeWidth=5, strokeCap="round", aria=True
        )
        layers.append(rule.encode(x=alt.X("from:Q"), x2=alt.X2("to"), y=y, description=HOVER))
    margins = {"left": left_margin, "right": 60, "top": 8, "bottom": 30}
    description = "; ".join(f"{point['name']}: {point['shown']}" for point in points)
    title = f"{label}: mean ranks over {len(study.datasets)} data sets"
    return picture(layers, (width, height), margins, title, description)


def forest_chart(study: Study, label: str, *, narrow: bool) -> Markup:
    """Return the best models by mean rank: a line per data set, then the mean over data sets with its interval."""
    rows = _forest_rows(study, label)
    ends = [row[key] for row in rows for key in ("low", "high", "observed") if row[key] is not None]
    x, y = row_axes("value", padded([0.0, *ends]), len(rows), narrow=narrow)
    margins = {"left": 104, "right": 4} if narrow else {"left": 200, "right": 200}
    margins |= {"top": 6, "bottom": 30}
    width = plot_width(margins, narrow=narrow)
    layers = [
        *_forest_marks(rows, x, y),
        *_forest_texts(rows, y, margins["left"], width, narrow=narrow),
    ]
    title = f"{label}: differences to {study.baseline} over data sets"
    description = "; ".join(row["plain"] for row in rows if row["plain"])
    return picture(layers, (width, _FOREST_ROW * len(rows)), margins, title, description)


def _forest_rows(study: Study, label: str) -> list[Row]:
    decimals = digits(study, label)
    shrunk = study.shrunk_of(label)
    rows: list[Row] = []
    models = {each.model for each in shrunk}
    for model in [m for m in study.ranked(label) if m in models][:MAX_FOREST_MODELS]:
        dataset_rows = [each for each in shrunk if each.model == model]
        (pair,) = [p for p in study.pairs_of(label) if p.a == model and p.vs_baseline]
        rows += [_model_row(model), *(_dataset_row(each, decimals) for each in dataset_rows), _mean_row(pair, decimals)]  # fmt: skip
    return [row | {"row": i} for i, row in enumerate(rows)]


def _model_row(model: str) -> Row:
    numbers_of_none = dict.fromkeys(("value", "low", "high", "observed"))
    texts = {"kind": "model", "name": model, "written": "", "hover": "", "plain": ""}
    return {**numbers_of_none, **texts, "colour": light("ink")}


def _dataset_row(each: ShrunkDifference, decimals: int) -> Row:
    span = signed_interval(each.shrunk_low, each.shrunk_high, decimals)
    plain = (
        f"{each.model} on {each.dataset}: shrunk {signed(each.shrunk, decimals)} ({span}), "
        f"observed {signed(each.difference, decimals)}"
    )  # fmt: skip
    return {
        "kind": "dataset",
        "name": each.dataset,
        "value": each.shrunk,
        "low": each.shrunk_low,
        "high": each.shrunk_high,
        "observed": each.difference,
        "written": signed(each.shrunk, decimals),
        "hover": tag(plain, each.model),
        "plain": plain,
        "colour": light("open"),
    }


def _mean_row(pair: Pair, decimals: int) -> Row:
    verdict = VERDICTS[pair.verdict]
    span = signed_interval(pair.ci_low, pair.ci_high, decimals)
    plain = (
        f"{pair.a}, mean over data sets: {signed(pair.difference, decimals)} ({span}), "
        f"{verdict.word}"
    )  # fmt: skip
    return {
        "kind": "mean",
        "name": "all data sets",
        "value": pair.difference,
        "low": pair.ci_low,
        "high": pair.ci_high,
        "observed": None,
        "written": f"{signed(pair.difference, decimals)} {verdict.word}",
        "hover": tag(plain, pair.a),
        "plain": plain,
        "colour": light(verdict.tone),
    }


def _forest_marks(rows: list[Row], x: alt.X, y: alt.Y) -> list[alt.Chart]:
    visible_rows = [row for row in rows if row["value"] is not None]
    means = [row for row in visible_rows if row["kind"] == "mean"]
    dataset_rows = [row for row in visible_rows if row["kind"] == "dataset"]
    zero = values([{"zero": 0}]).mark_rule(color=light("ink-soft"), strokeWidth=1)
    line = values(visible_rows).mark_rule(strokeWidth=2, strokeCap="round", aria=True)
    observed = values(dataset_rows).mark_tick(color=light("ink-faint"), thickness=2, size=12)
    dots = values(dataset_rows).mark_circle(size=60, opacity=1, aria=True)
    diamonds = values(means).mark_point(shape="diamond", filled=True, size=150, opacity=1, aria=True)  # fmt: skip
    return [
        zero.encode(x=alt.X("zero:Q")),
        line.encode(x=alt.X("low:Q"), x2=alt.X2("high"), y=y, color=COLOUR, description=HOVER),
        observed.encode(x=alt.X("observed:Q"), y=y),
        dots.encode(x=x, y=y, color=COLOUR, description=HOVER),
        diamonds.encode(x=x, y=y, color=COLOUR, description=HOVER),
    ]


def _forest_texts(
    rows: Rows, y: alt.Y, left_margin: int, width: int, *, narrow: bool
) -> list[alt.Chart]:
    short_rows = [row | {"name": shortened(row["name"], 14 if narrow else 26)} for row in rows]
    models = [row for row in short_rows if row["kind"] == "model"]
    others = [row for row in short_rows if row["kind"] != "model"]
    layers = [
        text(models, "name", 14, "ink", align="left", fontWeight=600).encode(
            x=x_at(-left_margin), y=y
        ),
        text(others, "name", 12, "ink-soft", align="left").encode(x=x_at(-left_margin + 12), y=y),
    ]
    if not narrow:
        written = text(others, "written", 13, align="left", fontWeight=600)
        layers.append(written.encode(x=x_at(width + 16), y=y))
    return layers
