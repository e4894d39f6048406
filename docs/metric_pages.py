"""docs/reference/metrics: a page for each metric, and the table of all."""

import inspect
import re
from collections.abc import Iterator

from concord.metrics_core.conventions.registry import CONVENTIONS
from concord.metrics_core.metrics.catalogue import CATALOGUE
from concord.metrics_core.metrics.label import parse
from concord.metrics_core.metrics.metric import Metric
from concord.metrics_core.metrics.scope import affected_metrics
from docs.definitions import (
    format_value,
    plain,
    presets_of,
    users_in_words,
    users_table,
    values_table,
)
from docs.metric_pictures import alternative
from docs.worked_example import (
    ITEMS,
    LISTS,
    STANDARD,
    SUBTOPICS,
    TRAIN,
    TRUTH,
    label_of,
    read_formulas,
    values_of,
)

PICTURES = "../../images/metrics"
NEEDS = {
    "train": "`train` (user, item)",
    "items": "`items` (the catalogue)",
    "features": "`items` with categories or vectors",
    "groups": "`items` with the column `group` named",
    "k": "a cutoff",
}
_REFERENCE = re.compile(r"\(\d{4}\), ")  # is in the first line of a reference
_IDENTIFIER = re.compile(r"(doi:|arXiv:)(\S+)")
_RESOLVERS = {"doi:": "https://doi.org/", "arXiv:": "https://arxiv.org/abs/"}


def metrics_page() -> Iterator[str]:
    """Yield the lines of the table of all metrics."""
    yield "# Metrics\n"
    yield (
        "Each page has the formula, when to use the metric, a worked list, what each text and "
        "library computes for it, and the conventions that change the value. "
        "[Metric names](../../concepts/metrics-and-conventions.md#metric-names) have parameters "
        "and a cutoff. [Which metric?](../../concepts/which-metric.md) helps to choose.\n"
    )
    yield (
        "Other names of a metric, on its page, are accepted as well. A name decides no value: the "
        "conventions do. `HR` and `Success` are Hit, `MAP` is AP, and what AP divides by is "
        "`ap_denominator`, under any name. To have the number of a library, choose its "
        "[preset](../presets.md).\n"
    )
    yield "| metric | formula | family | better | source |"
    yield "|---|---|---|---|---|"
    for m in CATALOGUE:
        cells = (f"[{m.name}]({m.name}.md)", cell(m.formula), m.family, _better(m), m.source)
        yield f"| {' | '.join(cells)} |"
    yield "\n## The example\n"
    grades = ", ".join(f"{item} {grade}" for item, grade in TRUTH["u"].items())
    yield (
        f"All values on the pages are computed on the same data. User u has the list "
        f"{' '.join(LISTS['u'])}, and the ground truth has the grades {grades}. Metrics of all "
        f"lists also read that of user v: {' '.join(LISTS['v'])}.\n"
    )
    yield from _rows("Training set", TRAIN.rows())
    yield from _rows("Catalogue (item, categories, group)", ITEMS.rows())
    yield from _rows("Subtopics (user, item, subtopic, grade)", SUBTOPICS.rows())


def metric_page(metric: Metric) -> Iterator[str]:
    """Yield the lines of the page of a metric."""
    text = read_formulas()[metric.name]
    yield f"# {metric.name}\n"
    for formula in text.formula:
        yield f"```math\n{formula}\n```\n"
    if text.where:
        yield f"{text.where}.\n"
    yield f"{text.text}\n"
    yield f"See also {', '.join(f'[{name}]({name}.md)' for name in text.see)}.\n"
    yield from _example(metric)
    yield from _libraries(metric)
    yield from _convention_table(metric)
    yield from _details(metric)


def cell(text: str) -> str:
    """Return a text for a cell of a table."""
    return text.replace("|", "\\|")


def _rows(title: str, rows: list[tuple[object, ...]]) -> Iterator[str]:
    yield f"{title}: {'; '.join(' '.join(map(str, row)) for row in rows)}.\n"


def _example(metric: Metric) -> Iterator[str]:
    label = label_of(metric)
    yield "## On a list\n"
    if description := alternative(metric):
        yield f"![{description}]({PICTURES}/{metric.name}.svg)\n"
        if metric.family != "beyond":
            yield "[`cc.explain`](../../how-to/reconcile.md) prints the same for your users.\n"
        else:
            yield "Training set and catalogue are in the [example](README.md#the-example).\n"
    else:
        which = "lists" if metric.is_aggregate else "list"
        value = format_value(values_of("standard")[metric.name])
        yield f"`{label}` of the {which} of the [example](README.md#the-example) is {value}.\n"


def _libraries(metric: Metric) -> Iterator[str]:
    if len(presets_of(metric)) < 2:  # noqa: PLR2004
        return
    yield "## Libraries and texts\n"
    yield (
        "A row is one value: what each library or text has for the example, computed with its "
        "[preset](../presets.md).\n"
    )
    yield from values_table(metric)
    yield ""
    if metric.name in affected_metrics("user_no_recs"):
        yield "What a user without a list or without a relevant item counts in the mean:\n"
        yield from users_table(metric)
        yield ""
    yield "How lists are ranked (ties, copies) is on the page of each preset.\n"


def _convention_table(metric: Metric) -> Iterator[str]:
    yield "## Conventions that change it\n"
    yield "| convention | standard | values | meaning |"
    yield "|---|---|---|---|"
    for each in CONVENTIONS:
        if metric.name in affected_metrics(each.name) and not each.describes_data:
            standard, values = plain(getattr(STANDARD, each.name)), cell(each.allowed_values())
            yield f"| `{each.name}` | `{standard}` | {values} | {cell(each.meaning)} |"
    yield ""


def _details(metric: Metric) -> Iterator[str]:
    low, high = (f"{bound:g}" for bound in metric.range)
    _, _, body = (inspect.getdoc(metric.function) or "").partition("\n")
    sections = dict(_sections(body))
    yield "## Details\n"
    if text := sections.get(""):
        yield f"{text}\n"
    yield f"- written as `{label_of(metric)}`" + ("" if metric.takes_k else "; it takes no cutoff")
    if metric.aliases:
        yield f"- other names: {', '.join(f'`{each}`' for each in metric.aliases.split())}"
    top = "∞" if high == "inf" else high
    yield f"- range under `standard`: {low} to {top}; {_better(metric)} is better"
    yield f"- family: {metric.family}" + "; one number over all users" * metric.is_aggregate
    if metric.name in affected_metrics("user_no_recs"):
        users = users_in_words(parse(label_of(metric)).conventions(STANDARD))
        yield f"- users under `standard`: {users}"
    if metric.needs:
        yield f"- needs {', '.join(NEEDS[need] for need in metric.needs)}"
    if metric.reads_subtopics:
        yield "- needs the [subtopics](../../how-to/subtopics.md) of the ground truth"
    if metric.family != "beyond":
        averages = "gives the expected value" if metric.averages_ties else "raises an error"
        yield f"- `ties: average` {averages}"
        only = label_of(metric, "judged_only=true")
        yield f"- on judged items only, each of them once: `{only}`"
    yield f"- {_copies(metric)}"
    if "Raises" in sections:
        error, condition = sections["Raises"].split(maxsplit=1)
        yield f"- raises `{error}` {condition[0].lower()}{' '.join(condition[1:].split())}"
    yield "\n## References\n"
    for reference in _references(sections["References"]):
        yield f"- {reference}"


def _sections(body: str) -> Iterator[tuple[str, str]]:
    """Yield title and text of each section of a docstring; the first has the title ""."""
    for section in re.split(r"\n\n(?=\w+\n-+\n)", body.strip()):
        title, rule, text = section.partition("\n---")
        yield (title, text.lstrip("-\n")) if rule else ("", section)


def _references(text: str) -> list[str]:
    references: list[str] = []
    for line in text.splitlines():
        if _REFERENCE.search(line) or not references:
            references.append(line)
        else:
            references[-1] += f" {line}"
    return [re.sub(r" {2,}", " ", _IDENTIFIER.sub(_link, reference)) for reference in references]


def _link(found: re.Match[str]) -> str:
    kind, identifier = found.groups()
    return f"[{kind}{identifier}]({_RESOLVERS[kind]}{identifier})"


def _copies(metric: Metric) -> str:
    """Return what `duplicates: keep` means for the metric."""
    if metric.counts_copies:
        return "`duplicates: keep` counts each copy of an item"
    once = "an item counts once a list" if metric.is_aggregate else "later copies are misses"
    return f"`duplicates: keep` counts first copies only: {once}"


def _better(metric: Metric) -> str:
    return "higher" if metric.higher_is_better else "lower"
