"""References on an axis of differences: a dashed line each, or an arrow to where it lies."""

from collections.abc import Iterable, Sequence

from concord.metrics_core.results.comparison import Comparison
from concord.reports.charts.plots import Linear
from concord.reports.charts.svg import Chart
from concord.reports.text import references
from concord.reports.text.numbers import signed

_LETTER, _GAP = 7, 8  # pixels of a letter, and between two names
_NAMES_Y, _FOOT = -12, -4  # of names, and of the ends of their lines above the plot


def draw_references(
    chart: Chart,
    x: Linear,
    comparison: Comparison,
    label: str,
    spans: Iterable[tuple[float, float]],
    *,
    beyond: bool = True,
) -> None:
    """Draw the references of a label, with their names above the plot.

    The axis does not reach to all of them: an arrow points to one that lies beyond its end.

    Parameters
    ----------
    spans : iterable of tuple
        Upper and lower ends of the parts of a line.
    beyond : bool
        False to leave out those beyond the axis, and all if their names have no room.
    """
    baseline, values = comparison.baseline, references.known(comparison, label)
    mean = comparison.score(baseline, label).mean
    if mean is None:
        return
    at = {name: x(value - mean) for name, value in values.items()}
    if not beyond:
        at = {name: place for name, place in at.items() if 0 <= place <= chart.width}
        at = at if sum(_LETTER * len(name) + _GAP for name in at) <= chart.width else {}
    shown = {
        name: _with_arrow(name, at[name], chart.width) for name in sorted(at, key=at.__getitem__)
    }
    starts = _starts([(at[name], _LETTER * len(text)) for name, text in shown.items()], chart)
    for (name, text), start in zip(shown.items(), starts, strict=True):
        length = _LETTER * len(text)
        difference = signed(values[name] - mean, comparison.decimals[label])
        value_text = references.texts(comparison, label)[name]
        with chart.group(hover=f"{name} {value_text}: {difference} to {baseline}"):
            chart.text(start + length / 2, _NAMES_Y, text, 12, "ink-soft", anchor="middle")
            if text == name:
                foot = min(max(at[name], start + _GAP), start + length - _GAP)
                parts = [[(foot, _FOOT), (at[name], 0.0)]]
                parts += [[(at[name], top), (at[name], bottom)] for top, bottom in spans]
                for points in parts:
                    chart.line(points, "ink-faint", 1.25, dash="2 2")


def _starts(marks: Sequence[tuple[float, float]], chart: Chart) -> list[float]:
    """Return where names start, apart from each other and above their marks if there is room.

    Parameters
    ----------
    marks : sequence of tuple
        Rising position of each mark, and length of its name.
    """
    starts = [
        min(at - length / 2, chart.width - length) if at >= 0 else -length - _GAP
        for at, length in marks
    ]
    distances = [length + _GAP for _, length in marks]
    for i in reversed(range(len(starts) - 1)):
        starts[i] = min(starts[i], starts[i + 1] - distances[i])
    if starts:
        starts[0] = max(starts[0], -chart.left)
    for i in range(1, len(starts)):
        starts[i] = max(starts[i], starts[i - 1] + distances[i - 1])
    return starts


def _with_arrow(name: str, at: float, width: float) -> str:
    """Return the name, with an arrow if the position is beyond an end of the axis."""
    return f"← {name}" if at < 0 else f"{name} →" if at > width else name
