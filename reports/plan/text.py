"""A plan as text: one table per metric with one line per model, then what the gate can decide."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from concord.metrics_core.analyses.plan.result import (
    Plan,
    PlannedDifference,
    PlannedGuardrail,
    PlannedSuccess,
)
from concord.metrics_core.errors import format_count
from concord.metrics_core.results.text_format import exact, group_values, join_names, percent
from concord.reports.text.blocks import Block, Heading, TextTable
from concord.reports.text.numbers import MISSING, count

NONE = "none"  # no number is enough
_NO_PLAN = "too few users differ or the mean is pooled over users"
MAX_GUARDRAILS = 20
_MIN_WHOLE = 1000  # from here on numbers are written without decimals
_GUARDRAIL_HEADER = (
    "guardrail",
    "hardest for",
    "margin",
    "users",
    "needed",
    "passes",
    "enough margin",
)


def describe(plan: Plan) -> Iterator[Block]:
    """Yield the answer on each label, its table, the legend, and the gate."""
    groups = group_values((each.label, each) for each in plan.differences)
    for differences in groups.values():
        yield _answer(differences, plan.power)
    yield ""
    for differences in groups.values():
        if title := _title(differences):
            yield Heading(title)
        columns = [(name, cells) for name, cells in _columns(differences) if any(cells)]
        rows = list(zip(*(cells for _, cells in columns), strict=True))
        yield TextTable([name for name, _ in columns], rows)
        yield ""
    yield from _legend(plan)
    if sentences := list(gate_sentences(plan)):
        yield ""
        if any(each.seeds for each in plan.differences):
            yield "The gate decides over users: it does not account for other seeds."
        yield from sentences
    yield from _gate_table(plan)


def _answer(differences: Sequence[PlannedDifference], power: float) -> str:
    """Return which differences these users detect, and how many users the effect takes."""
    first = differences[0]
    name = "" if first.label is None else f"{first.label}: "
    planned = [each for each in differences if each.smallest_corrected is not None]
    if not planned:
        return f"{name}no plan, as {_NO_PLAN}."
    users = (
        "these users detect" if _users_differ(planned) else f"{_of_all(planned[0])} users detect"
    )
    detected = _range((each.smallest_corrected for each in planned), _number)
    text = f"{name}{users} a true difference of {detected} in {percent(power)} of cases"
    effects = {each.effect for each in planned}
    if len(effects) == 1 and None not in effects:
        effect = _effect(planned[0])
        what = " (min_effect)" if planned[0].effect == planned[0].min_effect else ""
        text += f"; for {effect}{what} {_users_taken(planned)}"
    if left_out := [each.model or "" for each in differences if each not in planned]:
        text += f"; no plan for {join_names(left_out)}, as {_NO_PLAN}"
    return f"{text}."


def _users_taken(planned: Sequence[PlannedDifference]) -> str:
    """Return `it takes 15,687 to 19,609 users`, or for which models no number is enough."""
    needed = [n for each in planned if (n := each.users_needed_corrected) is not None]
    without = [each.model or "" for each in planned if each.users_needed_corrected is None]
    if not needed:
        return "no number of users is enough"
    more = f", and for {join_names(without)} no number is enough" if without else ""
    return f"it takes {_range(needed, count)} users{more}"


def _range(values: Iterable[Any], text: Callable[[Any], str]) -> str:
    """Return `0.018 to 0.020`, or one text if all are alike."""
    ordered = sorted(values)
    return " to ".join(dict.fromkeys(map(text, (ordered[0], ordered[-1]))))


def _title(differences: Sequence[PlannedDifference]) -> str:
    """Return `nDCG@10 against popularity, 1,192 users`."""
    first = differences[0]
    if first.label is None:
        return ""
    users = (
        "" if _users_differ(differences) else f", {_of_all(first)} user{'s' * (first.n_users != 1)}"
    )
    return f"{first.label} against {first.baseline}{users}"


def _of_all(difference: PlannedDifference) -> str:
    """Return `80`, or `76 of 80` if some users have no value of one of the models."""
    n_users, n_total = difference.n_users, difference.n_total or 0
    return f"{n_users:,} of {n_total:,}" if n_users < n_total else f"{n_users:,}"


def _users_differ(differences: Sequence[PlannedDifference]) -> bool:
    return len({each.n_users for each in differences}) > 1


def _columns(differences: Sequence[PlannedDifference]) -> Iterator[tuple[str, list[str]]]:
    """Yield name and cells; columns without any text are left out."""
    first = differences[0]
    is_corrected = any(each.tests > 1 for each in differences)

    def both(alone: str, corrected: str) -> str:
        return f"{alone} / {corrected}" if is_corrected and alone else alone

    yield "model", [each.model or "" for each in differences]
    if first.label is None or _users_differ(differences):
        yield "users", [_of_all(each) for each in differences]
    yield "seeds", ["" if each.seeds is None else f"{each.seeds}" for each in differences]
    yield "sd", [_number(each.sd) for each in differences]
    smallest = [both(_number(e.smallest), _number(e.smallest_corrected)) for e in differences]
    yield "detects", smallest
    if any(each.min_effect for each in differences):
        yield "detects better", [_number(each.smallest_better) for each in differences]
    effects = {each.effect for each in differences}
    if effects == {None}:
        return
    if len(effects) > 1:
        yield "effect", [_number(each.effect) for each in differences]
    target = _effect(first) if len(effects) == 1 else "effect"
    users = [
        both(_users(each, each.users_needed), _users(each, each.users_needed_corrected))
        for each in differences
    ]
    yield f"users for {target}", users
    yield "users for better", [_users_better(each) for each in differences]
    yield "equivalent", [_users(each, each.users_equivalent) for each in differences]
    seeds = [
        both(_seeds(each, each.seeds_needed), _seeds(each, each.seeds_needed_corrected))
        for each in differences
    ]
    yield f"seeds for {target}", seeds


def _number(value: float | None) -> str:
    if value is None:
        return MISSING
    return f"{value:#.3g}".removesuffix(".") if value < _MIN_WHOLE else f"{value:,.0f}"


def _effect(difference: PlannedDifference) -> str:
    effect = difference.effect or 0.0
    return exact(effect) if effect < _MIN_WHOLE else f"{effect:,.0f}"


def _users(difference: PlannedDifference, needed: int | None) -> str:
    if difference.sd is None or difference.effect is None:
        return MISSING
    return NONE if needed is None else count(needed)


def _users_better(difference: PlannedDifference) -> str:
    effect = difference.effect
    can_be_better = effect is not None and effect > difference.min_effect > 0
    return _users(difference, difference.users_better) if can_be_better else ""


def _seeds(difference: PlannedDifference, needed: int | None) -> str:
    return "" if difference.seeds is None else _users(difference, needed)


def _legend(plan: Plan) -> Iterator[str]:
    differences = plan.differences
    level = f"{percent(plan.power)} power at the {percent(1 - plan.confidence)} level"
    yield f"detects: the smallest true difference that these users can detect, with {level}."
    tests = {each.tests for each in differences if each.tests > 1}
    if tests:
        names = join_names([f"{number:,}" for number in sorted(tests)], "or")
        yield f"x / y: as a single test / corrected for {names} tests."
    if all(each.effect is None for each in differences):
        yield "For the number of users that detect an effect, pass `effect`: 0.01 or '2%'."
    if any(each.min_effect for each in differences):
        yield "detects better: with the verdict better, so its interval is above min_effect."
    if any(each.effect for each in differences):
        yield (
            "users for: users needed in all to detect it. equivalent: users needed to show that "
            "two equally good models differ by less."
        )
    if any(each.sd is None for each in differences):
        yield f"{MISSING}: no plan, as {_NO_PLAN}."
    yield from dict.fromkeys(_seed_sentences(differences))


def _seed_sentences(differences: Sequence[PlannedDifference]) -> Iterator[str]:
    for each in differences:
        if each.seeds is None or each.effect is None:
            continue
        yield "seeds for: seeds of each model needed to detect it with these users."
        effect = f"{_effect(each)} of {each.model or 'a model'}"
        if each.users_needed is None:
            seeds = format_count(each.seeds, "seed")
            yield f"No number of users can detect {effect} with {seeds}: seeds vary too much."
        if each.seeds_needed is None:
            users = format_count(each.n_users, "user")
            yield f"No number of seeds can detect {effect} with {users}: users vary too much."


def gate_sentences(plan: Plan) -> Iterator[str]:
    """Yield whether an equally good model passes the gate, then the gains of success metrics."""
    guardrails = plan.guardrails
    if guardrails:
        yield _hardest_sentence(plan)
    open_guardrails = [each for each in guardrails if each.outlook != "shown"]
    if open_guardrails and plan.undecided_passes:
        share = f"{len(open_guardrails):,} of {format_count(len(guardrails), 'guardrail')}"
        yield f"Undecided guardrails let a model pass here, so {share} give little protection."
    if gains := list(_gains(plan.success)):
        yield (
            f"Smallest gains that are a success with {percent(plan.power)} power: "
            f"{join_names(gains)}."
        )


def _hardest_sentence(plan: Plan) -> str:
    equally_good = f"a model that is just as good as {plan.reference or ''}"
    cannot = [each for each in plan.guardrails if each.outlook == "cannot"]
    seldom = [each for each in plan.guardrails if each.outlook == "seldom"]
    if cannot:
        reason = _reason(hardest_first(cannot)[0])
        return f"This gate passes {equally_good} only by chance: {reason}."
    if seldom:
        reason = _reason(hardest_first(seldom)[0])
        return f"This gate often leaves {equally_good} undecided: {reason}."
    if unknown := sum(each.outlook == "unknown" for each in plan.guardrails):
        share = f"{unknown:,} of {format_count(len(plan.guardrails), 'guardrail')}"
        return f"{share} cannot be planned: too few users differ. These users can show the others."
    return (
        f"These users can show every guardrail: {equally_good} passes each with "
        f"{percent(plan.power)} power or more."
    )


def _reason(guardrail: PlannedGuardrail) -> str:
    """Return `als on nDCG@10 within 0.005: 4,000 users needed, 1,192 available; …`."""
    margin, setting = exact(guardrail.margin or 0.0), guardrail.margin_setting
    if setting != f"{guardrail.margin:g}":
        margin += f" ({setting})"
    reason = f"{guardrail.model} on {_guardrail_name(guardrail)} within {margin}"
    if guardrail.users_needed is not None:
        reason += f": {guardrail.users_needed:,} users needed, {guardrail.n_users:,} available"
    elif guardrail.chance is not None:
        reason += ": no number of users is enough"
    if guardrail.chance is not None:
        reason += f"; {percent(guardrail.chance)} of such models pass"
    if guardrail.margin_shown is not None:
        reason += f"; a margin of {exact(guardrail.margin_shown)} is enough"
    return reason


def _guardrail_name(guardrail: PlannedGuardrail) -> str:
    """Return `nDCG@10`, or `nDCG@10 of segment activity=0`."""
    segment = guardrail.segment
    suffix = "" if segment is None else f" of segment {guardrail.segmentation}={segment}"
    return guardrail.label + suffix


def hardest_first(guardrails: Sequence[PlannedGuardrail]) -> list[PlannedGuardrail]:
    """Sort by the factor of users needed: first if no number is enough, last if it is unknown."""
    return sorted(
        guardrails,
        key=lambda each: (
            each.chance is None,
            -math.inf if each.users_needed is None else -each.users_needed / each.n_users,
        ),
    )


def _gains(success: Sequence[PlannedSuccess]) -> Iterator[str]:
    """Yield the smallest gain per label, of the model for which it is easiest to find."""
    for label in dict.fromkeys(each.label for each in success):
        known = [each for each in success if each.label == label and each.smallest is not None]
        if not known:
            continue
        easiest = min(known, key=lambda each: each.smallest or 0.0)
        gain = f"{exact(easiest.smallest or 0.0)} of {label}"
        if easiest.effect is not None and easiest.users_needed is not None:
            users = format_count(easiest.users_needed, "user")
            gain += f" ({exact(easiest.effect)} takes {users})"
        yield gain


def _gate_table(plan: Plan) -> Iterator[Block]:
    """Yield the guardrails that these users cannot show, with the model for which it is hardest."""
    hardest: dict[str, PlannedGuardrail] = {}
    for each in hardest_first([each for each in plan.guardrails if each.outlook != "shown"]):
        hardest.setdefault(_guardrail_name(each), each)
    if not hardest:
        return
    rows = [_guardrail_row(each) for each in hardest.values()]
    yield ""
    yield TextTable(_GUARDRAIL_HEADER, rows[:MAX_GUARDRAILS])
    if len(rows) > MAX_GUARDRAILS:
        yield f"… {len(rows) - MAX_GUARDRAILS:,} more"
    if others := len({_guardrail_name(each) for each in plan.guardrails} - {*hardest}):
        yield f"These users can show {format_count(others, 'other guardrail')}."


def _guardrail_row(guardrail: PlannedGuardrail) -> tuple[str, ...]:
    if guardrail.users_needed is not None:
        needed = count(guardrail.users_needed)
    else:
        needed = MISSING if guardrail.chance is None else NONE
    return (
        _guardrail_name(guardrail),
        guardrail.model,
        _number(guardrail.margin),
        count(guardrail.n_users),
        needed,
        MISSING if guardrail.chance is None else percent(guardrail.chance),
        _number(guardrail.margin_shown),
    )
