"""What a gate can and cannot decide, in sentences."""

import math
from collections.abc import Iterator, Sequence

from concord.metrics_core.checking.problems import in_words
from concord.metrics_core.comparison.words import exact, listed, one_line, percent
from concord.metrics_core.planning.parts import PlannedGuardrail, PlannedSuccess


def gate_lines(
    guardrails: Sequence[PlannedGuardrail],
    success: Sequence[PlannedSuccess],
    *,
    reference: str,
    power: float,
    undecided_passes: bool,
) -> Iterator[str]:
    """Whether a model that is as good as the reference passes, by the guardrail that is hardest to show; then the success."""
    if guardrails:
        yield _hardest(guardrails, reference, power)
    open_ones = [each for each in guardrails if each.outlook != "shown"]
    if open_ones and undecided_passes:
        few = f"{len(open_ones):,} of {in_words(len(guardrails), 'guardrail')}"
        yield f"Undecided guardrails let a model pass here, so that {few} hardly guard."
    if gains := list(_gains(success)):
        yield f"Success is found with {percent(power)} power from these gains on: {listed(gains)}."


def place_of(found: PlannedGuardrail) -> str:
    """`nDCG@10`, or `nDCG@10 of activity “0”`."""
    where = "" if found.segment is None else f" of {found.segmentation} “{found.segment}”"
    return one_line(found.label + where)


def hardest_first(guardrails: Sequence[PlannedGuardrail]) -> list[PlannedGuardrail]:
    """Those that no number of users shows, then by how many times the users they need; of which least is known, last."""
    return sorted(
        guardrails,
        key=lambda each: (
            each.chance is None,
            -math.inf if each.users_needed is None else -each.users_needed / each.n_users,
        ),
    )


def _hardest(guardrails: Sequence[PlannedGuardrail], reference: str, power: float) -> str:
    as_good = f"a model that is just as good as {one_line(reference)}"
    cannot = [each for each in guardrails if each.outlook == "cannot"]
    seldom = [each for each in guardrails if each.outlook == "seldom"]
    if found := cannot or seldom:
        said = f"This gate often leaves {as_good} undecided"
        if cannot:
            said = f"This gate can never pass {as_good}, but by luck"
        return f"{said}: {_why(hardest_first(found)[0])}."
    if unknown := sum(each.outlook == "unknown" for each in guardrails):
        few = f"{unknown:,} of {in_words(len(guardrails), 'guardrail')}"
        return f"Nothing can be said of {few}: too few users differ there. The others can be shown."
    return f"These users can show every guardrail: {as_good} passes each with {percent(power)} power or more."


def _why(worst: PlannedGuardrail) -> str:
    """`als on nDCG@10 within 0.005: 4,000 users needed, 1,192 there; 33 % of such models pass; a margin of 0.009 would do`."""
    asked = "" if worst.asked == f"{worst.margin:g}" else f" ({worst.asked})"
    parts = [
        f"{one_line(worst.model)} on {place_of(worst)} within {exact(worst.margin or 0.0)}{asked}"
    ]
    if worst.users_needed is not None:
        parts.append(f": {worst.users_needed:,} users needed, {worst.n_users:,} there")
    elif worst.chance is not None:
        parts.append(": no number of users is enough")
    if worst.chance is not None:
        parts.append(f"; {percent(worst.chance)} of such models pass")
    if worst.margin_shown is not None:
        parts.append(f"; a margin of {exact(worst.margin_shown)} would do")
    return "".join(parts)


def _gains(success: Sequence[PlannedSuccess]) -> Iterator[str]:
    """The smallest gain a label, of the model of which it is easiest to find, and the users that the effect needs."""
    for label in dict.fromkeys(each.label for each in success):
        known = [each for each in success if each.label == label and each.smallest is not None]
        if not known:
            continue
        easiest = min(known, key=lambda each: each.smallest or 0.0)
        told = f"{exact(easiest.smallest or 0.0)} of {one_line(label)}"
        if easiest.effect is not None and easiest.users_needed is not None:
            told += f" ({exact(easiest.effect)} takes {in_words(easiest.users_needed, 'user')})"
        yield told
