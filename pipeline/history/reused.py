"""How often the truth that is in use now was asked, over the whole history."""

from collections.abc import Iterator, Sequence

from concord.metrics_core.checking.problems import in_words
from concord.metrics_core.comparison.history import Reuse
from concord.metrics_core.comparison.words import percent
from concord.metrics_core.statistics.reuse import chance_of_false_winner, severity_of
from concord.pipeline.history.states import State

Decision = tuple[str | None, ...]  # a list, the baseline's, a label, under which conventions
_VERDICT = " verdict"  # as primary.json names the verdicts of a label


def reuse(found: Sequence[State], confidence: float) -> Reuse | None:
    """None where the truth of the last revision has no hash."""
    truth = found[-1].locked.truth
    if truth is None:
        return None
    known: set[Decision] = set()
    comparisons = 0
    for state in found:
        if state.locked.truth == truth:
            new = {*_decisions(state)} - known
            comparisons += bool(new)
            known |= new
    chance = chance_of_false_winner(comparisons, 1 - confidence)
    severity = severity_of(chance)
    return Reuse(
        truth, comparisons, len(known), chance, severity, _sentence(comparisons, len(known), chance)
    )


def _decisions(state: State) -> Iterator[Decision]:
    for label, baseline in _asked(state).items():
        conventions = state.comparison.provenance.fingerprint if state.comparison else None
        for model in state.models:
            if model != baseline:
                marks = state.locked.lists(model), state.locked.lists(baseline or "")
                yield (*marks, label, conventions)


def _asked(state: State) -> dict[str, str | None]:
    """Primary label -> its baseline: in primary.json the model without a verdict."""
    if state.comparison is not None:
        return dict.fromkeys(state.comparison.primary, state.comparison.baseline)
    return {
        label: next((m for m in means if m not in state.primary.get(label + _VERDICT, {})), None)
        for label, means in state.primary.items()
        if not label.endswith(_VERDICT)
    }


def _sentence(comparisons: int, decisions: int, chance: float) -> str:
    """Grows with the count."""
    times = in_words(comparisons, "comparison")
    asked = f"{times} with {in_words(decisions, 'decision')} (a list against the baseline's, on a primary metric) rest on this truth"
    severity = severity_of(chance)
    if severity is None:
        return f"{asked}."
    said = f"{asked}: had none of these lists been any better, one of them would be called better with a chance of up to {percent(chance)}"
    if severity == "notice":
        return f"{said}. The more often a truth decides, the more its winners owe to it: keep another one for the last word."
    return (
        f"{said}; and more, if lists were made of what won here. A winner's lead on this truth is no longer evidence by "
        "itself: decide on a truth that has not been asked yet (other users, or a later time), and take that for the next ones."
    )
