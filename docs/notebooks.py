"""The tutorials as notebooks, which Colab opens from the repository."""

import json
import posixpath
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TUTORIALS = Path(__file__).with_name("tutorials")
URLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
INSTALL = f'%pip install "concord-eval[report] @ git+{URLS["Source"]}"'
COLAB = URLS["Source"].replace("github.com", "colab.research.google.com/github", 1)
_CELL = re.compile(r"^```\{code-cell\} python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_FRONT_MATTER = re.compile(r"\A---\n.*?^---\n", re.MULTILINE | re.DOTALL)
_BADGE = re.compile(r"^\[!\[Open in Colab\].*\n\n", re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:)([^)#]+)(#[^)]*)?\)")


def badge(tutorial: str) -> str:
    """Return the line of a tutorial that opens it in Colab or downloads it."""
    link = f"[![Open in Colab](../images/colab.svg)]({COLAB}/blob/main/docs/tutorials"
    file = f"notebooks/{tutorial}.ipynb"
    return f"{link}/{file}) or [download the notebook]({file})"


def notebooks() -> Iterator[tuple[Path, str]]:
    """Yield the notebook of each tutorial, without outputs."""
    for page in sorted(TUTORIALS.glob("*.md")):
        if page.name != "index.md":
            content = notebook(page.read_text(encoding="utf-8"))
            text = json.dumps(content, indent=1, ensure_ascii=False)
            yield TUTORIALS / "notebooks" / f"{page.stem}.ipynb", f"{text}\n"


def notebook(page: str) -> dict[str, Any]:
    """Return a MyST page as the JSON of a notebook that installs Concord first."""
    text = _BADGE.sub("", _FRONT_MATTER.sub("", page))
    title, *rest = _CELL.split(text)  # text and code in turn
    head, _, introduction = title.strip().partition("\n\n")
    sources = [("markdown", head), ("code", INSTALL), ("markdown", introduction)]
    sources += [("markdown" if n % 2 else "code", part) for n, part in enumerate(rest)]
    cells = [(kind, source.strip()) for kind, source in sources if source.strip()]
    return {
        "cells": [_cell(f"cell-{n}", kind, source) for n, (kind, source) in enumerate(cells)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _cell(name: str, kind: str, source: str) -> dict[str, Any]:
    text = _LINK.sub(_to_site, source) if kind == "markdown" else source
    cell = {"cell_type": kind, "id": name, "metadata": {}, "source": text.splitlines(keepends=True)}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def _to_site(link: re.Match[str]) -> str:
    """Return a link to another page as one to the site, which a notebook can follow."""
    path = posixpath.normpath(posixpath.join("docs/tutorials", link[1]))
    page = re.sub(r"\.md$", ".html", path)
    return f"]({URLS['Documentation']}{page}{link[2] or ''})"
