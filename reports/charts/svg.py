"""Convert Altair charts to inline SVG: colours, and the same bytes on every machine."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
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
    # Of models: `charts/model_styles.py`. Far from each other and from the verdicts, also for those
    # who see no red or no green (`tests/reports/test_palette.py`).
    "series-0": ("#23262b", "#e4e6e9"),
    "series-1": ("#510995", "#977dc4"),
    "series-2": ("#0752d4", "#5884fa"),
    "series-3": ("#7f014b", "#f1538d"),
    "series-4": ("#196f41", "#6cec96"),
    "series-5": ("#3b3900", "#eae069"),
    "series-6": ("#0177bf", "#34abfb"),
    "series-7": ("#a11527", "#df6062"),
}
SERIES = [name for name in COLOURS if name.startswith("series-")]


def light(name: str) -> str:
    """Return the light shade of a colour; charts use it, and the stylesheet replaces it."""
    return COLOURS[name][0]


def stylesheet() -> str:
    """Return the variables of both schemes and the rules that make charts follow them."""
    dark = f"@media screen and (prefers-color-scheme: dark) {{ {_variables(':root', 1)} }}"
    return "\n".join([_variables(":root", 0), dark, *_chart_rules("")])


def card_stylesheet(card: str) -> str:
    """Return the same for a card in a notebook, whose theme comes before that of the system."""
    dark = f"@media screen and (prefers-color-scheme: dark) {{ {_variables(card, 1)} }}"
    themes = [
        _variables(f'[data-jp-theme-light="{is_light}"] {card}', scheme)
        for scheme, is_light in enumerate(("true", "false"))
    ]
    return "\n".join([_variables(card, 0), dark, *themes, *_chart_rules(f"{card} ")])


def _chart_rules(scope: str) -> list[str]:
    return [
        f'{scope}.chart [{paint}="{light(name)}"] {{ {paint}: var(--{name}); }}'
        for name in COLOURS
        for paint in ("fill", "stroke")
    ]


def _variables(selector: str, scheme: int) -> str:
    values = "".join(f" --{name}: {shades[scheme]};" for name, shades in COLOURS.items())
    return f"{selector} {{{values} }}"


SEPARATOR = "\N{INVISIBLE SEPARATOR}"  # between models and tooltip in a mark's description
_SVG = "http://www.w3.org/2000/svg"
ElementTree.register_namespace("", _SVG)
_ATTRIBUTES = {
    *("fill", "opacity", "stroke", "stroke-width", "stroke-linecap", "stroke-dasharray"),
    *("d", "transform", "x", "x1", "x2", "y", "y1", "y2", "width", "height"),
    *("text-anchor", "font-size", "font-weight", "fill-opacity"),
}


def render_svg(
    layers: Sequence[alt.Chart],
    size: tuple[int, int],
    margins: dict[str, int],
    title: str,
    description: str,
    *,
    own_scales: bool = False,
) -> Markup:
    """Return the layers as one inline SVG.

    Parameters
    ----------
    size : tuple of int
        Width and height in pixels, without the margins.
    title, description : str
        Texts for screen readers.
    own_scales : bool
        True if each layer has its own scales for x and y.
    """
    width, height = size
    datasets: dict[str, Any] = {}  # filled by the layers
    context = {"top_level": False, "datasets": datasets}
    # `alt.layer` would copy each of the layers several times.
    specs = [layer.to_dict(validate=False, context=context) for layer in layers]
    spec: dict[str, Any] = {"$schema": alt.SCHEMA_URL, "layer": specs, "datasets": datasets}
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
    clean.extend(_clean_all(root))
    # ElementTree has escaped every text and attribute.
    return Markup(ElementTree.tostring(clean, encoding="unicode"))


def _clean_all(elements: Iterable[ElementTree.Element]) -> Iterator[ElementTree.Element]:
    for element in elements:
        if (clean := _clean(element)) is not None:
            yield clean


def _clean(element: ElementTree.Element) -> ElementTree.Element | None:
    """Return the element without Vega's internals, and a mark's description as its tooltip."""
    if element.get("display") == "none" or element.get("class") in {"background", "foreground"}:
        return None
    attributes = {k: _round(v) for k, v in element.attrib.items() if k in _ATTRIBUTES}
    if attributes.get("opacity") == "1":
        del attributes["opacity"]
    if "stroke" not in attributes:
        attributes.pop("stroke-width", None)
    clean = ElementTree.Element(element.tag, attributes)
    clean.text = element.text
    clean.extend(_clean_all(element))
    *models, hover = element.get("aria-label", "").split(SEPARATOR)
    clean.attrib |= dict(zip(("data-model", "data-other"), models, strict=False))
    if hover:
        title = ElementTree.Element(f"{{{_SVG}}}title")
        title.text = hover
        clean.insert(0, title)
    is_leaf = element.tag != f"{{{_SVG}}}g"
    return clean if is_leaf or len(clean) else None


def _round(numbers: str) -> str:
    """Round to two decimals of a pixel."""
    return re.sub(r"-?\d+\.\d{3,}(e-?\d+)?", lambda match: f"{float(match[0]):.2f}", numbers)
