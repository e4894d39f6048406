"""Summary of a comparison: the decision, how sure it is, and how differences were tested."""

from dataclasses import dataclass

from concord.metrics_core.errors import format_count
from concord.metrics_core.results.comparison import Comparison
from concord.reports.text import gate_cells as gate
from concord.reports.text import replicates
from concord.reports.text.answer import answer
from concord.reports.text.costs import costs as all_costs
from concord.reports.text.missing_lists import warning_sentence
from concord.reports.text.numbers import (
    PERCENT,
    confidence_level,
    conventions_name,
    count,
    exact,
    join_first,
)
from concord.reports.text.quality import evaluated_users
from concord.reports.text.verdicts import limits

_ADJUSTMENTS = {"holm": "Holm", "max_t": "joint sign flips, max-T"}
_MAX_NAMES = 4
_N_CAUTIONS = 2  # outside of the fold; serious ones are never in it


def headline(comparison: Comparison) -> str:
    """Return the decision, in all views the same: the outcome of the gate, then the answer."""
    outcome = [gate.headline(comparison.gate)] if comparison.gate else []
    return " ".join([*outcome, answer(comparison)])


def eyebrow(comparison: Comparison) -> str:
    """Return `Demo shop · 1,192 users · 5 models · standard 826e94cb92d0`."""
    models = format_count(len(comparison.models), "model")
    if comparison.replicates:
        models += f", {len(comparison.lists)} training runs"
    n_users, unit = evaluated_users(comparison), "request" if comparison.unit else "user"
    users = [] if n_users is None else [format_count(n_users, unit)]
    preset = [conventions_name(comparison.conventions)] if comparison.has_lists else []
    return " · ".join([comparison.title, *users, models, *preset])


def notes(comparison: Comparison) -> list[str]:
    """Return where to read on in Python: notices, other metrics, and users that would decide."""
    lines = []
    serious = comparison.serious
    if notices := [w for w in comparison.warnings if w not in serious and not w.is_acknowledged]:
        codes = ", ".join(dict.fromkeys(each.code for each in notices))
        lines.append(f"{format_count(len(notices), 'notice')} ({codes}): `comparison.warnings`")
    if n_others := len({*comparison.labels} - {*comparison.primary}):
        lines.append(f"{format_count(n_others, 'other metric')}: `comparison.leaderboard`")
    with_baseline = (
        comparison.difference(model, comparison.baseline, label)
        for label in comparison.primary
        for model in comparison.compared_models
    )
    if any(pair is not None and pair.verdict == "undecided" for pair in with_baseline):
        lines.append("How many users would decide: `cc.plan(comparison)`")
    return lines


@dataclass(frozen=True)
class Caution:
    """What a reader must know before relying on the answer, and how to remedy it."""

    sentence: str
    fix: str = ""
    is_serious: bool = False


def cautions(comparison: Comparison) -> tuple[list[Caution], list[Caution]]:
    """Return the serious and the first cautions, with what the intervals cover, and the others."""
    serious = [
        Caution(warning_sentence(comparison, each), each.fix, is_serious=True)
        for each in comparison.serious
    ]
    trained = [
        f"Would it hold if trained again? {first}" for first, _ in replicates.answers(comparison)
    ]
    costs = [f"The cost of {models}: {cost}" for models, cost in all_costs(comparison)]
    sentences = [*trained[:1], *_definitions(comparison), *costs, *limits(comparison)]
    ordered = [*serious, *map(Caution, sentences)]
    n_visible = max(_N_CAUTIONS, len(serious))
    return [*ordered[:n_visible], Caution(comparison.covers)], ordered[n_visible:]


def _definitions(comparison: Comparison) -> list[str]:
    """Return how many definitions of the primary metrics change the answer."""
    parts = []
    for entry in comparison.panel if len(comparison.models) > 1 else ():
        n_orders = sum(not each.top_two_hold for each in entry.definitions)
        n_verdicts = sum(bool(each.verdicts_changed) for each in entry.definitions)
        changed = {model for each in entry.definitions for model in each.verdicts_changed}
        models = [model for model in comparison.ranked if model in changed]
        verdicts = f"the verdict{'s' * (len(models) > 1)} on {join_first(models, _MAX_NAMES)}"
        changes = [(n_orders, "the order of the first two"), (n_verdicts, verdicts)]
        (n, first), *more = [change for change in changes if change[0]] or [(0, "")]
        if n:
            total = f"{n} of {len(entry.definitions)} definitions of {entry.metric}"
            also = "".join(f", {n_more} {effect}" for n_more, effect in more)
            parts.append(f"{total} change{'s' if n == 1 else ''} {first}{also}")
    return [f"{'; '.join(parts)}."] if parts else []


def confidence(comparison: Comparison) -> str:
    """Return `95 %`."""
    return confidence_level(comparison.confidence)


def covers(comparison: Comparison) -> tuple[str]:
    """Return what the intervals cover, and what they do not."""
    if not comparison.has_lists:
        return (
            "The intervals cover other users like these, given these models as "
            "they are; they do not cover retraining, another split or another time. Another tool "
            "computed the metrics.",
        )
    fixed = "The intervals cover other users like these, given these fixed lists"
    if comparison.replicates is None:
        return (f"{fixed}; they do not cover retraining, another split or another time.",)
    return (
        f"{fixed}. Intervals over replicates cover new training runs, too; none covers another "
        "split or another time.",
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
