"""Warnings about ids: rewritten ids, same files, ids that do not match."""

from collections.abc import Iterator, Mapping, Sequence

from concord.metrics_core.errors import SettingNames, in_words
from concord.metrics_core.evaluation.model_result import EvaluationData, Json, Models, lists_of
from concord.metrics_core.evaluation.warnings.base import warned
from concord.metrics_core.results.comparison_parts import Warned
from concord.metrics_core.results.words import listed

_NAMED = 4  # tables of one warning


def rewritten_ids(models: Models, ground: EvaluationData) -> Iterator[Warned]:
    """Return the warning on lists and truth that were read so."""
    truths = ground.truth_quality.get("folds") or {"": ground.truth_quality}
    tables = {
        **{f"the truth of fold {fold}" if fold else "the truth": q for fold, q in truths.items()},
        **{name: each.quality for name, each in lists_of(models).items()},
    }
    changed = {name: q["ids_rewritten"] for name, q in tables.items() if "ids_rewritten" in q}
    who = [m for m, each in models.items() if any("ids_rewritten" in e.quality for e in each.each)]
    yield from rewritten_warning(changed, who)


def rewritten_warning(
    changed: Mapping[str, Mapping[str, Json]], who: Sequence[str]
) -> Iterator[Warned]:
    """Return the warning; `changed`: name of a table -> column -> its `rows` and an `example`."""
    found = [(name, column, of) for name, columns in changed.items() for column, of in columns.items()]  # fmt: skip
    if not found:
        return
    example = found[0][2]["example"]
    where = [
        f"{column} in {in_words(of['rows'], 'row')} of {name}"
        for name, column, of in found[:_NAMED]
    ]
    if len(found) > _NAMED:
        where.append(f"{in_words(len(found) - _NAMED, 'more column')}")
    yield warned(
        "ids_rewritten",
        "notice",
        who,
        f"Ids that end in `.0` are read as whole numbers, such as {example!r} as {example[:-2]!r}: {listed(where)}.",
        "write these ids as whole numbers in all tables",
    )


Fits = Mapping[str, Json]


def id_warnings(models: Models, settings: SettingNames) -> Iterator[Warned]:
    """On ids, model by model and together."""
    yield from _same_file(models)
    yield from fit_warnings({m: e.summary.get("fit", {}) for m, e in models.items()}, settings)


def fit_warnings(fits: Fits, settings: SettingNames) -> Iterator[Warned]:
    """On what the ids of lists have in common with the truth; `fits`: model -> as `fit_of` says it."""
    yield from _spelled_otherwise(fits)
    yield from _no_common_item(fits)
    yield from _not_in_catalogue(fits, settings)


def _same_file(models: Models) -> Iterator[Warned]:
    hashes = {model: evaluated.quality.get("sha256") for model, evaluated in models.items()}
    names = list(models)
    for n, model in enumerate(names):
        twins = [m for m in names[n + 1 :] if hashes[m] and hashes[m] == hashes[model]]
        if twins and hashes[model] not in [hashes[m] for m in names[:n]]:
            yield warned(
                "same_file",
                "serious",
                [model, *twins],
                f"{listed([model, *twins])} are the same file, byte for byte.",
                "name the file that each model left, or remove the copies",
            )


def _spelled_otherwise(fits: Fits) -> Iterator[Warned]:
    for kind in ("users", "items"):
        counts = {model: fit.get(kind, {}).get("alike", 0) for model, fit in fits.items()}
        who = [model for model, count in counts.items() if count]
        if who:
            most = max(who, key=counts.__getitem__)
            yield warned(
                "spelled_otherwise",
                "serious",
                who,
                f"Up to {in_words(counts[most], kind.removesuffix('s'))} of the lists ({most}) would match the truth "
                "but for capitals or leading zeros; as they are, they do not.",
                "write ids alike in all files",
            )


def _no_common_item(fits: Fits) -> Iterator[Warned]:
    of_items = {model: fit.get("items", {}) for model, fit in fits.items()}
    who = [model for model, items in of_items.items() if items.get("listed") and not items["known"]]
    if who:
        yield warned(
            "no_common_item",
            "serious",
            who,
            "No item of the lists stands in the truth, for any user.",
            "check that both files name items by the same ids",
        )


def _not_in_catalogue(fits: Fits, settings: SettingNames) -> Iterator[Warned]:
    rows = {model: fit.get("unknown_items") or 0 for model, fit in fits.items()}
    who = [model for model, count in rows.items() if count]
    if who:
        most = max(who, key=rows.__getitem__)
        yield warned(
            "not_in_catalogue",
            "notice",
            who,
            f"Up to {in_words(rows[most], 'row')} of the lists ({most}) hold items that the catalogue lacks; "
            f"{settings.input('unknown_items', 'keep')} let them pass. Coverage and Gini of the catalogue leave them out.",
            "add them to the catalogue, or leave them out of the lists",
        )
