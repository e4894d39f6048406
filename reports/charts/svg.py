"""Write SVG elements: the same elements give the same bytes on every machine."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Literal

from markupsafe import Markup, escape

from concord.reports.charts.colours import COLOURS

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
