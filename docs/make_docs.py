"""Write the reference pages from the catalogue, the conventions and the presets.

`python -m docs.make_docs` writes them; `--check` changes nothing and fails if one is out of date.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from concord.metrics_core.conventions.convention import Convention
from concord.metrics_core.conventions.presets import PRESETS
from concord.metrics_core.conventions.registry import CONVENTIONS
from concord.metrics_core.metrics.catalogue import CATALOGUE
from concord.metrics_core.metrics.scope import affected_metrics
from concord.metrics_core.results.stored import json_schema
from concord.pipeline.dvc.study import study_schema
from docs import option_types
from docs.cheat_sheet import cheat_sheet
from docs.definitions import plain
from docs.errata import ERRATA, Erratum
from docs.metric_pages import cell, metric_page, metrics_page
from docs.metric_pictures import picture
from docs.notebooks import notebooks
from docs.params_schema import params_schema
from docs.preset_pages import preset_page, presets_page
from docs.robustness_page import robustness_page
from docs.robustness_rows import collected
from docs.worked_example import STANDARD, worked_list

REFERENCE = Path(__file__).parent / "reference"
SCHEMAS = Path(__file__).parent / "_extra" / "schemas"  # the site publishes them as schemas/
METRICS = REFERENCE / "metrics"
PRESET_PAGES = REFERENCE / "presets"
PICTURES = REFERENCE.parent / "images" / "metrics"
ROOT = REFERENCE.parents[1]
HEADER = "<!-- made by docs/make_docs.py from the code: change that, not this page -->\n"
NOTES = {  # what a page says of a convention in addition to its row in the registry
    "duplicates": f"Under `keep`, {', '.join(m.name for m in CATALOGUE if not m.counts_copies)} "
    "count first copies only.",
    "unit_mean": "Set where [requests are the unit](../how-to/sessions.md), and only there.",
    "candidates": "Absent if all items were ranked: [sampled candidates](../how-to/sampled.md).",
    "propensity": "Absent if all relevant items count the same: "
    "[exposure bias](../how-to/exposure-bias.md). Other metrics of lists and ground truth are "
    "rejected. Evaluated are the users in `users`, else those of the ground truth and those with a "
    "list. A user without an observed relevant item counts 0 in sums and is left out of ratios, "
    "whatever the values of `user_recs_only` and `user_empty_truth`.",
    "exclude": "In params.yaml it is [`data.exclude`](../how-to/search-files.md#files), which the "
    "stages that load depend on.",
    "fairness_target": "AWRF raises an error without it: [fairness](../how-to/fairness.md).",
}


def main() -> None:
    """Write all pages, or compare them with what stands there."""
    pages = dict(_pages())
    stale = [path for path, text in pages.items() if _read(path) != text]
    folders = (METRICS, PRESET_PAGES, PICTURES)
    unknown = {path for folder in folders for path in folder.glob("*") if path not in pages}
    if "--check" in sys.argv:
        for path in [*stale, *sorted(unknown)]:
            print(f"{path.relative_to(ROOT)} is out of date; run `make docs`")
        sys.exit(bool(stale or unknown))
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    for path in stale:
        path.write_text(pages[path], encoding="utf-8")
    for path in unknown:
        path.unlink()
    print(f"{len(pages)} pages, {len(stale)} of them new or changed")


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _pages() -> Iterator[tuple[Path, str]]:
    yield METRICS / "README.md", _text([HEADER, *metrics_page()])
    for metric in CATALOGUE:
        yield METRICS / f"{metric.name}.md", _text([HEADER, *metric_page(metric)])
        if worked := worked_list(metric):
            yield PICTURES / f"{metric.name}.svg", picture(metric, worked)
    yield REFERENCE / "conventions.md", conventions_page()
    yield REFERENCE / "presets.md", _text([HEADER, *presets_page()])
    for name in PRESETS:
        yield PRESET_PAGES / f"{name}.md", _text([HEADER, *preset_page(name)])
    yield REFERENCE / "errata.md", _errata_page()
    yield option_types.PATH, option_types.option_types()
    yield option_types.FIELDS_PATH, option_types.option_fields()
    yield REFERENCE.parent / "cheat-sheet.md", _text([HEADER, *cheat_sheet()])
    yield REFERENCE / "robustness.md", _text([HEADER, *robustness_page(collected())])
    for schema in (params_schema(), study_schema(), json_schema()):
        text = json.dumps(schema, indent=2, ensure_ascii=False)
        yield SCHEMAS / schema["$id"].rpartition("/")[2], f"{text}\n"
    yield from notebooks()


def conventions_page() -> str:
    """Return the page of conventions: values and effects."""
    lines = [HEADER, "# Conventions\n"]
    lines += [
        "Each is a key under `conventions:` in `params.yaml`; `overrides:` sets it for one metric "
        "(`RR: {ties: input}`), or for its labels with a cutoff (`RR@k: {ties: input}`).\n"
    ]
    for each in CONVENTIONS:
        lines += [f"## `{each.name}`\n", f"{each.meaning}\n", *_values(each)]
        if each.name in NOTES:
            lines.append(f"{NOTES[each.name]}\n")
        lines.append(f"Changes {_in_short(affected_metrics(each.name))}.\n")
    return _text(lines)


def _values(convention: Convention) -> list[str]:
    rows = [f"- `{word}`: {meaning}" for word, meaning in convention.values.items()]
    rows += [f"- `{{{word}: …}}`: {meaning}" for word, meaning in convention.forms.items()]
    if convention.form and not convention.forms:
        rows.append(f"- `{convention.form}`")
    for name, key in convention.keys.items():
        rows += [f"- `{name}`: {key.form}"]
        rows += [f"  - `{word}`: {meaning}" for word, meaning in key.words.items()]
    if convention.describes_data:
        return [*rows, "\nIt belongs to the data: no preset sets it."]
    return [*rows, f"\n`standard` has `{plain(getattr(STANDARD, convention.name))}`."]


def _in_short(names: list[str]) -> str:
    return "every metric" if len(names) == len(CATALOGUE) else ", ".join(names)


def _errata_page() -> str:
    lines = [HEADER, "# Errata of well-known texts\n"]
    lines += [
        "Where a text contradicts its own formula, the formula wins; "
        "correct values are computed by the preset of the text.\n"
    ]
    for text in dict.fromkeys(erratum.text for erratum in ERRATA):
        lines += [f"## {text}\n", "| subject | printed | correct | reason |", "|---|---|---|---|"]
        lines += [_erratum(erratum) for erratum in ERRATA if erratum.text == text]
        lines.append("")
    return _text(lines)


def _erratum(erratum: Erratum) -> str:
    right = erratum.right()
    text = right if isinstance(right, str) else f"{right:.{erratum.digits}f}"
    return f"| {cell(erratum.subject)} | {cell(erratum.printed)} | {text} | {cell(erratum.why)} |"


def _text(lines: list[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    main()
