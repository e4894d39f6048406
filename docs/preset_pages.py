"""docs/reference/presets: a page for each preset, and the table of all."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import polars as pl

from concord.metrics_core.conventions.presets import PRESETS
from concord.metrics_core.conventions.presets import preset as conventions_of_preset
from concord.metrics_core.conventions.registry import CONVENTION
from docs.cheat_sheet import library_names
from docs.definitions import OF_USERS, format_value, plain, users_in_words
from docs.worked_example import STANDARD, values_of
from examples.published.texts import EXAMPLES
from tests.parity.measure import LIBRARIES, VALUES, residue

LIBRARY_PAGES = {  # pages that show how to move from a library to Concord
    "ir_measures": "ir-measures",
    "lightgbm": "gradient-boosting",
    "mlflow_retriever": "mlflow-evaluate",
    "ms_recommenders": "recommenders",
    "pytrec_eval": "pytrec-eval",
    "ranx": "ranx",
    "recbole": "recbole",
    "rectools": "rectools",
    "trec_eval": "pytrec-eval",
    "xgboost": "gradient-boosting",
}
NOTES = {  # what a page says in addition to the definition
    "polimi": """\
The library is no package. Formulas in plain Python (`tests/parity/libraries/with_polimi.py`) \
gave the values of its own code on all cases. What names do not say of its metrics:

| its name | Concord |
|---|---|
| MAP | AP; the authors' later code calls this division MAP_MIN_DEN |
| PRECISION_RECALL_MIN_DEN | P under `polimi_min_den` |
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


def presets_page() -> Iterator[str]:
    """Yield the lines of the table of all presets."""
    yield "# Presets\n"
    yield (
        "A preset is the definitions of one library or text, under one name. "
        "`concord pin NAME` writes one into `params.yaml`; "
        "`concord presets diff A B` compares two. "
        "A preset with a package is compared with that package, value by value (`tests/parity`); "
        "one without reproduces a text, or the source of a library that no package installs.\n"
    )
    yield "| preset | library or text, and what it is known for | compared with |"
    yield "|---|---|---|"
    for name, preset in PRESETS.items():
        package = f"`{preset.package}`" if preset.package else ""
        yield f"| [`{name}`](presets/{name}.md) | {preset.sentence} | {package} |"


def preset_page(name: str) -> Iterator[str]:
    """Yield the lines of the page of a preset."""
    yield f"# {name}\n"
    yield f"{PRESETS[name].sentence}\n"
    yield from _use(name)
    if name != "standard":
        yield from _differences(name)
    yield from _values(name)
    yield from _evidence(name)
    yield from _names(name)
    if name in NOTES:
        yield f"## Notes\n\n{NOTES[name]}"


def _use(name: str) -> Iterator[str]:
    metrics = values_of(name)
    metric = "nDCG" if "nDCG" in metrics else next(iter(metrics))
    yield "```python"
    yield f'cc.evaluate(recs, truth, metrics=["{metric}@10"], conventions="{name}")'
    yield "```\n"
    page = next((page for start, page in LIBRARY_PAGES.items() if name.startswith(start)), "")
    yield (
        f"`concord pin {name}` writes it into `params.yaml`."
        + f' `cc.explain(…, versus="{name}")` shows what it changes for one user.'
        * (name != "standard")
        + (f" [Calls of the library and of Concord](../../migrate/{page}.md)." if page else "")
        + "\n"
    )


def _differences(name: str) -> Iterator[str]:
    conventions = conventions_of_preset(name)
    ours, standard = conventions.preset_values(), STANDARD.preset_values()
    yield "## Differences from standard\n"
    yield "| convention | here | `standard` | meaning |"
    yield "|---|---|---|---|"
    for key, value in ours.items():
        if value != standard[key]:
            yield _row(key, value, "")
    metrics: dict[tuple[str, str], list[str]] = {}
    for metric, values in conventions.overrides.items():
        for key, value in values.items():
            metrics.setdefault((key, json.dumps(value)), []).append(metric)
    for (key, value), names in metrics.items():
        yield _row(key, json.loads(value), f" of {', '.join(names)}")
    yield ""


def _row(key: str, value: Any, metrics: str) -> str:
    convention = CONVENTION[key]
    if isinstance(value, dict):
        meaning = next((convention.forms[kind] for kind in value if kind in convention.forms), "")
    else:
        meaning = convention.values.get(value, "")
    about = convention.meaning
    if meaning:
        about = f"{about.partition(';')[0].removesuffix('.')}: {meaning}"
    standard = plain(getattr(STANDARD, key))
    name = f"[`{key}`](../conventions.md#{key}){metrics}"
    return f"| {name} | `{plain(value)}` | `{standard}` | {about} |"


def _values(name: str) -> Iterator[str]:
    """Yield the values of the example, and what users without a list or relevant item count."""
    values, standard = values_of(name), values_of("standard")
    yield "## Metrics\n"
    yield "Values of the [example](../metrics/README.md#the-example).\n"
    yield f"| metric | `{name}` | `standard` |" if name != "standard" else "| metric | value |"
    yield "|---|--:|--:|" if name != "standard" else "|---|--:|"
    for metric, value in values.items():
        cells = [f"[{metric}](../metrics/{metric}.md)", format_value(value)]
        cells += [format_value(standard[metric])] if name != "standard" else []
        yield f"| {' | '.join(cells)} |"
    yield ""
    conventions = conventions_of_preset(name)
    of_metrics = {*OF_USERS} & {key for values in conventions.overrides.values() for key in values}
    yield (
        f"Users in the mean: {users_in_words(conventions)}"
        + ("; the rows of single metrics above come first" if of_metrics else "")
        + ".\n"
    )


def _evidence(name: str) -> Iterator[str]:
    package, rows = PRESETS[name].package, residue(name)
    n_printed = sum(len(example.cutoffs) for example in EXAMPLES if example.preset == name)
    if package:
        n_values, n_cases = _n_compared()[name]
        yield "## Compared with the library\n"
        yield (
            f"{n_values:,} values of {package} for {n_cases} test cases are compared with "
            "Concord's, per user and as means: [what is checked](../../project/trust.md#numbers)."
            + (" They agree, except for what follows." if rows else " They agree.")
            + "\n"
        )
    elif n_printed:
        yield "## Compared with the text\n"
        yield (
            f"{n_printed} numbers that the text prints are computed again: "
            "[published numbers](../published.md#five-texts-on-metrics).\n"
        )
    if rows:
        yield "| no convention expresses | labels | test case |"
        yield "|---|---|---|"
        for row in rows:
            cells = (row[key].replace("|", "\\|") for key in ("reason", "labels", "cases"))
            reason, labels, cases = cells
            yield f"| {reason} | `{labels}` | `{cases}` |"
        yield ""


def _names(name: str) -> Iterator[str]:
    names = [(theirs, ours) for preset, theirs, ours in library_names() if preset == name]
    if names:
        yield "## Names\n"
        yield "| library | Concord |"
        yield "|---|---|"
        for theirs, ours in names:
            yield f"| `{theirs}` | `{ours}` |"
        yield ""


@cache
def _n_compared() -> Mapping[str, tuple[int, int]]:
    """Return of each preset the number of values that are stored, and of cases."""
    columns = ["preset", "case", "value"]
    stored = pl.concat(
        pl.read_parquet(path, columns=columns)
        for library in LIBRARIES
        if (path := VALUES / f"{library}.parquet").exists()
    ).drop_nulls()
    counts = stored.group_by("preset").agg(pl.len(), pl.col("case").n_unique())
    return {preset: (n_values, n_cases) for preset, n_values, n_cases in counts.iter_rows()}
