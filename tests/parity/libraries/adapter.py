"""What every library's script shares: cases in, values out. Standard library only; it runs beside the library.

    python ranx.py cases.json values.json

A script calls `run(measure)`; `measure(case)` yields one `Value` a preset and label, or a `Refusal` where the
library cannot take the case or answers with an error.
"""

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

Id = str | int
Items = Mapping[Id, float]


@dataclass(frozen=True)
class Case:
    """lists: user -> [(item, score)], best first; truth: user -> {item: grade}.

    train: user -> [item], and categories: item -> [category]; None but in the case `beyond`.
    Ids are text, or in cases of integers all of them integers.
    """

    name: str
    lists: Mapping[Id, list[tuple[Id, float]]]
    truth: Mapping[Id, Items]
    ks: list[int]
    train: Mapping[str, list[str]] | None
    categories: Mapping[str, list[str]] | None


@dataclass(frozen=True)
class Value:
    """What the library says. users: only those that it evaluates; None where it gives no values per user."""

    preset: str
    label: str
    users: Mapping[Id, float] | None
    mean: float | None


@dataclass(frozen=True)
class Refusal:
    """The library raises, or cannot be given such data; `why` in one sentence."""

    preset: str
    label: str
    why: str


def label(name: str, k: int | None) -> str:
    """`nDCG@10`, or `nDCG` where there is no cutoff."""
    return name if k is None else f"{name}@{k}"


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


def in_text(case: Case) -> Case:
    """The case with text as ids, for a library that takes nothing else."""
    return _with_ids(case, str)


def _plain_all(users: Mapping[Id, float]) -> dict[str, float | str]:
    return {str(user): _plain(value) for user, value in users.items()}


def _case(given: dict[str, Any]) -> Case:
    behind = (given.get("train"), given.get("categories"))
    case = Case(given["name"], given["lists"], given["truth"], given["ks"], *behind)
    return _with_ids(case, int if given.get("integers") else str)


def _with_ids(case: Case, kind: Callable[[Id], Id]) -> Case:
    lists = {kind(u): [(kind(i), score) for i, score in rows] for u, rows in case.lists.items()}
    truth = {kind(u): {kind(i): g for i, g in held.items()} for u, held in case.truth.items()}
    return replace(case, lists=lists, truth=truth)


def _plain(value: float) -> float | str:
    return "nan" if math.isnan(value) else float(value)
