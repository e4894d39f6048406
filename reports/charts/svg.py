"""Write SVG elements in the colours of a page: the same elements give the same bytes."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup, escape

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
    # Of models. Far from each other and from the verdicts, also for those
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


def stylesheet(card: str = "") -> str:
    """Return the variables of both schemes and the rules that make charts follow them.

    `card` selects a card in a notebook, whose theme comes before that of the system.
    """
    root = card or ":root"
    dark = f"@media screen and (prefers-color-scheme: dark) {{ {_variables(root, 1)} }}"
    themes = [
        _variables(f'[data-jp-theme-light="{is_light}"] {card}', scheme)
        for scheme, is_light in enumerate(("true", "false"))
    ]
    rules = [
        f'{card} .chart [{paint}="{light}"] {{ {paint}: var(--{name}); }}'.lstrip()
        for name, (light, _) in COLOURS.items()
        for paint in ("fill", "stroke")
    ]
    if card:  # a ground of its own, unless the theme of the notebook is known
        themes.append(f"{card} {{ background: var(--page); color: var(--ink); }}")
        themes.append(f"[data-jp-theme-light] {card} {{ background: none !important; }}")
    return "\n".join([_variables(root, 0), dark, *(themes if card else ()), *rules])


def _variables(selector: str, scheme: int) -> str:
    values = "".join(f" --{name}: {shades[scheme]};" for name, shades in COLOURS.items())
    return f"{selector} {{{values} }}"


# SVG paths in a box of 2 x 2 around the origin.
SQUARE = "M-1,-1H1V1H-1Z"
CIRCLE = "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z"
DIAMOND = "M0,-1L1,0L0,1L-1,0Z"
_SHAPES = (
    CIRCLE,
    "M0,-0.87L1,0.87L-1,0.87Z",
    DIAMOND,
    "M0,0.87L1,-0.87L-1,-0.87Z",
    "M-1,-0.4H-0.4V-1H0.4V-0.4H1V0.4H0.4V1H-0.4V0.4H-1Z",
    "M0.87,0L-0.87,-1L-0.87,1Z",
    "M-0.87,0L0.87,-1L0.87,1Z",
)
N_COLOURED = len(SERIES) - 1  # models that have a colour of their own; the baseline is grey


@dataclass(frozen=True)
class ModelStyle:
    """Colour and shape of a model's marks, the same in every chart of every page."""

    colour: str
    shape: str


def model_styles(models: Iterable[str], baseline: str | None) -> dict[str, ModelStyle]:
    """Return model -> its style: grey for the baseline, by its place for every other model.

    Beyond the seventh place colours repeat, with another shape.

    Parameters
    ----------
    models : iterable of str
        All models of the project, in the order of params.yaml.
    """
    styles = {} if baseline is None else {baseline: ModelStyle(SERIES[0], SQUARE)}
    for place, model in enumerate(model for model in models if model != baseline):
        colour = SERIES[1 + place % N_COLOURED]
        shape = _SHAPES[(place + place // N_COLOURED) % len(_SHAPES)]
        styles[model] = ModelStyle(colour, shape)
    return styles


Point = tuple[float, float]
Anchor = Literal["start", "middle", "end"]


class Chart:
    """An SVG picture to which methods add elements.

    Positions are pixels from the top left corner of the plot. Colours are names of `COLOURS`;
    their light shade is written, and the stylesheet of the page replaces it.

    Parameters
    ----------
    width, height : int
        Size of the plot, to which the margins are added.
    """

    def __init__(
        self,
        width: int,
        height: int,
        *,
        left: int = 0,
        right: int = 0,
        top: int = 0,
        bottom: int = 0,
    ) -> None:
        self.width, self.height = width, height
        self.left, self.right, self.top, self.bottom = left, right, top, bottom
        self._elements: list[str] = []

    @contextmanager
    def group(self, *models: str, hover: str = "") -> Iterator[None]:
        """Put the elements that are added meanwhile into a group.

        Parameters
        ----------
        *models : str
            The model of the group, or the two; the page highlights and hides them.
        hover : str
            Tooltip.
        """
        names = dict(zip(("data_model", "data_other"), models, strict=False))
        title = f"<title>{escape(hover)}</title>" if hover else ""
        self._elements.append(f"<g{_attributes(**names)}>{title}")
        yield
        self._elements.append("</g>")

    def rect(
        self, x: float, y: float, x2: float, y2: float, fill: str, *, opacity: float | None = None
    ) -> None:
        """Add a rectangle between two corners, in any order."""
        self._add(
            "rect",
            x=min(x, x2),
            y=min(y, y2),
            width=abs(x2 - x),
            height=abs(y2 - y),
            fill=_shade(fill),
            fill_opacity=opacity,
        )

    def line(
        self,
        points: Iterable[Point],
        stroke: str,
        width: float = 1,
        *,
        cap: Literal["round"] | None = None,
        dash: str | None = None,
        opacity: float | None = None,
    ) -> None:
        """Add a line through the points."""
        self._add(
            "polyline",
            points=_points(points),
            stroke=_shade(stroke),
            stroke_width=width,
            stroke_linecap=cap,
            stroke_dasharray=dash,
            opacity=opacity,
        )

    def area(self, points: Iterable[Point], fill: str, *, opacity: float | None = None) -> None:
        """Add a polygon."""
        self._add("polygon", points=_points(points), fill=_shade(fill), fill_opacity=opacity)

    def symbol(
        self,
        at: Point,
        shape: str,
        radius: float,
        *,
        stroke: str,
        fill: str | None = None,
        width: float = 1,
    ) -> None:
        """Add a mark; `shape` is an SVG path in a box of 2 x 2 around the origin."""
        x, y = map(_number, at)
        self._add(
            "path",
            transform=f"translate({x},{y}) scale({_number(radius)})",
            d=shape,
            fill=fill and _shade(fill),
            stroke=_shade(stroke),
            stroke_width=width / radius,
        )

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: int,
        colour: str,
        *,
        anchor: Anchor | None = None,
        bold: bool = False,
        slanted: bool = False,
    ) -> None:
        """Add a text, unless it is empty, with its middle at `y`; a slanted one rises."""
        if not text:
            return
        place = f"translate({_number(x)},{_number(y)}) rotate(-45)"
        where = {"transform": place} if slanted else {"x": x, "y": y + round(0.3 * size)}
        self._add(
            "text",
            str(escape(text)),
            **where,
            dy=round(0.3 * size) if slanted else None,
            fill=_shade(colour),
            font_size=size,
            font_weight=600 if bold else None,
            text_anchor=anchor,
        )

    def markup(self, title: str, description: str) -> Markup:
        """Return the picture as inline SVG; screen readers read title and description."""
        width = self.left + self.width + self.right
        height = self.top + self.height + self.bottom
        attributes = _attributes(
            role="img", viewBox=f"0 0 {width} {height}", width=width, height=height
        )
        return Markup(
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chart"{attributes}>'
            f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
            f'<g fill="none" transform="translate({self.left},{self.top})">'
            f"{''.join(self._elements)}</g></svg>"
        )

    def _add(self, name: str, content: str = "", /, **attributes: str | float | None) -> None:
        end = f">{content}</{name}>" if content else "/>"
        self._elements.append(f"<{name}{_attributes(**attributes)}{end}")


def _attributes(**values: str | float | None) -> str:
    return "".join(
        f' {name.replace("_", "-")}="{escape(value) if isinstance(value, str) else _number(value)}"'
        for name, value in values.items()
        if value is not None
    )


def _points(points: Iterable[Point]) -> str:
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in points)


def _shade(colour: str) -> str:
    light, _ = COLOURS[colour]
    return light


def _number(value: float) -> str:
    """Return the number with at most two decimals."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
