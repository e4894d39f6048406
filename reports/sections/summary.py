"""The short answer: who leads by each primary metric, by how much, and how sure that is."""

from dataclasses import dataclass

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from concord.reports.writing import numbers

_ADJUSTMENTS = {"holm": "Holm", "max_t": "joint sign flips, max-T"}
_NAMED = 4  # models on one card


@dataclass(frozen=True)
class Leader:
    """The best model by one primary metric; `against` is its difference to the baseline, None if it is the baseline.

    close, untested : the others that its test did not tell apart from it, and those without a test
    """

    label: str
    higher_is_better: bool
    formula: str
    model: str | None
    mean: str
    interval: str
    against: Difference | None
    difference: str
    difference_interval: str
    close: list[str]
    untested: list[str]


def leaders(comparison: Comparison) -> list[Leader]:
    return [_leader(comparison, label) for label in comparison.primary]


def _leader(comparison: Comparison, label: str) -> Leader:
    rows = [comparison.score(model, label) for model in comparison.ranked]
    best = next((row for row in rows if row.best), None)
    against = comparison.difference(best.model, comparison.baseline, label) if best else None
    digits, finer = (
        numbers.digits_of(comparison, label),
        numbers.difference_digits_of(comparison, label),
    )
    metric = comparison.metric(label)
    others = [row for row in rows if row is not best]
    return Leader(
        label=label,
        higher_is_better=metric.higher_is_better,
        formula=metric.formula,
        model=best.model if best else None,
        mean=numbers.number(best.mean, digits) if best else numbers.MISSING,
        interval=numbers.interval(best.ci_low, best.ci_high, digits) if best else "",
        against=against,
        difference=numbers.signed(against.difference, finer) if against else "",
        difference_interval=numbers.signed_interval(against.ci_low, against.ci_high, finer)
        if against
        else "",
        close=[row.model for row in others if row.indistinguishable_from_best],
        untested=[row.model for row in others if row.indistinguishable_from_best is None],
    )


def too_close(comparison: Comparison, leader: Leader) -> str:
    """Who may be as good as the leader, as far as it was tested."""
    if leader.untested and len(leader.untested) == len(comparison.ranked) - 1:
        return "not tested"
    close = _named(leader.close) or "no other model"
    return f"{close}; not tested: {_named(leader.untested)}" if leader.untested else close


def _named(models: list[str]) -> str:
    more = f" and {len(models) - _NAMED} more" if len(models) > _NAMED else ""
    return ", ".join(models[:_NAMED]) + more


def headline(comparison: Comparison) -> tuple[str, str]:
    """The first verdict; a remark in brackets at its end stands apart, so that it can be set smaller."""
    sentence = next(iter(comparison.verdicts), "Nothing was compared.")
    head, bracket, aside = sentence.rpartition(" (")
    if bracket and aside.endswith(").") and aside.count(")") == 1:
        return f"{head}.", aside.removesuffix(").")
    return sentence, ""


def confidence(comparison: Comparison) -> str:
    return numbers.exact(100 * comparison.confidence) + numbers.PERCENT


def how_sure(comparison: Comparison) -> str:
    """What intervals and p values rest on, in two or three sentences."""
    rows = comparison.primary_pairs
    if not rows:
        return "There is one model only, hence nothing to compare."
    counts = sorted({row.n_users for row in rows})
    users = (
        numbers.count(counts[0])
        if len(counts) == 1
        else " to ".join(map(numbers.count, counts[:: len(counts) - 1]))
    )
    tests = sum(row.p is not None for row in rows)
    unit = "request by request" if comparison.unit else "user by user"
    users = f"{_requests(comparison)}{users}"
    if not tests:
        return (
            f"Models are compared over {users} users. "
            "No difference on a primary metric could be tested, hence there are no p values."
        )
    how = how_adjusted(comparison)
    compared = f"{tests} comparison" + ("" if tests == 1 else "s")
    few = sum(row.test == "sign_flips" for row in rows)
    flips = f" {few} of {tests} rest on sign flips, as few users differ." if few else ""
    return (
        f"Differences are paired, {unit}, over {users} users, with {confidence(comparison)} intervals"
        f"{' clustered by user' if comparison.unit else ''}. "
        f"The p values of the primary metrics are adjusted for {compared} ({how}).{flips}"
    )


def _requests(comparison: Comparison) -> str:
    """`12,345 requests of `, the most that a primary mean is over; nothing where values are those of users."""
    counts = [row.n_requests for label in comparison.primary for row in comparison.scores_of(label)]
    known = [each for each in counts if each is not None]
    return f"{numbers.count(max(known))} requests of " if known else ""


def means_over(comparison: Comparison) -> str:
    """Over what means are taken, and what their intervals allow for."""
    if comparison.unit is None:
        return "Means over users"
    over = {"requests": "Means over requests", "users": "Means over users, of each user's mean over requests"}  # fmt: skip
    return f"{over[comparison.unit.mean]}, clustered by user,"


def how_adjusted(comparison: Comparison) -> str:
    """The method by which the p values of the primary metrics were corrected."""
    rows = comparison.primary_pairs
    return _ADJUSTMENTS[rows[0].adjustment] if rows else ""


def thresholds(comparison: Comparison) -> dict[str, list[str]]:
    """The smallest differences to the baseline that matter, and the primary labels they hold for."""
    found: dict[str, list[str]] = {}
    for label in comparison.primary:
        rows = [
            comparison.difference(model, comparison.baseline, label)
            for model in comparison.challengers
        ]
        effects = [row.min_effect for row in rows if row and row.min_effect is not None]
        if effects:
            effect = numbers.exact(float(f"{effects[0]:.3g}"))
            share = comparison.metric(label).min_effect
            if share.endswith("%"):
                effect += (
                    f" ({share.removesuffix('%')}\N{NO-BREAK SPACE}% of {comparison.baseline})"
                )
            found.setdefault(effect, []).append(label)
    return found
