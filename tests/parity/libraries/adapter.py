"""What every library's script shares: cases in, values out. Standard library only; it runs beside the library.

    python ranx.py cases.json values.json

A script calls `run(measure)`; `measure(case)` yields one `Value` a preset and label, or a `Refusal` where the
library cannot take the case or answers with an error.
"""

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Items = Mapping[str, float]


@dataclass(frozen=True)
class Case:
    """lists: user -> [(item, score)], best first; truth: user -> {item: grade}.

    train: user -> [item], and categories: item -> [category]; None but in the case `beyond`.
    """

    name: str
    lists: Mapping[str, list[tuple[str, float]]]
    truth: Mapping[str, Items]
    ks: list[int]
    train: Mapping[str, list[str]] | None
    categories: Mapping[str, list[str]] | None


@dataclass(frozen=True)
class Value:
    """What the library says. users: only those that it evaluates; None where it gives no values per user."""

    preset: str
    label: str
    users: Mapping[str, float] | None
    mean: float | None


@dataclass(frozen=True)
class Refusal:
    """The library raises, or cannot be given such data; `why` in one sentence."""

    preset: str
    label: str
    why: str


def run(measure: Callable[[Case], Iterable[Value | Refusal]]) -> None:
    """Measure every case of the file named first and write the file named second."""
    given, made = map(Path, sys.argv[1:3])
    values, refusals = [], []
    for case in json.loads(given.read_text())["cases"]:
        for found in measure(_case(case)):
            if isinstance(found, Refusal):
                refusals.append([found.preset, case["name"], found.label, found.why])
            else:
                users = None if found.users is None else _plain_all(found.users)
                mean = None if found.mean is None else _plain(found.mean)
                values.append([found.preset, case["name"], found.label, users, mean])
    made.write_text(json.dumps({"values": values, "refusals": refusals}))


def _plain_all(users: Mapping[str, float]) -> dict[str, float | str]:
    return {user: _plain(value) for user, value in users.items()}


def _case(case: dict[str, Any]) -> Case:
    lists = {u: [(item, score) for item, score in rows] for u, rows in case["lists"].items()}
    behind = (case.get("train"), case.get("categories"))
    return Case(case["name"], lists, case["truth"], case["ks"], *behind)


def _plain(value: float) -> float | str:
    return "nan" if math.isnan(value) else float(value)
