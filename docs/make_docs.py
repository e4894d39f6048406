"""Write the reference pages from the catalogue, the conventions and the presets.

`python -m docs.make_docs` writes them; `--check` changes nothing and fails if one is out of date.
"""

import contextlib
import inspect
import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

import concord as cc
from concord.metrics_core.conventions.convention import Convention
from concord.metrics_core.conventions.library_presets import Preset
from concord.metrics_core.conventions.presets import PRESETS
from concord.metrics_core.conventions.presets import preset as conventions_of_preset
from concord.metrics_core.conventions.registry import CONVENTIONS
from concord.metrics_core.data.argument_types import TableColumns
from concord.metrics_core.evaluation.panel import changed_conventions, panel
from concord.metrics_core.metrics.catalogue import CATALOGUE
from concord.metrics_core.metrics.label import parse
from concord.metrics_core.metrics.metric import Metric
from concord.metrics_core.metrics.scope import affected_metrics
from concord.metrics_core.results.stored import json_schema
from concord.pipeline.dvc.study import study_schema
from docs import option_types
from docs.cheat_sheet import cheat_sheet
from docs.errata import ERRATA, Erratum
from docs.notebooks import notebooks
from docs.params_schema import params_schema
from docs.robustness_page import robustness_page
from docs.robustness_rows import collected
from tests.parity.measure import residue

REFERENCE = Path(__file__).parent / "reference"
METRICS = REFERENCE / "metrics"
ROOT = REFERENCE.parents[1]
STANDARD = cc.preset("standard")
HEADER = "<!-- made by docs/make_docs.py from the code: change that, not this page -->\n"
LISTS = {"u": ["a", "b", "c", "d", "e"]}
TRUTH = {"u": {"b": 1, "d": 3, "f": 2, "e": 0}}
SUBTOPICS = pl.DataFrame(
    {
        "user": "u",
        "item": ["b", "d", "d", "f", "f", "e"],
        "subtopic": ["car", "car", "cat", "cat", "film", "cat"],
        "grade": [1, 3, 1, 2, 2, 0],
    }
)
NEEDS = {
    "train": "`train` (user, item)",
    "items": "`items` (the catalogue)",
    "features": "`items` with categories or vectors",
    "groups": "`items` with the column `group` named",
    "k": "a cutoff",
}
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

PRESET_NOTES = {  # what a page says of a preset in addition to its definition
    "polimi": """\
The library is no package. Formulas in plain Python (`tests/parity/libraries/with_polimi.py`) \
gave the values of its own code on all cases. Its metrics in Concord:

| its name | Concord |
|---|---|
| PRECISION, RECALL, F1, MRR, NDCG, COVERAGE_ITEM | P, R, F1, RR, nDCG, Coverage |
| MAP | AP; the authors' later code calls this division MAP_MIN_DEN |
| PRECISION_RECALL_MIN_DEN | P under `polimi_min_den` |
| HIT_RATE | Hit, which counts the hits |
| SHANNON_ENTROPY | Entropy |
| DIVERSITY_MEAN_INTER_LIST | Personalization, if every list has k items |
| NOVELTY | Novelty × k / items of the catalogue, if every list has k items; \
with `novelty_population: interactions` and `cold_item: zero` |
| AVERAGE_POPULARITY | ARP / interactions of the most popular item |
| DIVERSITY_GINI | 1 - Gini × n / (n + 1), for n items of the catalogue |
| ROC_AUC | none: every item of the list that is not relevant is negative, judged or not |
| ARHR | none: the sum of 1 / rank over all hits |
| DIVERSITY_HERFINDAHL, DIVERSITY_SIMILARITY, COVERAGE_USER | none |

Its metrics of all lists read only the lists of users with a relevant item; Concord reads all lists.
""",
}


def main() -> None:
    """Write all pages, or compare them with what stands there."""
    pages = dict(_pages())
    stale = [path for path, text in pages.items() if _read(path) != text]
    unknown = {path for path in METRICS.glob("*.md") if path not in pages}
    if "--check" in sys.argv:
        for path in [*stale, *sorted(unknown)]:
            print(f"{path.relative_to(ROOT)} is out of date; run `make docs`")
        sys.exit(bool(stale or unknown))
    METRICS.mkdir(parents=True, exist_ok=True)
    for path in stale:
        path.write_text(pages[path], encoding="utf-8")
    for path in unknown:
        path.unlink()
    print(f"{len(pages)} pages, {len(stale)} of them new or changed")


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _pages() -> Iterator[tuple[Path, str]]:
    yield METRICS / "README.md", _metrics_page()
    for metric in CATALOGUE:
        yield METRICS / f"{metric.name}.md", metric_page(metric)
    yield REFERENCE / "conventions.md", conventions_page()
    yield REFERENCE / "presets.md", _presets_page()
    yield REFERENCE / "errata.md", _errata_page()
    yield option_types.PATH, option_types.option_types()
    yield option_types.FIELDS_PATH, option_types.option_fields()
    yield REFERENCE.parent / "cheat-sheet.md", _text([HEADER, *cheat_sheet()])
    yield REFERENCE / "robustness.md", _text([HEADER, *robustness_page(collected())])
    schema = json.dumps(params_schema(), indent=2, ensure_ascii=False)
    yield REFERENCE / "params.schema.json", f"{schema}\n"
    schema = json.dumps(study_schema(), indent=2, ensure_ascii=False)
    yield REFERENCE / "study.schema.json", f"{schema}\n"
    schema = json.dumps(json_schema(), indent=2, ensure_ascii=False)
    yield REFERENCE / "comparison.schema.json", f"{schema}\n"
    yield from notebooks()


def _metrics_page() -> str:
    lines = [
        HEADER,
        "# Metrics\n",
        "Each page has the formula, the conventions that change the value, "
        "what each text and library does, and a derivation. "
        "[Metric names](../../concepts/metrics-and-conventions.md#metric-names) have parameters "
        "and a cutoff.\n",
        "Other names of a metric, on its page, are accepted as well. A name decides no value: the "
        "conventions do. `HR` and `Success` are Hit, `MAP` is AP, and what AP divides by is "
        "`ap_denominator`, under any name. To have the number of a library, choose its "
        "[preset](../presets.md).\n",
        "| metric | formula | family | better | source |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| [{m.name}]({m.name}.md) | {_cell(m.formula)} | {m.family} | {_better(m)} | {m.source} |"
        for m in CATALOGUE
    ]
    return _text(lines)


def metric_page(metric: Metric) -> str:
    """Return the page of a metric."""
    label = _label(metric)
    lines = [HEADER, f"# {metric.name}\n", f"**{_cell(metric.formula)}**\n"]
    body = (inspect.getdoc(metric.function) or "").split("\n", 1)[1:]
    lines += _prose(body[0]) if body else []
    low, high = (f"{bound:g}" for bound in metric.range)
    lines += [
        f"- written as `{label}`" + ("" if metric.takes_k else "; it takes no cutoff"),
        f"- range under `standard`: {low} to {'∞' if high == 'inf' else high}; "
        f"{_better(metric)} is better",
        f"- family: {metric.family}"
        + ("; one number over all users" if metric.is_aggregate else ""),
    ]
    if metric.aliases:
        lines.append(f"- other names: {', '.join(f'`{each}`' for each in metric.aliases.split())}")
    if metric.needs:
        lines.append(f"- needs {', '.join(NEEDS[need] for need in metric.needs)}")
    if metric.reads_subtopics:
        lines.append("- needs the [subtopics](../../how-to/subtopics.md) of the ground truth")
    if metric.family != "beyond":
        averages = "gives the expected value" if metric.averages_ties else "raises an error"
        lines.append(f"- `ties: average` {averages}")
        only = _label(metric, "judged_only=true")
        lines.append(f"- on judged items only, each of them once: `{only}`")
    lines.append(f"- {_copies(metric)}")
    lines += ["", *_convention_table(metric), *_who_does_what(metric, label)]
    if metric.family != "beyond":
        lines += ["## On paper\n", "```text", _derivation(label), "```\n"]
    return _text(lines)


def _copies(metric: Metric) -> str:
    """Return what `duplicates: keep` means for the metric."""
    if metric.counts_copies:
        return "`duplicates: keep` counts each copy of an item"
    once = "an item counts once a list" if metric.is_aggregate else "later copies are misses"
    return f"`duplicates: keep` counts first copies only: {once}"


def _label(metric: Metric, more: str = "") -> str:
    inside = [f"{each.name}={each.example:g}" for each in metric.parameters]
    inside += [more] if more else []
    stem = metric.name + (f"({','.join(inside)})" if inside else "")
    return f"{stem}@5" if metric.takes_k else stem


def _prose(body: str) -> list[str]:
    """Return a docstring's sections as Markdown, without `Returns`: the page gives the range."""
    lines: list[str] = []
    for section in re.split(r"\n\n(?=\w+\n-+\n)", body.strip()):
        title, rule, text = section.partition("\n---")
        if not rule:
            lines += [*section.splitlines(), ""]
        elif title != "Returns":
            lines += [f"**{title}**\n", *text.lstrip("-\n").splitlines(), ""]
    return lines


def _convention_table(metric: Metric) -> list[str]:
    rows = [
        f"| `{each.name}` | {_value(getattr(STANDARD, each.name))} "
        f"| {_cell(each.allowed_values())} | {_cell(each.meaning)} |"
        for each in CONVENTIONS
        if metric.name in affected_metrics(each.name) and not each.describes_data
    ]
    head = ["## Conventions that change it\n", "| convention | standard | values | meaning |"]
    return [*head, "|---|---|---|---|", *rows, ""]


def _who_does_what(metric: Metric, label: str) -> list[str]:
    definition_panel = panel(parse(label), STANDARD)
    definitions = [d for d in definition_panel.definitions if set(d.presets) - {"standard"}]
    if not definitions:
        return []
    head = ["## Who does what\n", "| as defined by | differs from `standard` in |", "|---|---|"]
    rows = [
        f"| {', '.join(f'`{name}`' for name in d.presets)} | {_changes(label, d.conventions)} |"
        for d in definitions
    ]
    note = (
        "\nHow lists are ranked (ties, copies) is left out here: [presets](../presets.md) say it.\n"
    )
    return [*head, *rows, note]


def _changes(label: str, conventions: Any) -> str:
    changed = changed_conventions(parse(label), conventions, STANDARD)
    return ", ".join(f"`{name}: {_plain(value)}`" for name, value in changed.items()) or "nothing"


def _derivation(label: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()):
        if parse(label).metric.reads_subtopics:
            columns: TableColumns = {"truth": {"subtopic": "subtopic"}}
            return str(cc.explain(LISTS, SUBTOPICS, user="u", metric=label, columns=columns))
        return str(cc.explain(LISTS, TRUTH, user="u", metric=label, conventions=STANDARD))


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
    return [*rows, f"\n`standard` has `{_plain(getattr(STANDARD, convention.name))}`."]


def _in_short(names: list[str]) -> str:
    return "every metric" if len(names) == len(CATALOGUE) else ", ".join(names)


def _presets_page() -> str:
    lines = [HEADER, "# Presets\n"]
    lines += [
        "`concord pin NAME` writes one into `params.yaml`; "
        "`concord presets diff A B` compares two. "
        "A preset with a package is compared with that package, value by value (`tests/parity`); "
        "one without reproduces a text, or the source of a library that no package installs.\n"
    ]
    for name, preset in PRESETS.items():
        lines += [f"## `{name}`\n", f"{preset.sentence}\n", *_preset(name, preset)]
    return _text(lines)


def _preset(name: str, preset: Preset) -> Iterator[str]:
    if preset.package:
        yield f"- checked against {preset.package}"
    yield f"- defines {', '.join(preset.metrics.split()) or 'every metric'}"
    standard, conventions = STANDARD.preset_values(), conventions_of_preset(name).preset_values()
    changed = [
        f"`{name}: {_plain(conventions[name])}`"
        for name in conventions
        if conventions[name] != standard[name]
    ]
    if changed:
        yield f"- differs from `standard` in {', '.join(changed)}"
    for metric, values in conventions_of_preset(name).overrides.items():
        changes = ", ".join(f"`{key}: {_plain(value)}`" for key, value in values.items())
        yield f"- for {metric}: {changes}"
    for row in residue(name):
        yield f"- no convention expresses ({row['labels']}, case `{row['cases']}`): {row['reason']}"
    yield ""
    if name in PRESET_NOTES:
        yield PRESET_NOTES[name]


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
    return (
        f"| {_cell(erratum.subject)} | {_cell(erratum.printed)} | {text} | {_cell(erratum.why)} |"
    )


def _better(metric: Metric) -> str:
    return "higher" if metric.higher_is_better else "lower"


def _value(value: Any) -> str:
    return f"`{_plain(value)}`"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_plain(inner)}" for name, inner in value.items()) + "}"
    return value if isinstance(value, str) else json.dumps(value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _text(lines: list[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    main()
