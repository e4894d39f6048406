"""What is wrong with what a plan is asked: numbers out of their range, arguments that do not go together."""

from collections.abc import Iterator, Mapping
from typing import Any

from concord.metrics_core.comparing.evidence.asked import (
    LEAST_CONFIDENCE,
    MOST_CONFIDENCE,
    Finding,
    wrong_effect,
)
from concord.metrics_core.conventions.conventions import is_number, shown
from concord.metrics_core.statistics.power import FEWEST, Spread

POWER = 0.8
MOST_COUNT = 10**12


def number_findings(*, effect: Any, power: Any, confidence: Any) -> Iterator[Finding]:
    """Numbers that every plan may be given."""
    if effect is not None and ((said := wrong_effect(effect)) or not _above(effect)):
        what, _, fix = (
            said or f"{shown(effect)} is no difference: write a number above 0, such as 0.005"
        ).partition(": ")
        yield "effect", what, fix
    if not is_number(power) or not LEAST_CONFIDENCE <= power <= MOST_CONFIDENCE:
        fix = f"write a number from {LEAST_CONFIDENCE} to {MOST_CONFIDENCE}, such as {POWER}"
        yield "power", f"is {shown(power)}", fix
    if confidence is not None and (
        not is_number(confidence) or not LEAST_CONFIDENCE < confidence <= MOST_CONFIDENCE
    ):
        fix = f"write a number above {LEAST_CONFIDENCE}, at most {MOST_CONFIDENCE}"
        yield "confidence", f"is {shown(confidence)}", fix


def _above(effect: Any) -> bool:
    """Is it more than nothing? Shares too."""
    return float(str(effect).removesuffix("%")) > 0


def idle_findings(what: str, given: Mapping[str, Any]) -> Iterator[Finding]:
    """Arguments that are given beside what knows better, or has no use for them."""
    for name, value in given.items():
        if value is not None:
            yield name, f"is given beside {what}, where it has no use", "leave it out"


def stated_findings(sd: Any, users: Any, seeds: Any, tests: Any, effect: Any) -> Iterator[Finding]:
    """Numbers that are stated in place of results."""
    if sd is None or users is None:
        what = "nothing is given to plan with"
        yield "given", what, "give a comparison, users' values, or `sd=` and `users=`"
        return
    deviations = [*vars(sd).values()] if isinstance(sd, Spread) else [sd]
    known = all(is_number(each) and 0 <= each < MOST_COUNT for each in deviations)
    if not known or max(deviations) == 0:
        yield "sd", f"is {shown(sd)}", "write a number above 0, such as 0.2"
    for name, value, least in (
        ("users", users, FEWEST),
        ("seeds", seeds, FEWEST),
        ("tests", tests, 1),
    ):
        wanted = type(value) is int and least <= value <= MOST_COUNT
        if not wanted and not (name == "seeds" and value is None):
            yield name, f"is {shown(value)}", f"write a whole number from {least} on"
    if (seeds is None) != (not isinstance(sd, Spread)):
        yield (
            "seeds",
            "and the spread of trainings belong together",
            "give `sd=Spread(…)` and `seeds=`, or neither",
        )
    if isinstance(effect, str):
        yield "effect", f"{effect!r} is a share of a mean that is not given", "write a number"
