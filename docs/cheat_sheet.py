"""The cheat sheet: metric names of libraries, and Concord's names and presets for them."""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from concord.metrics_core.conventions.presets import PRESETS
from concord.metrics_core.metrics.catalogue import CATALOGUE

DOCS = Path(__file__).parent
LABELS = DOCS / "labels.csv"  # names of libraries that have no page in docs/migrate
INTRODUCTION = """# Cheat sheet: metric names of libraries

Each table lists the metric names of a library, Concord's name, and the preset under which Concord \
returns the same number. Replace 10 by your cutoff.

```python
import concord as cc

recs, truth = {"ann": ["tea", "rice", "milk"]}, {"ann": ["rice", "oil"]}
cc.evaluate(recs, truth, metrics=["nDCG@10"], conventions="rectools")["nDCG@10"]
```

The page of a [preset](reference/presets.md) says what it changes and cannot reproduce. \
If you do not know which library computed a number, [`cc.reconcile`](how-to/reconcile.md) finds \
its definition.
"""
ACCEPTED = """In upper or lower case, with `_` or `-` between words, and with a cutoff as in \
`ndcg@10`, `ndcg_at_10` or `ndcg_10`. A name selects the metric; the preset decides the formula.
"""
_ROW = re.compile(r"^\| `(.+)` \| `(.+)` \| `(\w+)` \| [\d.]+ \|$", re.MULTILINE)
_CUTOFF = re.compile(r"(@|_at_|_|\bk=)2\b")


def cheat_sheet() -> list[str]:
    """Return the lines of the page."""
    names = library_names()
    lines = [INTRODUCTION]
    for package in dict.fromkeys(PRESETS[preset].package for preset, _, _ in names):
        lines += [f"## {package}\n", "| library | Concord | preset |", "|---|---|---|"]
        lines += [
            f"| `{theirs}` | `{ours}` | [`{preset}`](reference/presets/{preset}.md) |"
            for preset, theirs, ours in names
            if PRESETS[preset].package == package
        ]
        lines.append("")
    return [*lines, *_accepted_names()]


def library_names() -> list[tuple[str, str, str]]:
    """Return preset, the library's name and Concord's name of each metric of a library."""
    return [*_names_of_pages(), *read_labels()]


def read_labels() -> list[tuple[str, str, str]]:
    """Return preset, the library's name and Concord's name of each row of `LABELS`."""
    with LABELS.open(encoding="utf-8", newline="") as file:
        return [(row["preset"], row["theirs"], row["ours"]) for row in csv.DictReader(file)]


def _names_of_pages() -> Iterator[tuple[str, str, str]]:
    for page in sorted((DOCS / "migrate").glob("*.md")):
        for theirs, ours, preset in _ROW.findall(page.read_text(encoding="utf-8")):
            yield preset, _CUTOFF.sub(r"\g<1>10", theirs), _CUTOFF.sub(r"\g<1>10", ours)


def _accepted_names() -> Iterator[str]:
    yield "## Other names that Concord accepts\n"
    yield ACCEPTED
    yield "| Concord | also accepted |"
    yield "|---|---|"
    for metric in CATALOGUE:
        if metric.aliases:
            names = ", ".join(f"`{each}`" for each in metric.aliases.split())
            yield f"| [{metric.name}](reference/metrics/{metric.name}.md) | {names} |"
