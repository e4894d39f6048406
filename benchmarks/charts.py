"""Charts of the measurements: bars of peers, and lines over rows and cores.

Each is an SVG file of docs/images in the colours of the reports, light or dark as the reader's
system. They are small, so that they stand beside each other on a wide page, and below each other
on a phone.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from concord.reports.charts.plots import Linear, draw_axis, spread
from concord.reports.charts.svg import CIRCLE, SERIES, Chart, stylesheet

IMAGES = Path(__file__).parents[1] / "docs" / "images"
FONT = "font-family: system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
BAR, GAP = 18, 12  # pixels
Costs = Mapping[str, Mapping[str, float]]  # such as "1000000 rows" -> "seconds" -> 1.5
Lines = Mapping[str, Sequence[tuple[float, float]]]  # name -> points
STEPS = {"evaluate": "evaluate", "load": "load", "join": "bare join"}


def write_charts(bench: Mapping[str, Any], scale: Costs, folder: Path = IMAGES) -> None:
    """Write the charts of what was measured."""
    charts = {"bench-peers": peers_chart(bench["peers"]["rows"], bench["peers"]["full"])}
    if bench["cores"]["costs"]:
        charts["bench-cores"] = cores_chart(bench["cores"]["costs"])
    charts["bench-time"] = rows_chart(scale, "seconds")
    charts["bench-memory"] = rows_chart(scale, "peak")
    for name, svg in charts.items():
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8", newline="\n")


def peers_chart(rows: Sequence[Mapping[str, Any]], full: int) -> str:
    """Return bars of the seconds of Concord and its peers, the quickest first.

    Ten times its seconds on a tenth stand for a library that was measured on a tenth only.
    """
    seconds = {row["name"]: row["seconds"] * full / row["users"] for row in rows}
    ordered = sorted(rows, key=lambda row: seconds[row["name"]])
    chart = Chart(230, len(rows) * (BAR + GAP), left=116, right=134, top=52, bottom=12)
    _head(chart, "Seconds from files to means", "and the peak of memory; less is better")
    scale = Linear(0, max(seconds.values()), 0, chart.width)
    for place, row in enumerate(ordered):
        name, top = row["name"], place * (BAR + GAP)
        is_ours, is_whole = name == "Concord", row["users"] == full
        middle = top + BAR / 2
        colour = "better" if is_ours else "open"
        chart.text(-8, middle, name, 13, "ink", anchor="end", bold=is_ours)
        end = max(2.0, scale(seconds[name]))
        chart.rect(0, top, end, top + BAR, colour, opacity=None if is_whole else 0.5)
        number = f"{float(f'{seconds[name]:.2g}'):g} s"
        words = f"{number} · {_memory(row['peak'])}" if is_whole else f"about {number}*"
        chart.text(end + 6, middle, words, 12, "ink-soft")
    if any(row["users"] != full for row in rows):
        chart.text(0, chart.height, "* ten times that of a tenth of the users", 11, "ink-faint")
    return _file(chart, "Seconds of Concord and its peers from files to means")


def rows_chart(scale: Costs, kind: str) -> str:
    """Return lines of seconds or of peak memory over rows, from 10^6 to 10^9."""
    lines: dict[str, list[tuple[float, float]]] = {name: [] for name in STEPS.values()}
    for key, cost in sorted(scale.items(), key=lambda each: int(each[0].split()[0])):
        users, step = key.split()
        if step in STEPS:
            lines[STEPS[step]].append((int(users) * 100, cost[kind]))
    words = {"seconds": "Seconds by rows", "peak": "Peak of memory by rows"}[kind]
    return _lines_chart(
        lines,
        words,
        "stages on two cores, and a bare join",
        ticks=[10.0**n for n in range(6, 10)],
        across_text=_power,
        upright_text=_seconds if kind == "seconds" else _memory,
    )


def cores_chart(costs: Mapping[str, Costs]) -> str:
    """Return lines of seconds over the number of cores; a thin line is half by doubling."""
    names = {"evaluate": "evaluate()", "join": "bare join"}
    lines = {
        names[name]: [(float(n), cost["seconds"]) for n, cost in of_cores.items()]
        for name, of_cores in costs.items()
    }
    cores = sorted({x for points in lines.values() for x, _ in points})
    return _lines_chart(
        lines,
        "Seconds by cores",
        "dashed: half the time by twice the cores",
        ticks=cores,
        across_text=lambda n: f"{n:.0f}",
        upright_text=_seconds,
        is_ideal_shown=True,
    )


def _lines_chart(
    lines: Lines,
    title: str,
    hint: str,
    *,
    ticks: Sequence[float],
    across_text: Callable[[float], str],
    upright_text: Callable[[float], str],
    is_ideal_shown: bool = False,
) -> str:
    """Return lines on two logarithmic axes."""
    chart = Chart(214, 190, left=66, right=80, top=50, bottom=30)
    _head(chart, title, hint)
    ideals = {name: _ideal(points) for name, points in lines.items()} if is_ideal_shown else {}
    values = [y for points in [*lines.values(), *ideals.values()] for _, y in points]
    across = _log_scale(ticks, 8, chart.width - 8)
    upright = _log_scale(values, chart.height - 8, 8)
    draw_axis(chart, across, [(tick, across_text(tick)) for tick in ticks], grid=False)
    draw_axis(chart, upright, [(y, upright_text(y)) for y in _ticks(values)], upright=True)
    ends = [upright(points[-1][1]) for points in lines.values()]
    heights = spread(sorted(ends), chart.height)
    for place, (name, points) in enumerate(lines.items()):
        colour = ("better", SERIES[2], "open")[place if len(lines) > 2 else 2 * place]  # noqa: PLR2004
        places = [(across(x), upright(y)) for x, y in points]
        if name in ideals:
            ideal = [(across(x), upright(y)) for x, y in ideals[name]]
            chart.line(ideal, colour, 1, dash="3 3")
        chart.line(places, colour, 2)
        for at in places:
            chart.symbol(at, CIRCLE, 3, stroke=colour, fill=colour)
        height = heights[sorted(ends).index(ends[place])]
        chart.text(chart.width + 8, height, name, 12, colour)
    return _file(chart, title)


def _ideal(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return half the time by twice the cores, from the first point on."""
    first, seconds = points[0]
    return [(x, seconds * first / x) for x, _ in points]


def _log_scale(values: Iterable[float], start: float, end: float) -> Callable[[float], float]:
    logs = [math.log10(value) for value in values]
    scale = Linear(min(logs), max(logs), start, end)
    return lambda value: scale(math.log10(value))


def _ticks(values: Sequence[float]) -> list[float]:
    """Return the powers of ten among the values; in a short range 2 and 5 times them too."""
    low, high = math.log10(min(values)), math.log10(max(values))
    steps = (1, 2, 5) if high - low < 2 else (1,)  # noqa: PLR2004
    ticks = [step * 10.0**n for n in range(math.floor(low), math.ceil(high)) for step in steps]
    return [
        tick for tick in [*ticks, 10.0 ** math.ceil(high)] if min(values) <= tick <= max(values)
    ]


def _head(chart: Chart, title: str, hint: str) -> None:
    width, height = (
        chart.left + chart.width + chart.right,
        chart.top + chart.height + chart.bottom,
    )
    chart.rect(-chart.left, -chart.top, width - chart.left, height - chart.top, "page")
    chart.text(12 - chart.left, 16 - chart.top, title, 14, "ink", bold=True)
    chart.text(12 - chart.left, 33 - chart.top, hint, 12, "ink-faint")


def _file(chart: Chart, title: str) -> str:
    """Return the picture as a file, which brings its colours."""
    svg = str(chart.markup(title, "The same numbers are in the table of benchmarks/RESULTS.md."))
    start, end = svg.split(">", 1)
    return f"{start}><style>.chart {{ {FONT} }}\n{stylesheet()}</style>{end}\n"


def _seconds(value: float) -> str:
    return f"{value:g} s"


def _memory(megabytes: float) -> str:
    return f"{megabytes / 1000:.2g} GB" if megabytes >= 1000 else f"{megabytes:.0f} MB"  # noqa: PLR2004


def _power(value: float) -> str:
    return "10" + f"{math.log10(value):.0f}".translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
