"""Cases of the fuzzer, by kind: each writes a random file and states the expected result."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benchmarks.broken_files import FILES, damaged

Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A file, and the expected result of reading it.

    Attributes
    ----------
    table : str
        lists, truth, train, items, users, held, history or damaged.
    path : str
        The file or folder.
    rows : list of dict or None
        Expected rows; None: the rows of `plain_reading`, if it reads this format.
    allowed : {"refused", "only refused", ""}
        Whether the file may, must or must not be refused.
    read : callable or None
        Function that reads the case; None: a stage does. It raises, or returns the rows.
    """

    table: str
    path: str
    rows: list[Row] | None = None
    allowed: Literal["refused", "only refused", ""] = "refused"
    read: Callable[[], list[Row]] | None = None


Kind = Callable[[random.Random], Case]
KINDS: dict[str, Kind] = {}  # by name on the command line of `fuzz_readers`


def kind(make: Kind) -> Kind:
    """Register a kind of cases under the name of the function that makes them."""
    KINDS[make.__name__.strip("_")] = make
    return make


@kind
def _bytes(rng: random.Random) -> Case:
    """Return a valid file with randomly changed bytes."""
    table, name = rng.choice(FILES)
    Path(name).write_bytes(damaged(rng, table, name))
    return Case(table, name)
