"""Ids that are whole numbers with `.0`, which are read without it."""

from collections.abc import Iterator, Mapping, Sequence

from concord.metrics_core.checking.problems import in_words
from concord.metrics_core.comparing.evidence.evaluated import Ground, Json, Models, lists_of
from concord.metrics_core.comparing.warnings.warned import warned
from concord.metrics_core.comparison.parts import Warned
from concord.metrics_core.comparison.words import listed

_NAMED = 4  # tables of one warning


def rewritten_ids(models: Models, ground: Ground) -> Iterator[Warned]:
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
