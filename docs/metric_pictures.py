"""Pictures of worked lists: ranks as boxes, hits marked, what each adds, and the sum."""

import textwrap
from collections.abc import Iterator

from concord.metrics_core.metrics.metric import Metric
from concord.reports.charts.svg import Chart, stylesheet
from docs.worked_example import CUTOFF, TRUTH, Row, WorkedList, worked_list

WIDTH, ROW, MARGIN = 420, 32, 12
BOX = (30, 164)  # from left to right
LINE, CHARACTERS = 18, 58  # of the sums
FONT = "font-family: system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"


def picture(metric: Metric, worked: WorkedList) -> str:
    """Return the picture of a worked list as an SVG file in the colours of light and dark."""
    n_rows = max(len(worked.rows), CUTOFF if metric.takes_k else 0)
    below = [*_below(metric, worked)]
    height = ROW * n_rows + LINE * len(below) + 74
    chart = Chart(
        WIDTH - 2 * MARGIN,
        height - 2 * MARGIN,
        left=MARGIN,
        right=MARGIN,
        top=MARGIN,
        bottom=MARGIN,
    )
    chart.rect(-MARGIN, -MARGIN, WIDTH - MARGIN, height - MARGIN, "page")
    for x, head in ((0, "rank"), (BOX[0] + 12, "item"), (BOX[1] + 14, "adds")):
        chart.text(x, 4, head, 12, "ink-faint")
    for place in range(n_rows):
        _row(chart, place, worked.rows[place] if place < len(worked.rows) else None)
    y = 22 + ROW * n_rows
    chart.line([(0, y), (chart.width, y)], "line-strong")
    for place, line in enumerate(below):
        chart.text(0, y + 14 + LINE * place, line, 12, "ink-soft")
    chart.text(0, height - 2 * MARGIN - 6, value_in_words(worked), 14, "ink", bold=True)
    start, end = str(chart.markup(f"{worked.label} step by step", alternative(metric))).split(
        ">", 1
    )
    return f"{start}><style>.chart {{ {FONT} }}\n{stylesheet()}</style>{end}\n"


def alternative(metric: Metric) -> str:
    """Return in words what the picture of a metric shows; empty if it has none."""
    if (worked := worked_list(metric)) is None:
        return ""
    hits = [
        f"{item} at rank {rank}" for rank, (item, *_, hit, _) in enumerate(worked.rows, 1) if hit
    ]
    start = f"A list of {len(worked.rows)} items" + (
        f" with the hits {' and '.join(hits)}" * bool(hits)
    )
    return "; ".join([start, *_below(metric, worked, 10_000), value_in_words(worked)])


def value_in_words(worked: WorkedList) -> str:
    """Return label and value."""
    return f"{worked.label} = {worked.value:.6g}"


def _row(chart: Chart, place: int, row: Row | None) -> None:
    top, (left, right) = 16 + ROW * place, BOX
    item, grade, is_hit, term = row or ("", None, False, "")
    middle, colour = top + ROW / 2 - 2, "better" if is_hit else "line-strong"
    chart.text(8, middle, str(place + 1), 13, "ink-soft")
    chart.rect(left, top, right, top + ROW - 4, colour)
    edge = 2 if is_hit else 1
    chart.rect(
        left + edge, top + edge, right - edge, top + ROW - 4 - edge, "raised" if row else "page"
    )
    chart.text(left + 12, middle, item, 14, "ink", bold=True)
    if not row:
        chart.text(left + 12, middle, "no item", 12, "ink-faint")
    if grade is not None:
        chart.text(left + 34, middle, f"grade {grade:g}", 12, "ink-soft")
    if is_hit:
        chart.text(right - 12, middle, "hit", 12, "better", anchor="end", bold=True)
    chart.text(right + 14, middle, term, 12, "ink")


def _below(metric: Metric, worked: WorkedList, characters: int = CHARACTERS) -> Iterator[str]:
    """Yield the lines below the boxes: what the list lacks, and the sums."""
    listed = {item for item, *_ in worked.rows}
    if metric.uses_relevance and not metric.reads_subtopics:
        missing = [f"{i} ({grade})" for i, grade in TRUTH["u"].items() if grade and i not in listed]
        yield f"relevant and not in the list, with grades: {', '.join(missing)}"
    for line in worked.sums:
        yield from textwrap.wrap(line, characters, subsequent_indent="  ", break_long_words=False)
