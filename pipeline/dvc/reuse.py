"""How often the current ground truth was used to decide."""

from collections.abc import Iterator, Sequence

from concord.metrics_core.comparison.replicate_config import ReplicateNames, model_names
from concord.metrics_core.errors import format_count
from concord.metrics_core.results.history import Reuse
from concord.metrics_core.results.text_format import percent
from concord.metrics_core.stats.adjustment import chance_of_false_winner, reuse_severity
from concord.pipeline.dvc.history_states import State
from concord.pipeline.dvc.lock import DvcLock

ListHashes = frozenset[str | None]
# Hashes of the lists of a model and of the baseline, label, conventions.
ListDecision = tuple[ListHashes, ListHashes, str, str]


def count_reuse(states: Sequence[State], confidence: float) -> Reuse | None:
    """Return how many decisions used the current ground truth; None if it has no hash."""
    truth = states[-1].lock.truth if states else None
    if truth is None:
        return None
    decisions: set[ListDecision] = set()
    n_comparisons = 0
    for state in states:
        if state.lock.truth == truth:
            new = {*_decisions(state.lock)} - decisions
            n_comparisons += bool(new)
            decisions |= new
    chance = chance_of_false_winner(n_comparisons, 1 - confidence)
    return Reuse(
        truth,
        n_comparisons,
        len(decisions),
        chance,
        reuse_severity(chance),
        _reuse_sentence(n_comparisons, len(decisions), chance),
    )


def _decisions(lock: DvcLock) -> Iterator[ListDecision]:
    """Yield the decisions by dvc.lock, so that those whose results are lost count too."""
    params = lock.comparison_params
    baseline = _list_hashes(lock, params.replicates, params.baseline or "")
    for model in model_names(params.models, params.replicates):
        if model != params.baseline:
            hashes = _list_hashes(lock, params.replicates, model)
            for label in params.primary:
                yield hashes, baseline, label, params.conventions


def _list_hashes(lock: DvcLock, replicates: ReplicateNames, model: str) -> ListHashes:
    return frozenset(map(lock.lists, replicates.get(model, {"": model}).values()))


def _reuse_sentence(n_comparisons: int, n_decisions: int, chance: float) -> str:
    times = "once" if n_decisions == 1 else f"{n_decisions:,} times"
    counts = (
        f"This ground truth was used in {format_count(n_comparisons, 'comparison')} to decide "
        f"{times} whether a model is better than the baseline on a primary metric"
    )
    severity = reuse_severity(chance)
    if severity is None:
        return f"{counts}."
    risk = (
        f"{counts}: if no model were better, at least one would still be called better with "
        f"probability up to {percent(chance)}"
    )
    if severity == "notice":
        return (
            f"{risk}. Each reuse makes a winner by chance more likely: keep another ground truth "
            "for the final decision."
        )
    return (
        f"{risk}, and more if models were tuned on these results. A lead on this ground truth "
        "alone is no longer evidence: use a new ground truth (other users, or a later time) for "
        "this decision and the next ones."
    )
