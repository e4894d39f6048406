"""What is asked of a split -> its method; every argument that makes no sense is refused at once."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any

from concord.metrics_core.checking.problems import InputError, Problem
from concord.metrics_core.conventions.conventions import nearest
from concord.metrics_core.splitting.methods import METHODS, REPEATS, TAKES, Method

_UNITS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_DURATION = re.compile(rf"(\d+(?:\.\d+)?) ?({'|'.join(_UNITS)})", re.ASCII)
SECONDS = (
    1e8,
    1e11,
)  # since 1970: from 1973 to 5138, where the latest time of data lies if times are seconds
_OF_TIME = ("at", "gap")
_NEEDS = {"users": ("share",), "cold-items": ("share",)}


@dataclass(frozen=True)
class Asked:
    """A method; `repeats`: does an item count again for a user who took it before?

    in_seconds : arguments that were given as dates or durations, as they were given
    """

    method: Method
    repeats: str
    in_seconds: Mapping[str, str]


def asked_of(how: str, given: Mapping[str, Any], repeats: str = "keep") -> Asked:
    """What is asked; arguments that are None were not given.

    Raises
    ------
    InputError : every argument that is unknown, idle, missing or out of range
    """
    asked = {name: value for name, value in given.items() if value is not None}
    if problems := [*_problems(how, asked, repeats)]:
        raise InputError(problems)
    in_seconds = {
        name: str(asked[name])
        for name in asked
        if name in _OF_TIME and not _is_number(asked[name]) and _number(str(asked[name])) is None
    }
    if "at" in asked:
        asked["at"] = _moment(asked["at"])
    if "gap" in asked:
        asked["gap"] = _duration(asked["gap"])
    if asked.get("newest"):
        asked["seed"] = None
    return Asked(METHODS[how](**asked), repeats, in_seconds)


def _problems(how: str, asked: Mapping[str, Any], repeats: str) -> Iterator[Problem]:
    if repeats not in REPEATS:
        yield Problem("repeats", f"is {repeats!r}", f"choose one of: {', '.join(REPEATS)}")
    if not isinstance(how, str) or how not in METHODS:
        yield Problem("how", f"{how!r} is no way to split", nearest(str(how), set(METHODS)))
        return
    for name in sorted(asked.keys() - TAKES[how]):
        yield Problem(name, f"says nothing to {how}", f"leave it out; {how} takes {', '.join(TAKES[how])}")  # fmt: skip
    for name in _NEEDS.get(how, ()):
        if name not in asked:
            yield Problem(name, f"is missing: {how} needs it", "such as 0.1, a tenth")
    if how == "global-time" and ("at" in asked) == ("share" in asked):
        what = "and share say it twice" if "at" in asked else "and share are missing: where is the cut?"  # fmt: skip
        yield Problem("at", what, "give a time such as 2026-05-30, or the share of the interactions that the truth is to hold, such as 0.1")  # fmt: skip
    if asked.get("newest") and "seed" in asked:
        yield Problem("seed", "says nothing where the newest items are taken", "leave one of both out")  # fmt: skip
    yield from _wrong_numbers(asked)


def _wrong_numbers(asked: Mapping[str, Any]) -> Iterator[Problem]:
    for name, least in (("last", 1), ("seed", None)):
        value = asked.get(name, 1)
        if not isinstance(value, int) or isinstance(value, bool) or (least and value < least):
            from_one = " from 1 on" if least else ""
            yield Problem(name, f"is {value!r}", f"give a whole number{from_one}")
    share = asked.get("share", 0.5)
    if not _is_number(share) or not 0 < share < 1:
        yield Problem("share", f"is {share!r}", "give a number between 0 and 1, such as 0.1")
    if _moment(asked.get("at", 0)) is None:
        fix = "give a date such as 2026-05-30 or 2026-05-30T08:10, or a number in the unit of the times"
        yield Problem("at", f"{asked['at']!r} is no time", fix)
    if _duration(asked.get("gap", 0)) is None:
        fix = f"give a number from 0 in the unit of the times, or a number with one of {', '.join(_UNITS)}, such as 7d"
        yield Problem("gap", f"{asked['gap']!r} is no length of time", fix)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _moment(at: Any) -> float | None:
    """In the unit of the times: a number as it is, a date in seconds since 1970; without a zone it is in UTC."""
    if _is_number(at):
        return float(at)
    if isinstance(at, date) and not isinstance(at, datetime):
        at = datetime(at.year, at.month, at.day, tzinfo=UTC)
    if isinstance(at, str):
        if (number := _number(at)) is not None:
            return number
        try:
            at = datetime.fromisoformat(at.strip())
        except ValueError:
            return None
    if not isinstance(at, datetime):
        return None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def _duration(gap: Any) -> float | None:
    if isinstance(gap, timedelta):
        gap = gap.total_seconds()
    if isinstance(gap, str):
        if written := _DURATION.fullmatch(gap.strip()):
            return float(Fraction(written[1]) * _UNITS[written[2]])
        gap = _number(gap)
    return float(gap) if _is_number(gap) and gap >= 0 else None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def refuse_other_units(asked: Asked, latest: float) -> None:
    """Dates and durations are in seconds; they say nothing where the times are days or milliseconds.

    Raises
    ------
    InputError : the times are no seconds since 1970
    """
    low, high = SECONDS
    fix = "give a number in the unit of the times"
    problems = [
        Problem(
            name,
            f"{shown!r} is meant in seconds since 1970, and the times run to {latest:,.15g}",
            fix,
        )
        for name, shown in asked.in_seconds.items()
        if not low <= latest < high
    ]
    if problems:
        raise InputError(problems)
