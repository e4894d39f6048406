"""What a reader sees of a chart: marks, lines and texts, with their positions in the plot."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from xml.etree import ElementTree

_SVG = "{http://www.w3.org/2000/svg}"
_LETTER, _BOLD_DIGIT = 0.55, 0.65  # of the font size, the mean width
Point = tuple[float, float]


@dataclass(frozen=True)
class Mark:
    """A symbol, with the tooltip of the group it is in."""

    model: str
    x: float
    y: float
    shape: str
    colour: str
    hover: str

    @property
    def centre(self) -> Point:
        return self.x, self.y


@dataclass(frozen=True)
class Text:
    """A text, at the height of its middle."""

    text: str
    model: str
    left: float
    right: float
    y: float
    size: int
    is_slanted: bool

    def overlaps(self, other: "Text") -> bool:
        is_level = abs(self.y - other.y) < 0.8 * min(self.size, other.size)
        return is_level and self.left < other.right and other.left < self.right

    def is_crossed_by(self, line: list[Point]) -> bool:
        """True if the line is upright or level and runs through the text."""
        (x, y), (x2, y2) = line[0], line[-1]
        return (
            min(x, x2) < self.right
            and self.left < max(x, x2)
            and min(y, y2) < self.y + self.size / 3
            and self.y - self.size / 3 < max(y, y2)
        )


class Picture:
    """A chart that was parsed.

    Attributes
    ----------
    lines : list
        Points of the lines that belong to a model.
    """

    def __init__(self, markup: str) -> None:
        self.texts: list[Text] = []
        self.lines: list[list[Point]] = []
        self.colours: set[str] = set()
        self._marks: list[Mark] = []
        self._lines_of: list[tuple[str, list[Point]]] = []
        self._lines_of_hover: list[tuple[str, list[Point]]] = []
        self._read(ElementTree.fromstring(markup), "", "")

    def marks(self, model: str) -> list[Mark]:
        return [mark for mark in self._marks if mark.model == model]

    def mark(self, model: str) -> Mark:
        """Return the first mark of a model."""
        return self.marks(model)[0]

    def line(self, model: str) -> list[Point]:
        """Return the first line of a model."""
        return next(points for name, points in self._lines_of if name == model)

    def lines_of(self, model: str) -> list[list[Point]]:
        """Return all lines of a model."""
        return [points for name, points in self._lines_of if name == model]

    def lines_of_hover(self, start: str) -> list[list[Point]]:
        """Return the lines whose tooltip starts with a text."""
        return [points for hover, points in self._lines_of_hover if hover.startswith(start)]

    def texts_of(self, model: str, text: str) -> list[Text]:
        return [each for each in self.texts if each.model == model and each.text == text]

    def horizontal_axis(self) -> Callable[[float], float]:
        """Return the function from pixels to values that the labels below the plot show."""
        lowest = max(y for y, n in self._rows().items() if n > 1)
        ticks = [((t.left + t.right) / 2, t) for t in self.texts if t.y == lowest]
        return _axis([(x, text.text) for x, text in ticks])

    def vertical_axis(self) -> Callable[[float], float]:
        """Return the function from pixels to values that the labels at the left show."""
        return _axis([(t.y, t.text) for t in self.texts if abs(t.right + 8) < 0.1])

    def _rows(self) -> dict[float, int]:
        numbers = [t.y for t in self.texts if _number(t.text) is not None]
        return {y: numbers.count(y) for y in numbers}

    def _read(self, element: ElementTree.Element, model: str, hover: str) -> None:
        model = element.get("data-model", model)
        hover = element.findtext(f"{_SVG}title", hover)
        self.colours |= {element.get(paint, "none") for paint in ("fill", "stroke")} - {"none"}
        if element.tag == f"{_SVG}path":
            x, y = map(float, re.findall(r"-?[\d.]+", element.get("transform", ""))[:2])
            shape, colour = element.get("d", ""), element.get("stroke", "")
            self._marks.append(Mark(model, x, y, shape, colour, hover))
        elif element.tag == f"{_SVG}polyline":
            pairs = (pair.split(",") for pair in element.get("points", "").split())
            points = [(float(x), float(y)) for x, y in pairs]
            self._lines_of.append((model, points))
            self._lines_of_hover.append((hover, points))
            self.lines += [points] if model else []
        elif element.tag == f"{_SVG}text":
            self.texts.append(_text(element, model))
        for child in element:
            self._read(child, model, hover)


def _text(element: ElementTree.Element, model: str) -> Text:
    text, size = element.text or "", int(element.get("font-size", ""))
    x, y = (float(element.get(name, "0")) for name in ("x", "y"))
    is_bold_number = element.get("font-weight") and _number(text) is not None
    length = (_BOLD_DIGIT if is_bold_number else _LETTER) * size * len(text)
    before = {"middle": length / 2, "end": length}.get(element.get("text-anchor", ""), 0.0)
    middle = y - round(0.3 * size)
    is_slanted = "rotate" in element.get("transform", "")
    return Text(text, model, x - before, x - before + length, middle, size, is_slanted)


def _axis(ticks: list[tuple[float, str]]) -> Callable[[float], float]:
    known = [(at, value) for at, text in ticks if (value := _number(text)) is not None]
    (start, low), (end, high) = known[0], known[-1]
    return lambda at: low + (at - start) * (high - low) / (end - start)


def _number(text: str) -> float | None:
    text = text.replace("\N{MINUS SIGN}", "-")
    return float(text) if re.fullmatch(r"[+-]?\d+(\.\d+)?", text) else None
