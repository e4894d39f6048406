"""Names of models by the paths of their recommendations, and the usual baseline among them."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, count
from pathlib import Path

from concord.metrics_core.data.formats import ENDINGS
from concord.pipeline.init.tables import ROLE_WORDS, Table, role_in_path
from concord.pipeline.params.model_names import is_model_name

_MAX_NAME = 90  # characters, which leaves room for a number
BASELINE_NAMES = (
    "popularity popular bm25 mostpopular pop toppop mostpop topsellers bestsellers baseline random "
    "old current production"
)


def path_words(path: Path) -> list[str]:
    """Return the words of a path, without file endings and accents.

    Behind a word of lists, as in `run.als.dev.tsv`, stand the words of the name.
    """
    first, *others = path.name.split(".")
    others = [part for part in others if f".{part.lower()}" not in {*ENDINGS, ".gz"}]
    is_of_lists = first.lower() in ("run", *ROLE_WORDS["lists"].split())
    parts = [*path.parts[:-1], " ".join(others) if others and is_of_lists else first]
    plain = [unicodedata.normalize("NFKD", p).encode("ascii", "ignore").decode() for p in parts]
    return [word for part in plain for word in re.split(r"[^A-Za-z0-9]+", part) if word]


def name_models(tables: Sequence[Table], folder: Path) -> dict[str, Table]:
    """Return the recommendations by model names that are valid and differ in any case."""
    words = {table.path: path_words(table.path.relative_to(folder)) for table in tables}
    shared = set.intersection(*map(set, words.values())) if len(words) > 1 else set()
    in_path = {path: _distinctive_words(each, shared) for path, each in words.items()}
    in_name = {
        path: _distinctive_words(own := path_words(Path(path.name)), shared) or in_path[path] or own
        for path in words
    }
    uses = Counter(tuple(map(str.lower, each)) for each in in_name.values())
    models: dict[str, Table] = {}
    for table in sorted(tables, key=lambda table: table.path.as_posix()):
        short, long = in_name[table.path], in_path[table.path]
        if uses[tuple(map(str.lower, short))] > 1:  # the folders distinguish the models
            short = long or short
        separator = "_" if "_" in table.path.name else "-"
        name = unused_name(separator.join(short), models, separator.join(long))
        models[name] = table
    return models


def unused_name(name: str, used: Collection[str], other: str = "") -> str:
    """Return a valid name of a model that differs from those in use in any case."""
    base, lower = (name or other or "model")[:_MAX_NAME], {each.lower() for each in used}
    names = chain([base, other], (f"{base}_{number}" for number in count(2)))
    return next(each for each in names if is_model_name(each) and each.lower() not in lower)


def _distinctive_words(words: Sequence[str], shared: AbstractSet[str]) -> list[str]:
    """Return the words that distinguish a model from the others."""
    return [word for word in words if word not in shared and not role_in_path(word, ("lists",))]


def baseline_of(models: Collection[str]) -> str:
    """Return the model that is most likely the baseline: with a usual name, or else the first."""
    return min(models, key=_distance_from_baselines)


def _distance_from_baselines(model: str) -> int:
    """Return 0 for the name of a usual baseline, 1 for one behind a prefix, else 2."""
    words = re.findall("[a-z0-9]+", model.casefold())
    endings = ["".join(words), *words[-1:], "".join(words[-2:])]
    return min(
        (min(n, 1) for n, each in enumerate(endings) if each in BASELINE_NAMES.split()), default=2
    )
