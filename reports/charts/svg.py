"""From an Altair chart to an SVG in the page: colours, ticks, and the same bytes on every machine."""

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal
from xml.etree import ElementTree

import altair as alt
import vl_convert
from markupsafe import Markup

# name: (light, dark)
COLOURS: Mapping[str, tuple[str, str]] = {
    "page": ("#fcfbf8", "#15171a"),
    "raised": ("#ffffff", "#1c1f24"),
    "sunken": ("#f3f1eb", "#22262c"),
    "line": ("#e2dfd6", "#30353d"),
    "line-strong": ("#c6c2b6", "#4a515c"),
    "ink": ("#1b1d21", "#eceef1"),
    "ink-soft": ("#4a4f57", "#b9c0ca"),
    "ink-faint": ("#686d75", "#949ca8"),
    "accent": ("#234fb8", "#8db4ff"),
    "band": ("#ece8dc", "#292d34"),
    "better": ("#0b6a74", "#5cc9d4"),
    "worse": ("#b0431a", "#f2996b"),
    "even": ("#555b8f", "#aab0ea"),
    "open": ("#676c74", "#9aa2ad"),
    "series-0": ("#5d626b", "#a3abb6"),
    "series-1": ("#2058c7", "#7fb0ff"),
    "series-2": ("#b4531b", "#f0a067"),
    "series-3": ("#1b7749", "#62cd99"),
    "series-4": ("#7d3fb2", "#c59df6"),
    "series-5": ("#b52a6d", "#f48bbd"),
    "series-6": ("#0f7280", "#5ac6d3"),
    "series-7": ("#766600", "#d0bd55"),
}
SERIES = [name for name in COLOURS if name.startswith("series-")]


def light(name: str) -> str:
    """The colour as charts name it."""
    return COLOURS[name][0]


def stylesheet() -> str:
    """The variables of both schemes and the rules that make charts follow them."""
    rules = [
        f'.chart [{paint}="{light(name)}"] {{ {paint}: var(--{name}); }}'
        for name in COLOURS
        for paint in ("fill", "stroke")
    ]
    dark = f"@media screen and (prefers-color-scheme: dark) {{ {_variables(1)} }}"
    return "\n".join([_variables(0), dark, *rules])


def _variables(scheme: int) -> str:
    values = "".join(f" --{name}: {shades[scheme]};" for name, shades in COLOURS.items())
    return f":root {{{values} }}"


_NEAR_AN_END = 0.2  # of the width


def nice_ticks(low: float, high: float, about: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten within [low, high], `about` many."""
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    return [round(i * step, 12) for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def tick_digits(ticks: list[float]) -> int:
    step = min((b - a for a, b in itertools.pairwise(ticks)), default=1.0)
    return max(0, -math.floor(math.log10(step) + 1e-9))


def shortened(name: str, length: int) -> str:
    return name if len(name) <= length else f"{name[: length - 1]}…"


def alignment(domain: tuple[float, float]) -> Literal["left", "right", "center"]:
    """Where the name of the line at 0 keeps inside the picture."""
    place = -domain[0] / (domain[1] - domain[0])
    if place < _NEAR_AN_END:
        return "left"
    return "right" if place > 1 - _NEAR_AN_END else "center"


_WHOSE = "\N{INVISIBLE SEPARATOR}"
_SVG = "http://www.w3.org/2000/svg"
ElementTree.register_namespace("", _SVG)
_PAINT = {"fill", "opacity", "stroke", "stroke-width", "stroke-linecap", "stroke-dasharray"}
_PLACE = {"d", "transform", "x", "x1", "x2", "y", "y1", "y2", "width", "height"}
_TEXT = {"text-anchor", "font-size", "font-weight"}
_KEPT = _PAINT | _PLACE | _TEXT

Layers = Sequence[alt.Chart]
# Places in pixels. For `alt.value` Altair hashes all of its classes, to find the one of the channel.
x_at: Callable[[float], Any] = alt.XValue
x2_at: Callable[[float], Any] = alt.X2Value
y_at: Callable[[float], Any] = alt.YValue
y2_at: Callable[[float], Any] = alt.Y2Value


def values(rows: Sequence[dict[str, Any]]) -> alt.Chart:
    """A chart on these rows; every mark says in `description` what a hover shows."""
    return alt.Chart(alt.InlineData(values=tuple(rows)))  # Altair copies lists at every step


def told(text: str, *models: str) -> str:
    """A mark's `description`: what a hover shows, and whose mark it is. The page can then light up or hide a model."""
    return _WHOSE.join([*models, text])


def picture(
    layers: Layers,
    size: tuple[int, int],
    margins: dict[str, int],
    title: str,
    description: str,
    *,
    own_scales: bool = False,
) -> Markup:
    """The layers as one inline SVG of `size` within `margins`, announced by title and description.

    own_scales : does each layer bring scales of its own for x and y?
    """
    width, height = size
    rows: dict[str, Any] = {}  # name -> rows, filled by the layers that show them
    parts = {"top_level": False, "datasets": rows}
    # `alt.layer` would copy each of the layers several times.
    drawn = [layer.to_dict(validate=False, context=parts) for layer in layers]
    spec: dict[str, Any] = {"$schema": alt.SCHEMA_URL, "layer": drawn, "datasets": rows}
    spec |= {"width": width, "height": height, "padding": margins, "autosize": {"type": "none"}}
    if own_scales:
        spec["resolve"] = {"scale": {"x": "independent", "y": "independent"}}
    spec["config"] = {"view": {"stroke": None}, "aria": False, "background": "transparent"}
    root = ElementTree.fromstring(vl_convert.vegalite_to_svg(spec))
    full_width = width + margins["left"] + margins["right"]
    full_height = height + margins["top"] + margins["bottom"]
    clean = ElementTree.Element(
        f"{{{_SVG}}}svg",
        {"class": "chart", "role": "img", "viewBox": f"0 0 {full_width} {full_height}"}
        | {"width": str(full_width), "height": str(full_height)},
    )
    ElementTree.SubElement(clean, f"{{{_SVG}}}title").text = title
    ElementTree.SubElement(clean, f"{{{_SVG}}}desc").text = description
    clean.extend(kept for child in root if (kept := _cleaned(child)) is not None)
    # ElementTree has escaped every text and attribute.
    return Markup(ElementTree.tostring(clean, encoding="unicode"))


def axis(ticks: Sequence[float], labels: str, *, grid: bool) -> alt.Axis:
    """An axis with these ticks; `labels` is a Vega expression over `datum.value`."""
    return alt.Axis(
        values=list(ticks),
        labelExpr=labels,
        title=None,
        grid=grid,
        gridColor=light("line"),
        domain=False,
        ticks=False,
        labelColor=light("ink-faint"),
        labelFontSize=12,
        labelPadding=8,
        labelOverlap=False,
        labelBound=False,
        labelFlush=False,
        labelLimit=0,
    )


def _cleaned(element: ElementTree.Element) -> ElementTree.Element | None:
    """The element without Vega's bookkeeping; a mark's description becomes the title that browsers show."""
    if element.get("display") == "none" or element.get("class") in {"background", "foreground"}:
        return None
    said = {k: _rounded(v) for k, v in element.attrib.items() if k in _KEPT}
    idle = {"opacity"} if said.get("opacity") == "1" else set()
    idle |= set() if "stroke" in said else {"stroke-width"}
    kept = ElementTree.Element(element.tag, {k: v for k, v in said.items() if k not in idle})
    kept.text = element.text
    kept.extend(child for found in element if (child := _cleaned(found)) is not None)
    *models, about = element.get("aria-label", "").split(_WHOSE)
    kept.attrib |= dict(zip(("data-model", "data-other"), models, strict=False))
    if about:
        title = ElementTree.Element(f"{{{_SVG}}}title")
        title.text = about
        kept.insert(0, title)
    is_leaf = element.tag != f"{{{_SVG}}}g"
    return kept if is_leaf or len(kept) else None


def _rounded(numbers: str) -> str:
    """Two decimals of a pixel are plenty."""
    return re.sub(r"-?\d+\.\d{3,}(e-?\d+)?", lambda found: f"{float(found[0]):.2f}", numbers)
