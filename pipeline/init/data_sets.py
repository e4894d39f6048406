"""Data sets of a repository: which tables belong to that of the ground truth."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import takewhile
from pathlib import Path

from concord.pipeline.init.model_names import path_words
from concord.pipeline.init.tables import SPLITS, Role, Table, role_in_path
from concord.pipeline.params.repository import relative_path

Words = tuple[str, ...]
_PREDICTIONS = ("pred", "preds", "prediction", "predictions")
_RECOMMENDATIONS = {"rec", "recs", "recommendation", "recommendations"}


def other_data_sets(
    truth: Path, tables: Mapping[Role, Sequence[Table]], folder: Path
) -> dict[Path, str]:
    """Return the tables of other data sets than that of the ground truth, with the data sets.

    Data sets are the words in which the paths of ground truths differ, such as `tiny` and `mini`
    in `data/tiny/test.csv` and `data/mini/test.csv`; or a word of the ground truth's path and
    another one, if each of several lists is there with both, such as `runs/tiny/als.csv` and
    `runs/mini/als.csv`. A table belongs to another one if its path has that name, and not the name
    of the ground truth's. Tables with the file name of the ground truth are ground truths, too.
    """
    own_words = _words(truth, folder)
    same_name = [each for each in tables.get("unknown", ()) if each.path.name == truth.name]
    truths = [_words(each.path, folder) for each in (*tables.get("truth", ()), *same_name)]
    pairs = [_difference(own_words, words) for words in truths if words != own_words]
    pairs += _differences_of_lists(
        own_words, {_words(each.path, folder) for each in tables.get("lists", ())}
    )
    own, others = ({pair[side] for pair in pairs if all(pair)} for side in (0, 1))
    result: dict[Path, str] = {}
    for table in (table for group in tables.values() for table in group):
        words = _words(table.path, folder)
        name = _longest(words, own | others)
        if name and name not in own:
            result[table.path] = "-".join(name)
    return result


def _difference(own: Words, other: Words) -> tuple[Words, Words]:
    """Return the words between equal beginnings and ends; none if they name splits alone."""
    start = _n_equal(own, other)
    end = _n_equal(own[start:][::-1], other[start:][::-1])
    if start and min(len(own), len(other)) == start + end:  # as `ml` and `ml-tiny`
        start -= 1
    parts = own[start : len(own) - end], other[start : len(other) - end]
    if any(all(role_in_path(word, SPLITS) for word in part) for part in parts):
        return (), ()
    return parts


def _differences_of_lists(own: Words, lists: Set[Words]) -> Iterator[tuple[Words, Words]]:
    """Yield a word of the ground truth's path and each that replaces it in the paths of lists."""
    for word in own:
        mine = [each for each in lists if word in each]
        if len(mine) > 1 and not role_in_path(word, (*SPLITS, "lists")):
            for other in {each for words in lists for each in words} - {word}:
                replaced = (tuple(other if w == word else w for w in each) for each in mine)
                if all(each in lists for each in replaced):
                    yield (word,), (other,)


def _n_equal(a: Words, b: Words) -> int:
    """Return the number of equal words at the beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def _longest(words: Words, names: Iterable[Words]) -> Words:
    """Return the longest name that occurs in the words; of equal ones the last."""
    found = [
        (len(name), start, name)
        for name in names
        for start in range(len(words))
        if words[start : start + len(name)] == name
    ]
    return max(found, default=(0, 0, ()))[2]


def _words(path: Path, folder: Path) -> Words:
    return tuple(word.casefold() for word in path_words(Path(relative_path(path, folder))))


def predictions_next_to_lists(tables: Sequence[Table], folder: Path) -> set[Path]:
    """Return the predictions whose path is that of recommendations except for one such word."""
    words = {_words(table.path, folder): table.path for table in tables}
    changed = (
        (*each[:place], kind, *each[place + 1 :])
        for each in words
        for place, word in enumerate(each)
        for kind in _PREDICTIONS
        if word in _RECOMMENDATIONS
    )
    return {words[each] for each in changed if each in words}
