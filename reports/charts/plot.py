"""Pictures of a comparison by name, for notebooks and files."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape

from concord.metrics_core.conventions.registry import suggest
from concord.metrics_core.errors import refuse
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.plot import Plot
from concord.reports.charts.curves import curve_chart, curve_stems
from concord.reports.charts.differences import difference_chart
from concord.reports.charts.means import means_chart
from concord.reports.charts.segments import segment_chart
from concord.reports.charts.svg import COLOURS, stylesheet
from concord.reports.text.display_words import display_words
from concord.reports.text.segments import entries, grids, shows_shares
from concord.reports.text.tables import plotted_labels

_TITLE, _EDGE = 36, 10  # pixels of the line of the title, and around the picture
_FONT = '<style>text { font-family: "Inter", "Segoe UI", "Helvetica Neue", sans-serif; }</style>'


def plot(comparison: Comparison, kind: str, of: str | None = None) -> Plot:
    """Return a picture; see `Comparison.plot`."""
    if not isinstance(kind, str) or kind not in _PICTURES:
        raise refuse("kind", f"{kind!r} is not a picture", suggest(f"{kind}", _PICTURES))
    picture = _PICTURES[kind]
    names = picture.names(comparison)
    if not names:
        raise refuse("kind", f"there is no picture {kind!r}, as {picture.missing}", picture.fix)
    if of is not None and of not in names:
        raise refuse("of", f"there is no picture {kind!r} of {of!r}", suggest(f"{of}", names))
    svg = display_words(comparison).show(picture.draw(comparison, of or names[0]), "html")
    title = svg.partition("<title>")[2].partition("</title>")[0]
    style = stylesheet(".concord")
    html = f'<div class="concord"><style>{style}</style><p>{title}</p>{svg}</div>'
    return Plot(unescape(title), _with_title(svg, title), html)


def _with_title(svg: str, title: str) -> str:
    """Return a picture for a file, with its title above it."""
    size = re.search(r'width="(\d+)" height="(\d+)"', svg)
    assert size is not None
    width, height = map(int, size.groups())
    top = f'<text x="{_EDGE}" y="22" font-size="14" fill="{COLOURS["ink"][0]}">{title}</text>'
    size_text = f'width="{width + 2 * _EDGE}" height="{height + _TITLE + _EDGE}"'
    inner = f'<svg x="{_EDGE}" y="{_TITLE}" {svg.removeprefix("<svg ")}'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size_text}>{_FONT}{top}{inner}</svg>\n'


def _segmentations(comparison: Comparison) -> list[str]:
    """Return the segmentations with differences to the baseline."""
    if not comparison.compared_models:
        return []
    return [entry.name for entry in entries(comparison) if not shows_shares(entry)]


def _segments(comparison: Comparison, name: str) -> str:
    entry = next(each for each in entries(comparison) if each.name == name)
    return segment_chart(comparison, entry, grids(comparison, entry)[0], narrow=False)


@dataclass(frozen=True)
class _Picture:
    """What a picture can be of, how it is drawn, and why there may be none."""

    names: Callable[[Comparison], list[str]]
    draw: Callable[[Comparison, str], str]
    missing: str
    fix: str


_PICTURES = {
    "differences": _Picture(
        plotted_labels,
        lambda comparison, label: difference_chart(comparison, label, narrow=False),
        "no model was compared with the baseline",
        "compare two models or more",
    ),
    "leaderboard": _Picture(
        lambda comparison: [*dict.fromkeys([*comparison.primary, *comparison.labels])],
        means_chart,
        "there are no metrics",
        "name metrics",
    ),
    "segments": _Picture(
        _segmentations,
        _segments,
        "no models were compared by segment",
        "compare two models or more, and name segments: `comparison.with_segments(…)`",
    ),
    "curves": _Picture(
        curve_stems,
        curve_chart,
        "no primary metric was compared at two cutoffs or more",
        "compare two models or more at several cutoffs, such as nDCG@5 and nDCG@10",
    ),
}
