"""`split`: split interactions into train and truth.

References
----------
Meng, McCreadie, Macdonald & Ounis (2020), RecSys, 681-686.  doi:10.1145/3383313.3418479
Ji, Sun, Zhang & Li (2023), ACM TOIS 41(3), 75.  doi:10.1145/3569930
Hidasi & Czapp (2023), RecSys, 848-855.  arXiv:2307.14951
Gusak, Volodkevich, Klenitskiy, Vasilev & Frolov (2025), RecSys.  arXiv:2507.16289
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any

import polars as pl

from concord.metrics_core.analyses.split.result import Split
from concord.metrics_core.analyses.split.rows import (
    METHOD_OPTIONS,
    REPEATS,
    TRAIN,
    TRUTH,
    Repeats,
    SplitMethodName,
    SplitOptions,
    split_rows,
)
from concord.metrics_core.conventions.registry import suggest
from concord.metrics_core.data.argument_types import Data, SplitColumns
from concord.metrics_core.data.arguments import INTERACTIONS, check_columns, open_table
from concord.metrics_core.data.relations import in_memory
from concord.metrics_core.errors import Problem, raise_problems

_UNIT_SECONDS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_DURATION = re.compile(rf"(\d+(?:\.\d+)?) ?({'|'.join(_UNIT_SECONDS)})", re.ASCII)


def split(
    interactions: Data,
    method: SplitMethodName,
    *,
    last: int | None = None,
    at: float | str | date | None = None,
    share: float | None = None,
    gap: float | str | timedelta | None = None,
    seed: int | None = None,
    repeats: Repeats = "first",
    columns: SplitColumns | None = None,
) -> Split:
    """Split interactions into train and truth.

    The result does not depend on the order of rows, the number of threads or the file format.
    Of duplicate rows (the same user, item and time) the one with the highest grade is used. The
    truth has each pair of user and item once, with its first time. `manifest["excluded"]` counts
    the rows that are on no side, by reason. `concord split` does the same for data larger than
    memory.

    Parameters
    ----------
    interactions : data frame or path
        Columns user, item, time and, optionally, grade.
    method : {'random', 'leave-last-out', 'global-time', 'user-time'}
        Whether the truth holds a random choice of interactions, the last ones of every user, all
        from a time on, or the last share of every user's. See docs/how-to/split.md.
    last : int, optional
        For leave-last-out: number of each user's last interactions in the truth. Default: 1.
    at : float, str, date or datetime, optional
        For global-time: first time of the truth. A date (UTC if it has no time zone), or a number
        in the unit of the times.
    share : float, optional
        For global-time, instead of `at`: share of the interactions in the truth. For user-time:
        share of each user's, rounded up; the first one stays in train. For random: probability of
        each pair of user and item, by a hash of the ids. The actual share is approximate, and no
        pair changes sides when the data grow.
    gap : float, str or timedelta, optional
        For global-time: interactions within this time before the truth are on no side. A number in
        the unit of the times, or a duration such as 30min, 12h, 7d or 2w. Default: 0.
    seed : int, optional
        For random: seed of the hash. Default: 0.
    repeats : {'keep', 'first'}, default='first'
        Whether to keep repeated interactions of a user with an item, or only the first. With
        'keep', truth and train have pairs of user and item in common.
    columns : dict, optional
        Different column names: {"interactions": {"user": "userId"}}. `"grade": None` if the table
        has no grade.

    Returns
    -------
    Split
        Train, truth and the manifest.

    Raises
    ------
    InputError
        If an argument is unknown, unused or out of range, the table is invalid, or a side is empty.

    Examples
    --------
    >>> import concord as cc
    >>> import polars as pl
    >>> clicks = pl.DataFrame({"user": [1, 1, 2], "item": [10, 11, 10], "time": [1, 2, 3]})
    >>> cc.data.split(clicks, "leave-last-out").truth.rows()
    [(1, 11, 2.0)]
    """
    options = parse_options(
        method, last=last, at=at, share=share, gap=gap, seed=seed, repeats=repeats
    )
    names = check_columns(columns or {}, {INTERACTIONS: INTERACTIONS})
    table = open_table(INTERACTIONS, interactions, names)
    with in_memory() as connection:
        queries, manifest = split_rows(connection, table, options)
        sides = {
            side: pl.DataFrame(connection.sql(query).to_arrow_reader().read_all())
            for side, query in queries.items()
        }
    return Split(sides[TRAIN], sides[TRUTH], manifest)


def parse_options(method: str, *, repeats: str = "first", **arguments: Any) -> SplitOptions:
    """Return the method with its options; None means not given.

    Raises
    ------
    InputError
        If arguments are unknown, unused, missing or out of range; all problems at once.
    """
    options = {name: value for name, value in arguments.items() if value is not None}
    values = {name: _VALUES[name][0](value) for name, value in options.items()}
    raise_problems(_problems(method, options, values, repeats))
    dates: dict[str, str] = {
        name: str(options[name])
        for name in ("at", "gap")
        if name in options and _parse_number(options[name]) is None
    }
    return SplitOptions(method, **values, repeats=repeats, dates=dates)


def _problems(
    method: str, options: Mapping[str, Any], values: Mapping[str, Any], repeats: str
) -> Iterator[Problem]:
    if repeats not in REPEATS:
        yield Problem("repeats", f"is {repeats!r}", f"choose one of: {', '.join(REPEATS)}")
    if not isinstance(method, str) or method not in METHOD_OPTIONS:
        fix = suggest(str(method), set(METHOD_OPTIONS))
        yield Problem("method", f"{method!r} is not a split method", fix)
        return
    supported = METHOD_OPTIONS[method]
    for name in sorted(options.keys() - set(supported)):
        fix = f"remove it; the options of {method} are: {', '.join(supported)}"
        yield Problem(name, f"is not an option of {method}", fix)
    if method in ("random", "user-time") and "share" not in options:
        yield Problem("share", f"is missing: {method} requires it", _VALUES["share"][1])
    if method == "global-time" and "at" in options and "share" in options:
        yield Problem("at", "cannot be combined with share", "remove one of them")
    if method == "global-time" and "at" not in options and "share" not in options:
        fix = "set `at` to a time such as 2026-05-30, or `share` to a share such as 0.1"
        yield Problem("at", "is missing, and so is share", fix)
    for name, value in values.items():
        if value is None:
            yield Problem(name, f"is {options[name]!r}", _VALUES[name][1])


def _parse_whole(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _parse_share(value: Any) -> float | None:
    number = None if isinstance(value, str) else _parse_number(value)
    return number if number is not None and 0 < number < 1 else None


def _parse_number(value: Any) -> float | None:
    """Return a finite number or numeric string as float; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _parse_time(value: Any) -> float | None:
    """Return a number unchanged, a date in seconds since 1970 (UTC by default); else None."""
    if (number := _parse_number(value)) is not None:
        return number
    if not isinstance(value, str | date):
        return None
    try:
        time = datetime.fromisoformat(str(value).strip())
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _parse_duration(value: Any) -> float | None:
    """Return a number >= 0 unchanged, a duration in seconds; None for anything else."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, str) and (match := _DURATION.fullmatch(value.strip())):
        return float(Fraction(match[1]) * _UNIT_SECONDS[match[2]])
    number = _parse_number(value)
    return number if number is not None and number >= 0 else None


_VALUES: Mapping[str, tuple[Callable[[Any], Any], str]] = {  # parse function, fix
    "last": (lambda value: _parse_whole(value) or None, "write a whole number, 1 or more"),
    "seed": (_parse_whole, "write a whole number, 0 or more"),
    "share": (_parse_share, "write a number between 0 and 1, such as 0.1"),
    "at": (
        _parse_time,
        "write a date such as 2026-05-30 or 2026-05-30T08:10, or a number in the unit of the times",
    ),
    "gap": (
        _parse_duration,
        "write a number, 0 or more, in the unit of the times, or with a unit such as 7d "
        f"({', '.join(_UNIT_SECONDS)})",
    ),
}
