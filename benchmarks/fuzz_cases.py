"""What the fuzzer tries, by kind: each writes a file at random and says what reading it should give."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benchmarks.broken_files import FILES, broken

Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A file and what it holds.

    what : lists, truth, train, items, users, held or damaged
    path : the file or folder
    rows : what is to be read, in plain values; None: what a plain reading of the file says, where there is one
    may  : what else may come of it: `refused`, `only refused`, or nothing
    read : how it is read, where no stage does it; raises, or returns the rows that were read
    """

    what: str
    path: str
    rows: list[Row] | None = None
    may: Literal["refused", "only refused", ""] = "refused"
    read: Callable[[], list[Row]] | None = None


Kind = Callable[[random.Random], Case]
KINDS: dict[
    str, Kind
] = {}  # name on the command line -> how a case is made; `fuzz_readers` runs them


def kind(make: Kind) -> Kind:
    """A kind of cases, under the name of the function that makes them."""
    KINDS[make.__name__.strip("_")] = make
    return make


@kind
def _bytes(chance: random.Random) -> Case:
    """A sound file whose bytes chance has changed."""
    what, name = chance.choice(FILES)
    Path(name).write_bytes(broken(chance, what, name))
    return Case(what, name)
