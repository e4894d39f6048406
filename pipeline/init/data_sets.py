"""Data sets of a repository: which tables belong to that of the ground truth."""

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

from concord.pipeline.init.model_names import path_words
from concord.pipeline.init.tables import SPLITS, Role, Table, role_in_path

Words = tuple[str, ...]
_PREDICTIONS = {"pred", "preds", "prediction", "predictions"}
_RECOMMENDATIONS = {"rec", "recs", "recommendation", "recommendations"}


def other_data_sets(
    truth: Path, truths: Sequence[Path], tables: Mapping[Role, Sequence[Table]], folder: Path
) -> dict[Path, str]:
    """Return the tables of other data sets than that of the ground truth, with the data sets.

    Words of data sets distinguish paths that are equal otherwise, such as `tiny` and `mini` in
    `runs/tiny/als.csv` and `runs/mini/als.csv`; the path of the ground truth has those of its own.
    If some tables of a role have the words of the ground truth, others do not belong to it.
    `truths` are the other tables that may be the ground truth.
    """
    paths = {role: [table.path for table in each] for role, each in tables.items()}
    own_parts = {
        part
        for _, part, _ in _parts(_words(truth, folder))
        if not any(role_in_path(word, (*SPLITS, "lists")) for word in part)
    }
    pairs = [*_variants([truth, *truths], own_parts, folder, may_extend=True)]
    pairs += _variants(paths.get("lists", ()), own_parts, folder)
    own, others = ({pair[side] for pair in pairs} for side in (0, 1))
    result: dict[Path, str] = {}
    for group in paths.values():
        tags = {path: _longest(_words(path, folder), own | others) for path in group}
        has_own = not own.isdisjoint(tags.values())
        for path, tag in tags.items():
            if tag not in own and (tag or has_own):
                result[path] = "-".join(tag)
    return result


def _variants(
    paths: Sequence[Path], own_parts: set[Words], folder: Path, *, may_extend: bool = False
) -> Iterator[tuple[Words, Words]]:
    """Yield parts of the ground truth's path, each with one that stands in its place elsewhere.

    One may extend the other, as `ml-tiny` does `ml`, only if `may_extend`.
    """
    variants: dict[tuple[Words, Words], set[Words]] = {}
    for path in paths:
        for before, part, after in _parts(_words(path, folder)):
            variants.setdefault((before, after), set()).add(part)
    for (before, _), parts in variants.items():
        for own in parts & own_parts:
            for other in parts - own_parts:
                is_longer = may_extend and before and 1 in (len(own), len(other))
                if is_longer or (own[0] != other[0] and own[-1] != other[-1]):
                    yield own, other


def _parts(words: Words) -> Iterator[tuple[Words, Words, Words]]:
    """Yield each run of words, between the words before and after it."""
    for start, end in combinations(range(len(words) + 1), 2):
        yield words[:start], words[start:end], words[end:]


def _longest(words: Words, tags: set[Words]) -> Words:
    return max((part for _, part, _ in _parts(words) if part in tags), key=len, default=())


def _words(path: Path, folder: Path) -> Words:
    return tuple(word.casefold() for word in path_words(Path(os.path.relpath(path, folder))))


def predictions_beside_lists(tables: Sequence[Table], folder: Path) -> set[Path]:
    """Return the predictions whose path is that of recommendations except for such a word."""
    words = {table.path: _words(table.path, folder) for table in tables}
    lists = {_without_kind(each) for each in words.values() if _RECOMMENDATIONS & {*each}}
    predictions = {path for path, each in words.items() if _PREDICTIONS & {*each}}
    return {path for path in predictions if _without_kind(words[path]) in lists}


def _without_kind(words: Words) -> Words:
    return tuple("" if word in _PREDICTIONS | _RECOMMENDATIONS else word for word in words)
