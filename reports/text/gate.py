"""A gate's decision in words: three lines that say what, why, and what else."""

import math
from collections.abc import Iterator, Mapping, Sequence

from concord.metrics_core.errors import in_words
from concord.metrics_core.results.gate import (
    Decision,
    Guardrail,
    Measured,
    ModelDecision,
    Outcome,
    Success,
    UnmatchedModels,
    allowed,
    lost,
    place,
    unlisted,
)
from concord.metrics_core.results.limits import MIN_DIFFERING_USERS
from concord.metrics_core.results.words import PERCENT, digits, exact, listed, number

_NAMED = 3  # guardrails in one sentence
_WHOLE = 10  # times the users: from here on without decimals
_MANY_TIMES = 1000  # as many users: nobody gets them


def reasons(guardrail: Guardrail) -> Iterator[str]:
    """Yield what the outcome of a guardrail rests on."""
    if guardrail.departure is not None:
        yield f"it had {guardrail.departure} at {guardrail.revision}"
    elif guardrail.revision is not None:
        yield f"it was not evaluated at {guardrail.revision}"
    else:
        yield _reason(guardrail, guardrail.margin, guardrail.outcome)


def _reason(measured: Measured, margin: float | None, outcome: Outcome) -> str:
    if measured.identical:
        return "every user has the same with both"
    if measured.n_unlisted is not None:
        return unlisted(measured)
    if measured.n_lost and outcome == "undecided":
        return lost(measured)
    if margin is None:
        return "the margin is a share of a mean that does not exist"
    return _of_interval(measured, margin, outcome)


def _of_interval(measured: Measured, margin: float, outcome: Outcome) -> str:
    low, high = measured.gain_low, measured.gain_high
    if low is None or high is None:
        return _without_interval(measured)
    if outcome == "undecided" and (low > -margin or high < -margin):
        users = in_words(measured.n_nonzero, "user")
        return f"only {users} of {measured.n_users:,} differ, and sign flips of so few do not confirm the interval"
    return {
        "pass": "the whole interval lies within what is allowed",
        "worse": "the whole interval lies beyond what is allowed",
        "undecided": "the interval reaches beyond what is allowed",
    }[outcome]


def _without_interval(measured: Measured) -> str:
    if measured.difference is None:
        return "no user has a value with both"
    if measured.test == "none":
        return "such a number has no interval"
    if measured.n_nonzero >= MIN_DIFFERING_USERS:
        return "there is no interval"
    users = in_words(measured.n_nonzero, "user")
    return f"only {users} of {measured.n_users:,} differ, too few for an interval"


def describe(decision: Decision) -> Iterator[str]:
    """Yield what is decided, what decided it, and what else was found or what to do."""
    if decision.unmatched is not None:
        yield from _unmatched_lines(decision, decision.unmatched)
    else:
        yield from _lines(decision)


def _lines(decision: Decision) -> Iterator[str]:
    models, outcome = decision.models, decision.outcome
    reference, confidence = decision.reference, decision.confidence
    if not models:
        yield f"{outcome}, against {reference}: there is no model beside it to decide on."
        yield "A gate holds models against the baseline, or against their former selves: `concord gate HEAD`."
        yield "Checked: nothing."
        return
    yield f"{outcome}, against {reference}: {_groups(models)}."
    of_outcome = [each for each in models if each.outcome == outcome]
    waived = decision.undecided_passes and outcome == "undecided"  # then it is for want of success
    deciding = [
        (m.model, g)
        for m in of_outcome
        for g in m.guardrails_that(outcome)
        if not waived or not g.is_comparable
    ]
    if outcome == "pass":
        yield _closest(of_outcome, confidence)
    elif deciding:
        yield f"{told(*deciding[0], confidence)}: {deciding[0][1].why}."
    else:
        yield _not_better(of_outcome[0], confidence)
    yield f"{_what_else(outcome, deciding, models)} Checked: {_checked(models)}."


_RULES = {"baseline": "holds them against the baseline", "ignore": "leaves them out"}


def _unmatched_lines(decision: Decision, unmatched: UnmatchedModels) -> Iterator[str]:
    """Yield the lines of a decision where models have vanished while others are new."""
    vanished, new, example = unmatched.vanished, unmatched.new, unmatched.example
    gone = f"{listed(vanished)} {_is(vanished)} gone while {listed(new)} {_is(new)} new"
    effects = [f"`gate.new_models: {rule}` {_RULES[rule]}" for rule in unmatched.rules]
    other = ", and ".join(effects) or "compare with the baseline: `concord gate`"
    fix = f"Write `{example}` if {new[0]} is the former {vanished[0]}; if new models are other ones, {other}."
    groups = [*([_groups(decision.models)] if decision.models else []), gone]
    yield f"{decision.outcome}, against {decision.reference}: {'; '.join(groups)}."
    if decision.outcome == "worse":
        _, deciding, rest = _lines(decision)
        yield deciding
        yield f"{rest} {fix}"
        return
    yield "A new model may be a vanished one by another name, which would be held against its former self."
    yield f"{fix} Checked: {_checked(decision.models) if decision.models else 'nothing'}."


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def told(model: str, found: Measured, confidence: float) -> str:
    """`als on nDCG@10 of activity “0”: −0.012 (95 % interval −0.020 to −0.004), −0.005 allowed`."""
    size = f"{model} on {place(found)}: {_signed(found.difference, digits([found]))}"
    if found.ci_low is not None and found.ci_high is not None:
        ends = (
            f"{_signed(found.ci_low, digits([found]))} to {_signed(found.ci_high, digits([found]))}"
        )
        size += f" ({100 * confidence:.12g}{PERCENT} interval {ends})"
    return f"{size}, {allowed(found)} allowed" if isinstance(found, Guardrail) else size


def _signed(value: float | None, places: int) -> str:
    text = number(value, places)
    return f"+{text}" if value is not None and value > 0 and text.strip("0.") else text


def _groups(models: Sequence[ModelDecision]) -> str:
    words: Mapping[Outcome, tuple[str, str]] = {
        "worse": ("is worse", "are worse"),
        "undecided": ("is undecided", "are undecided"),
        "pass": ("passes", "pass"),
    }
    groups = []
    for outcome, (one, several) in words.items():
        names = [_named(each) for each in models if each.outcome == outcome]
        if names:
            groups.append(f"{listed(names)} {one if len(names) == 1 else several}")
    return "; ".join(groups)


def _named(decided: ModelDecision) -> str:
    own = decided.reference
    return decided.model if own is None else f"{decided.model} (new, against {own})"


def _closest(models: Sequence[ModelDecision], confidence: float) -> str:
    """Of what passed: what was waived, else the guardrail that was nearest to its margin; and what is better."""
    waived = [(m.model, g) for m in models for g in m.guardrails_that("undecided")]
    gained = [(m.model, each) for m in models for each in m.gains[:1]]
    better = f" Better: {_success(*gained[0], confidence)}." if gained else ""
    if waived:
        more = f", and {len(waived) - 1} more" if len(waived) > 1 else ""
        first = told(*waived[0], confidence)
        return f"Let pass though undecided: {first}: {waived[0][1].why}{more}.{better}"
    known = [(m.model, g) for m in models for g in m.guardrails if g.gain_low is not None]
    if known:
        return f"Closest: {told(*min(known, key=_room), confidence)}.{better}"
    return better.strip() or "Every user has the same with both."


def _room(named: tuple[str, Guardrail]) -> float:
    """How far the interval stays from the margin, as a share of its width."""
    found = named[1]
    low, high, margin = found.gain_low, found.gain_high, found.margin
    if low is None or high is None or margin is None:
        return math.inf
    return (low + margin) / (high - low) if high > low else math.inf


def _success(model: str, found: Success, confidence: float) -> str:
    p = "no test" if found.p_adjusted is None else f"adjusted p {exact(found.p_adjusted)}"
    left = ""
    if found.n_unlisted is not None:
        left = f", as {unlisted(found)}"
    elif found.n_lost:
        left = f", but {lost(found)}"
    return f"{told(model, found, confidence)}, {p}{left}"


def _not_better(model: ModelDecision, confidence: float) -> str:
    tried = "; ".join(_success(model.model, each, confidence) for each in model.success[:_NAMED])
    return f"No success metric of {model.model} is shown to be better: {tried}."


def _what_else(
    outcome: Outcome, deciding: Sequence[tuple[str, Guardrail]], models: Sequence[ModelDecision]
) -> str:
    also = f"Also {outcome}: {_places(deciding[1:])}. " if deciding[1:] else ""
    if outcome == "worse":
        n = sum(len(model.guardrails_that("undecided")) for model in models)
        undecided = f"Undecided: {in_words(n, 'guardrail')}. " if n else ""
        return f"{also}{undecided}A loss that is wanted needs a wider margin in `gate:`."
    if outcome == "undecided":
        return f"{also}{_more_users(deciding)}"
    return "A pass is about these metrics, segments and margins alone."


def _places(found: Sequence[tuple[str, Guardrail]]) -> str:
    """`als and ease on nDCG@10; als on Coverage@10; 4 more`."""
    models: dict[str, list[str]] = {}
    for model, each in found:
        models.setdefault(place(each), []).append(model)
    parts = [f"{listed(names)} on {where}" for where, names in models.items()]
    more = sum(len(names) for names in list(models.values())[_NAMED:])
    return "; ".join([*parts[:_NAMED], *([f"{more} more"] if more else [])])


def _more_users(deciding: Sequence[tuple[str, Guardrail]]) -> str:
    """How many more users would decide, if the difference stayed: the interval shrinks with the root of their number."""
    ways = "a wider margin decides, too; `undecided: pass` lets what is undecided pass."
    if not deciding:
        return "More users show smaller gains."
    found = deciding[0][1]
    if found.n_unlisted is not None:
        return "Give every user a list, or name the share that may lack one: `max_missing_lists` of the comparison."
    if found.n_lost:
        return "Give every user a list, or let those without one count as 0, `user_no_recs: zero`; `undecided: pass` lets what is undecided pass."  # fmt: skip
    gain, low, high, margin = found.gain, found.gain_low, found.gain_high, found.margin
    if gain is None or low is None or high is None or margin is None:
        return f"More users are needed; {ways}"
    half, room = (high - low) / 2, abs(gain + margin)
    if half**2 >= _MANY_TIMES * room**2:
        return f"The difference is about the margin, which no number of users decides; {ways}"
    times = max((half / room) ** 2, 1.1)
    return f"With this difference, {times:{'.2g' if times < _WHOLE else ',.0f'}} times the users would decide it; {ways}"


def _checked(models: Sequence[ModelDecision]) -> str:
    guardrails = sum(len(each.guardrails) for each in models)
    successes = sum(len(each.success) for each in models)
    parts = [in_words(guardrails, "guardrail")] if guardrails else []
    parts += [in_words(successes, "success metric")] if successes else []
    return f"{' and '.join(parts)} of {in_words(len(models), 'model')}"
