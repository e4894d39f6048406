"""Parse a page: tags, attributes, visible text."""

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "input", "hr", "base", "wbr"}
LINES = {
    "address", "article", "caption", "details", "div", "figcaption", "figure", "footer", "form",
    "h1", "h2", "h3", "h4", "header", "li", "nav", "p", "pre", "section", "summary", "svg",
    "table", "title", "tr",
}  # fmt: skip


class Markup(HTMLParser):
    """`tags` holds (name, attributes) of every element; `unclosed` must end empty."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.unclosed: list[str] = []
        self.text: list[str] = []
        self._visible: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        in_cell = not {"td", "th"}.isdisjoint(self.unclosed)
        self._visible.append(
            " " if in_cell else " | " if tag in {"td", "th"} else "\n" if tag in LINES else ""
        )
        if tag not in VOID:
            self.unclosed.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.unclosed.pop() == tag
        if tag in LINES and {"td", "th"}.isdisjoint(self.unclosed):
            self._visible.append("\n")

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        in_chart = "svg" in self.unclosed
        if in_chart and self.unclosed[-1] == "title" and self.unclosed[-2] != "svg":
            tooltip = f"\n{data}\n"
            self._visible += [] if tooltip in self._visible else [tooltip]
        elif not in_chart and self.unclosed[-1:] not in (["script"], ["style"]):
            self._visible.append(data.replace("\n", " "))

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == name]

    def lines(self) -> str:
        """Return the visible text: a line per block, row of a table, and tooltip of a chart."""
        text = re.sub(r"[^\S\n\xa0]+", " ", "".join(self._visible))
        lines = (line.strip(" |") for line in text.split("\n"))
        return "\n".join(line for line in lines if line) + "\n"
