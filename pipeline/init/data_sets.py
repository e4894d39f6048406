"""Data sets of a repository: which tables belong to that of the ground truth."""

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path

from concord.pipeline.init.model_names import path_words
from concord.pipeline.init.tables import SPLITS, Role, Table, role_in_path

Words = tuple[str, ...]
_PREDICTIONS = {"pred", "preds", "prediction", "predictions"}
_RECOMMENDATIONS = {"rec", "recs", "recommendation", "recommendations"}


def other_data_sets(
    truth: Path, tables: Mapping[Role, Sequence[Table]], folder: Path
) -> dict[Path, str]:
    """Return the tables of other data sets than that of the ground truth, with the data sets.

    Words of data sets distinguish paths that are equal otherwise, such as `tiny` and `mini` in
    `runs/tiny/als.csv` and `runs/mini/als.csv`; the path of the ground truth has those of its own.
    If some tables of a role have the words of the ground truth, others do not belong to it.
    """
    words = {table.path: _words(table.path, folder) for group in tables.values() for table in group}
    own_words = _words(truth, folder)
    own_parts = {
        part
        for _, part, _ in _parts(own_words)
        if not any(role_in_path(word, (*SPLITS, "lists")) for word in part)
    }
    own: set[Words] = set()
    others: set[Words] = set()
    for role in ("truth", "lists"):
        variants: dict[tuple[Words, Words], set[Words]] = {}
        paths = [words[table.path] for table in tables.get(role, ())]
        for path in [*paths, own_words] if role == "truth" else paths:
            for before, part, after in _parts(path):
                variants.setdefault((before, after), set()).add(part)
        for (before, after), parts in variants.items():
            for a, b in product(parts & own_parts, parts - own_parts):
                extends = 1 in (len(a), len(b)) and before and after  # as `ml-tiny` does `ml`
                if extends or (a[0] != b[0] and a[-1] != b[-1]):
                    own.add(a)
                    others.add(b)
    result: dict[Path, str] = {}
    for group in tables.values():
        tags = {table.path: _longest(words[table.path], own | others) for table in group}
        has_own = not own.isdisjoint(tags.values())
        result |= {p: "-".join(t) for p, t in tags.items() if t not in own and (t or has_own)}
    return result


def _parts(words: Words) -> Iterator[tuple[Words, Words, Words]]:
    """Yield each run of words, between the words before and after it."""
    for start, end in combinations(range(len(words) + 1), 2):
        yield words[:start], words[start:end], words[end:]


def _longest(words: Words, tags: set[Words]) -> Words:
    return max((part for _, part, _ in _parts(words) if part in tags), key=len, default=())


def _words(path: Path, folder: Path) -> Words:
    return tuple(word.casefold() for word in path_words(Path(os.path.relpath(path, folder))))


def predictions_next_to_lists(tables: Sequence[Table], folder: Path) -> set[Path]:
    """Return the predictions whose path is that of recommendations except for such a word."""
    words = {table.path: _words(table.path, folder) for table in tables}
    others = {
        tuple(kind if word in _RECOMMENDATIONS else word for word in each)
        for each in words.values()
        for kind in _PREDICTIONS
        if not _RECOMMENDATIONS.isdisjoint(each)
    }
    return {path for path, each in words.items() if each in others}
