"""How often the truth that is in use now was asked, over the whole history."""

from collections.abc import Iterator, Sequence

from concord.metrics_core.comparison.replicate_config import Named, models_of
from concord.metrics_core.errors import in_words
from concord.metrics_core.results.history import Reuse
from concord.metrics_core.results.words import percent
from concord.metrics_core.stats.adjustment import chance_of_false_winner, severity_of
from concord.pipeline.diffing.dvc_lock import DvcLock
from concord.pipeline.history.states import State

Lists = frozenset[str | None]  # of a model, or of all its trainings
Decision = tuple[Lists, Lists, str, str]  # a model, the baseline, a label, under which conventions


def reuse(found: Sequence[State], confidence: float) -> Reuse | None:
    """None where the ground truth of the last revision has no hash, or dvc.lock of no revision can be read."""
    truth = found[-1].lock.truth if found else None
    if truth is None:
        return None
    known: set[Decision] = set()
    comparisons = 0
    for state in found:
        if state.lock.truth == truth:
            new = {*_decisions(state.lock)} - known
            comparisons += bool(new)
            known |= new
    chance = chance_of_false_winner(comparisons, 1 - confidence)
    severity = severity_of(chance)
    return Reuse(
        truth, comparisons, len(known), chance, severity, _sentence(comparisons, len(known), chance)
    )


def _decisions(lock: DvcLock) -> Iterator[Decision]:
    """All from dvc.lock, so that results that are gone count too."""
    params = lock.comparison_params
    baseline = _lists(lock, params.replicates, params.baseline or "")
    for model in models_of(params.models, params.replicates):
        if model != params.baseline:
            for label in params.primary:
                yield _lists(lock, params.replicates, model), baseline, label, params.conventions


def _lists(lock: DvcLock, replicates: Named, model: str) -> Lists:
    return frozenset(map(lock.lists, replicates.get(model, {"": model}).values()))


def _sentence(comparisons: int, decisions: int, chance: float) -> str:
    """Grows with the count."""
    times = in_words(comparisons, "comparison")
    asked = f"{times} with {in_words(decisions, 'decision')} (a model's lists against the baseline's, on a primary metric) rest on this truth"
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
