"""Summary of a comparison: leaders, their differences to the baseline, and how they were tested."""

from dataclasses import dataclass

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference, Score
from concord.reports.text.numbers import PERCENT, confidence_level, count, exact, join_first

_ADJUSTMENTS = {"holm": "Holm", "max_t": "joint sign flips, max-T"}
_MAX_NAMES = 4  # models on one card


@dataclass(frozen=True)
class Leader:
    """The best model by a primary metric.

    Attributes
    ----------
    score : Score or None
        None if no model has a mean.
    against : Difference or None
        Difference to the baseline; None if the baseline leads.
    """

    label: str
    score: Score | None
    against: Difference | None


def leaders(comparison: Comparison) -> list[Leader]:
    """Return the leader of each primary metric."""
    result = []
    for label in comparison.primary:
        rows = (comparison.score(model, label) for model in comparison.ranked)
        best = next((row for row in rows if row.best), None)
        against = comparison.difference(best.model, comparison.baseline, label) if best else None
        result.append(Leader(label, best, against))
    return result


def close_models(comparison: Comparison, leader: Leader) -> str:
    """Return the models that no test distinguishes from the leader, and those without a test."""
    rows = [comparison.score(model, leader.label) for model in comparison.ranked]
    others = [row for row in rows if row is not leader.score]
    untested = [row.model for row in others if row.indistinguishable_from_best is None]
    if untested and len(untested) == len(others):
        return "not tested"
    close = [row.model for row in others if row.indistinguishable_from_best]
    text = join_first(close, _MAX_NAMES) or "no other model"
    return f"{text}; not tested: {join_first(untested, _MAX_NAMES)}" if untested else text


def headline(comparison: Comparison) -> tuple[str, str]:
    """Return the first verdict, and separately the details in brackets at its end."""
    sentence = next(iter(comparison.verdicts), "Nothing was compared.")
    head, bracket, details = sentence.rpartition(" (")
    if bracket and details.endswith(").") and details.count(")") == 1:
        return f"{head}.", details.removesuffix(").")
    return sentence, ""


def confidence(comparison: Comparison) -> str:
    """Return `95 %`."""
    return confidence_level(comparison.confidence)


def covers(comparison: Comparison) -> tuple[str]:
    """Return what the intervals cover, and what they do not."""
    if not comparison.has_lists:
        return (
            "The intervals say what to expect for other users like these, given these models as "
            "they are; they do not cover retraining, another split or another time. Another tool "
            "computed the metrics.",
        )
    fixed = "The intervals say what to expect for other users like these, given these fixed lists"
    if comparison.replicates is None:
        return (f"{fixed}; they do not cover retraining, another split or another time.",)
    return (
        f"{fixed}. Those over new trainings cover retraining, too; none covers another split or "
        "another time.",
    )


def method_note(comparison: Comparison) -> str:
    """Return how differences were tested, in two or three sentences."""
    rows = comparison.primary_pairs
    if not rows:
        return "There is one model only, hence nothing to compare."
    counts = sorted({row.n_users for row in rows})
    users = " to ".join(count(n) for n in dict.fromkeys((counts[0], counts[-1])))
    scores = [row for label in comparison.primary for row in comparison.scores_of(label)]
    requests = [row.n_requests for row in scores if row.n_requests is not None]
    if requests:
        users = f"{count(max(requests))} requests of {users}"
    tests = sum(row.p is not None for row in rows)
    if not tests:
        return (
            f"Models are compared over {users} users. "
            "No difference on a primary metric could be tested, hence there are no p values."
        )
    unit, clustered = "user by user", ""
    if comparison.unit:
        unit, clustered = "request by request", " clustered by user"
    few = sum(row.test == "sign_flips" for row in rows)
    flips = f" {few} of {tests} rest on sign flips, as few users differ." if few else ""
    return (
        f"Differences are paired, {unit}, over {users} users, with {confidence(comparison)} "
        f"intervals{clustered}. The p values of the primary metrics are adjusted for {tests} "
        f"comparison{'s' * (tests != 1)} ({adjustment_name(comparison)}).{flips}"
    )


def mean_description(comparison: Comparison) -> str:
    """Return the unit of the means, and whether their intervals are clustered."""
    if comparison.unit is None:
        return "Means over users"
    users = "Means over users, of each user's mean over requests"
    over = "Means over requests" if comparison.unit.mean == "requests" else users
    return f"{over}, clustered by user,"


def adjustment_name(comparison: Comparison) -> str:
    """Return the method of adjustment of the primary metrics' p-values."""
    rows = comparison.primary_pairs
    return _ADJUSTMENTS[rows[0].adjustment] if rows else ""


def thresholds(comparison: Comparison) -> dict[str, list[str]]:
    """Return minimum relevant difference -> primary labels."""
    result: dict[str, list[str]] = {}
    for label in comparison.primary:
        rows = comparison.against_baseline(label)
        effects = [row.min_effect for row in rows if row.min_effect is not None]
        if effects:
            effect = exact(float(f"{effects[0]:.3g}"))
            setting = comparison.metric(label).min_effect
            if setting.endswith("%"):
                effect += f" ({setting.removesuffix('%')}{PERCENT} of {comparison.baseline})"
            result.setdefault(effect, []).append(label)
    return result
