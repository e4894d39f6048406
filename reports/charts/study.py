"""Charts of a study: heat map of models by data sets, forest plot of differences."""

from functools import partial

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.study import Cell, Pair, ShrunkDifference, Study
from concord.reports.charts.primitives import (
    COLOUR,
    HOVER,
    Row,
    Rows,
    interval_layer,
    padded_domain,
    plot,
    plot_width,
    row_axes,
    scale,
    shorten,
    tag,
    text_layer,
    x_at,
    y_at,
)
from concord.reports.charts.svg import light, render_svg
from concord.reports.text import numbers
from concord.reports.text.numbers import signed, signed_interval
from concord.reports.text.study import (
    digits,
    open_ranks,
    rank_text,
    undecided_reason,
)
from concord.reports.text.verdict_styles import VERDICTS

MAX_FOREST_MODELS = 8
_COLOUR_STEPS = 4  # of the heat map, on each side
_MAX_COLUMNS, _MAX_COLUMNS_NARROW = 8, 4  # data sets in one heat map
_MAX_COLUMN_WIDTH = 150  # pixels
_SMALL_BELOW = 70  # pixels of a column
_CELL_ROW, _FOREST_ROW = 44, 24  # pixels


def heatmap_charts(study: Study, label: str, *, narrow: bool) -> list[Markup]:
    """Return heat maps of relative differences to the baseline, for a few data sets each."""
    names = [each.name for each in study.datasets]
    n_columns = _MAX_COLUMNS_NARROW if narrow else _MAX_COLUMNS
    parts = [names[first : first + n_columns] for first in range(0, len(names), n_columns)]
    return [
        _heatmap(study, label, part, min(n_columns, len(names)), narrow=narrow) for part in parts
    ]


def _heatmap(study: Study, label: str, names: list[str], n_columns: int, *, narrow: bool) -> Markup:
    """Return the heat map of some data sets, models by mean rank, as wide as `n_columns`."""
    models = study.ranked(label)
    margins = {"left": 92 if narrow else 150, "right": 4, "top": 30, "bottom": 4}
    column_width = min(plot_width(margins, narrow=narrow) // n_columns, _MAX_COLUMN_WIDTH)
    cells = study.cells_of(label)
    largest = max((abs(c.relative) for c in cells.values() if c.relative is not None), default=0)
    rows = [
        _heatmap_cell(study, cells[name, model], (j, i), largest, rank="" if narrow else "rank ")
        for i, model in enumerate(models)
        for j, name in enumerate(names)
    ]
    x = alt.X("column:Q", axis=None, scale=scale(-0.5, len(names) - 0.5))
    y = alt.Y("row:Q", axis=None, scale=scale(len(models) - 0.5, -0.5))
    max_length = max(4, margins["left"] // 8)
    model_names = [{"row": i, "name": shorten(model, max_length)} for i, model in enumerate(models)]
    max_length = max(4, column_width // 7)
    heads = [{"column": j, "name": shorten(name, max_length)} for j, name in enumerate(names)]
    layers = [
        *_heatmap_layers(rows, x, y, column_width),
        text_layer(model_names, "name", 13, "ink", x=x_at(-margins["left"]), y=y, align="left"),
        text_layer(heads, "name", 12, "ink-soft", x=x, y=y_at(-12)),
    ]
    margins["right"] += column_width * (n_columns - len(names))
    title = f"{label}: relative difference to {study.baseline}, models by data sets"
    description = "; ".join(row["plain"] for row in rows)
    size = (column_width * len(names), _CELL_ROW * len(models))
    return render_svg(layers, size, margins, title, description)


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
        "text": cell_text,
        "ranks": "" if cell.rank is None else f"{rank}{open_ranks(cell)}",
        "plain": plain,
        "hover": tag(plain, cell.model),
    }


def _heatmap_layers(rows: list[Row], x: alt.X, y: alt.Y, column_width: int) -> list[alt.Chart]:
    number_size, rank_size = (11, 10) if column_width < _SMALL_BELOW else (13, 11)
    return [
        plot(rows)
        .mark_rect(aria=True)
        .encode(
            x=alt.X("left:Q", axis=None),
            x2=alt.X2("right"),
            y=alt.Y("top:Q", axis=None),
            y2=alt.Y2("bottom"),
            fill=alt.Fill("tone:N", scale=None),
            opacity=alt.Opacity("strength:Q", scale=None),
            description=HOVER,
        ),
        text_layer(rows, "text", number_size, "ink", x=x, y=y, fontWeight=600, dy=-6),
        text_layer(rows, "ranks", rank_size, "ink-soft", x=x, y=y, dy=9),
    ]


def forest_chart(study: Study, label: str, *, narrow: bool) -> Markup:
    """Return the forest plot of the best models: a row per data set, then the mean over them."""
    rows = _forest_rows(study, label)
    ends = [row[key] for row in rows for key in ("low", "high", "shrunk") if row[key] is not None]
    x, y = row_axes("value", padded_domain([0.0, *ends]), len(rows), narrow=narrow)
    margins = {"left": 104, "right": 4} if narrow else {"left": 200, "right": 200}
    margins |= {"top": 6, "bottom": 30}
    width = plot_width(margins, narrow=narrow)
    layers = [
        *_forest_marks(rows, x, y),
        *_forest_texts(rows, y, margins["left"], width, narrow=narrow),
    ]
    title = f"{label}: differences to {study.baseline} over data sets"
    description = "; ".join(row["plain"] for row in rows if row["plain"])
    return render_svg(layers, (width, _FOREST_ROW * len(rows)), margins, title, description)


def _forest_rows(study: Study, label: str) -> list[Row]:
    decimals = digits(study, label)
    shrunk = study.shrunk_of(label)
    cells = study.cells_of(label)
    rows: list[Row] = []
    models = {each.model for each in shrunk}
    for model in [m for m in study.ranked(label) if m in models][:MAX_FOREST_MODELS]:
        rows.append(_model_row(model))
        rows += [
            _dataset_row(each, cells[each.dataset, model], decimals)
            for each in shrunk
            if each.model == model
        ]
        (pair,) = [p for p in study.pairs_of(label) if p.a == model and p.vs_baseline]
        rows.append(_mean_row(study, pair, decimals))
    return [row | {"row": i} for i, row in enumerate(rows)]


def _model_row(model: str) -> Row:
    numeric_columns = dict.fromkeys(("value", "low", "high", "shrunk"))
    texts = dict.fromkeys(("number", "reason", "hover", "plain"), "")
    return {"kind": "model", "name": model, **numeric_columns, **texts, "colour": light("ink")}


def _dataset_row(each: ShrunkDifference, cell: Cell, decimals: int) -> Row:
    found = numbers.with_details(
        signed(each.difference, decimals), signed_interval(cell.diff_low, cell.diff_high, decimals)
    )
    plain = f"{each.model} on {each.dataset}: {found}, shrunk {signed(each.shrunk, decimals)}"
    return {
        "kind": "dataset",
        "name": each.dataset,
        "value": each.difference,
        "low": cell.diff_low,
        "high": cell.diff_high,
        "shrunk": each.shrunk,
        "number": signed(each.difference, decimals),
        "reason": "",
        "hover": tag(plain, each.model),
        "plain": plain,
        "colour": light("open"),
    }


def _mean_row(study: Study, pair: Pair, decimals: int) -> Row:
    verdict = VERDICTS[pair.verdict]
    reason = undecided_reason(study, pair)
    span = signed_interval(pair.ci_low, pair.ci_high, decimals)
    plain = (
        f"{pair.a}, mean over data sets: {signed(pair.difference, decimals)} ({span}), "
        f"{verdict.word} {reason}".rstrip()
    )
    return {
        "kind": "mean",
        "name": "all data sets",
        "value": pair.difference,
        "low": pair.ci_low,
        "high": pair.ci_high,
        "shrunk": None,
        "number": f"{signed(pair.difference, decimals)} {verdict.word}",
        "reason": reason,
        "hover": tag(plain, pair.a),
        "plain": plain,
        "colour": light(verdict.tone),
    }


def _forest_marks(rows: list[Row], x: alt.X, y: alt.Y) -> list[alt.Chart]:
    visible_rows = [row for row in rows if row["value"] is not None]
    means = plot(row for row in visible_rows if row["kind"] == "mean")
    dataset_rows = [row for row in visible_rows if row["kind"] == "dataset"]
    zero = plot([{"zero": 0}]).mark_rule(color=light("ink-soft"), strokeWidth=1)
    found = plot(dataset_rows).mark_circle(size=60, opacity=1, aria=True)
    shrunk = plot(dataset_rows).mark_tick(color=light("line-strong"), thickness=2, size=12)
    return [
        zero.encode(x=alt.X("zero:Q")),
        interval_layer(visible_rows, y),
        shrunk.encode(x=alt.X("shrunk:Q"), y=y),
        found.encode(x=x, y=y, color=COLOUR, description=HOVER),
        means.mark_point(shape="diamond", filled=True, size=150, opacity=1, aria=True).encode(
            x=x, y=y, color=COLOUR, description=HOVER
        ),
    ]


def _forest_texts(
    rows: Rows, y: alt.Y, left_margin: int, width: int, *, narrow: bool
) -> list[alt.Chart]:
    short_rows = [row | {"name": shorten(row["name"], 14 if narrow else 26)} for row in rows]
    models = [row for row in short_rows if row["kind"] == "model"]
    others = [row for row in short_rows if row["kind"] != "model"]
    texts = partial(text_layer, y=y, align="left")
    layers = [
        texts(models, "name", 14, "ink", x=x_at(-left_margin), fontWeight=600),
        texts(others, "name", 12, "ink-soft", x=x_at(-left_margin + 12)),
    ]
    if not narrow:
        numbers_at = partial(texts, x=x_at(width + 16))
        layers += [
            numbers_at([row for row in others if not row["reason"]], "number", 13, fontWeight=600),
            numbers_at(
                [row for row in others if row["reason"]], "number", 13, fontWeight=600, dy=-6
            ),
            numbers_at(others, "reason", 11, "ink-soft", dy=7),
        ]
    return layers
