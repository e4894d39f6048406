"""Summary of a comparison: the decision, how sure it is, what it costs, how it was tested."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from concord.metrics_core.errors import format_count
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from concord.metrics_core.results.gate import Decision
from concord.metrics_core.results.text_format import group_values, join_names
from concord.reports.text import gate_cells as gate
from concord.reports.text import numbers, replicates
from concord.reports.text.answer import answer, left_out
from concord.reports.text.groups import compared_cells, group_phrase, warning_sentence
from concord.reports.text.numbers import (
    PERCENT,
    confidence_level,
    conventions_name,
    count,
    exact,
    interval_name,
    join_first,
)
from concord.reports.text.quality import evaluated_users
from concord.reports.text.verdict_styles import perhaps_less
from concord.reports.text.verdicts import limits

_MAX_NAMES = 4
_MANY_CANDIDATES = 5  # with more, some were probably left out
_MAX_NOTICES = 3
_N_CAUTIONS = 2  # outside of the fold; warnings are never in it


def headline(comparison: Comparison) -> str:
    """Return the decision, in all views the same: the outcome of the gate, then the answer."""
    decision = comparison.gate
    text = trusted_answer(comparison, decision)
    return text if decision is None else f"{gate.headline(decision)} {text}".rstrip()


def trusted_answer(comparison: Comparison, decision: Decision | None = None) -> str:
    """Return the answer; if a model is suspicious, only which are, and which are left out.

    Suspicious models that the gate's decision names are not named again.
    """
    suspected = [each for each in comparison.warnings if each.is_suspicious]
    if not suspected:
        return answer(comparison)
    told = () if decision is None else decision.doubts
    names = dict.fromkeys(each.model_names for each in suspected if each not in told)
    doubt = [f"Suspicious: {join_names([*names])}."] if names else []
    return " ".join([*doubt, *(f"{each}." for each in left_out(comparison))])


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
    """Return what was chosen, the notices, and where to read on in Python."""
    found = [f"Notice: {each}" for each in notices(comparison)]
    return [*chosen_sentences(comparison), *found, *pointers(comparison, comparison.primary)]


def notices(comparison: Comparison) -> list[str]:
    """Return the warnings that are not prominent as sentences, and the number of those beyond."""
    prominent = comparison.prominent
    found = [w for w in comparison.warnings if w not in prominent and not w.is_acknowledged]
    lines = [
        f"{each.sentence} What to do: {each.fix}." if each.fix else each.sentence
        for each in found[:_MAX_NOTICES]
    ]
    if more := len(found) - len(lines):
        lines.append(f"{format_count(more, 'more notice')}: `comparison.warnings`")
    return lines


def pointers(comparison: Comparison, shown: Sequence[str]) -> list[str]:
    """Return where to find metrics that are not shown, and how many users would decide."""
    lines = []
    if n_others := len({*comparison.labels} - {*shown}):
        lines.append(f"{format_count(n_others, 'other metric')}: `comparison.leaderboard`")
    with_baseline = (
        pair for label in comparison.primary for pair in comparison.against_baseline(label)
    )
    if any(pair.verdict == "undecided" for pair in with_baseline):
        lines.append("How many users would decide: `comparison.plan()`")
    return lines


def deciding(comparison: Comparison) -> str:
    """Return which metrics decide, and which argument names them; empty for a single model."""
    if not comparison.primary_pairs:
        return ""
    names = join_names(comparison.primary)
    if len(comparison.primary) > 1:
        return f"{names} decide: `primary` names the metrics that do."
    return f"{names} decides: `primary` names the metric that does, by default the first."


def chosen_sentences(comparison: Comparison) -> Iterator[str]:
    """Yield what was chosen from the tables, as `compare` got no metrics."""
    if not comparison.chosen:
        return
    primary, values = comparison.primary[0], comparison.conventions.values
    effect = numbers.min_effect_text(comparison, primary)
    threshold = next(each.value for each in values if each.name == "relevance_threshold")
    texts = {
        "metrics": f"cutoffs {join_names(list(map(str, comparison.ks)))}",
        "primary": f"{primary} decides",
        "min_effect": f"differences of at least {effect} matter",
        "conventions": f"grades from {threshold} count as relevant",
    }
    if comparison.unit and "conventions" in comparison.chosen:
        texts["conventions"] += f", means over requests by {join_names([*comparison.unit.columns])}"
    yield f"Chosen as by `concord init`: {', '.join(texts[each] for each in comparison.chosen)}"


@dataclass(frozen=True)
class Caution:
    """What a reader must know before relying on the answer, and how to remedy it."""

    sentence: str
    fix: str = ""
    is_warning: bool = False


def cautions(
    comparison: Comparison, decision: Decision | None = None
) -> tuple[list[Caution], list[Caution]]:
    """Return the warnings and first cautions, with what the intervals cover, and the others.

    Warnings that a decision of the gate explains are left out.
    """
    warnings = [
        Caution(warning_sentence(comparison, each), each.fix, is_warning=True)
        for each in comparison.prominent
        if not (decision and each in decision.doubts)
    ]
    trained = [
        f"Would it hold if trained again? {first}" for first, _ in replicates.answers(comparison)
    ]
    cost_texts = [f"The cost of {models}: {cost}" for models, cost in costs(comparison)]
    sentences = [*trained[:1], *_definitions(comparison), *cost_texts, *limits(comparison)]
    ordered = [*warnings, *map(Caution, sentences)]
    n_visible = max(_N_CAUTIONS, len(warnings))
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


def difference_interval(comparison: Comparison, label: str) -> str:
    """Return the name of the intervals of differences to the baseline, such as `95 % interval`."""
    pairs = comparison.against_baseline(label)
    widest = max(pairs, key=lambda pair: pair.level, default=None)
    if widest is None:
        return f"{confidence(comparison)} interval"
    return interval_name(widest, comparison.confidence)


def covers(comparison: Comparison) -> str:
    """Return what the intervals cover, and what they do not."""
    condition = "these fixed lists" if comparison.has_lists else "these models as they are"
    text = f"The intervals cover other users like these, given {condition}"
    if comparison.replicates is None:
        source = "" if comparison.has_lists else " Another tool computed the metrics."
        time = "another split or another time"
        return f"{text}; they do not cover retraining, {time}.{source}"
    return (
        f"{text}. Intervals over replicates cover new training runs, too; none covers another "
        "split or another time."
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
    level = confidence(comparison)
    return (
        f"Differences are paired, {unit}, over {users} users{clustered}. "
        f"{_families(comparison, rows, level)}{flips}{_tried(comparison)}"
        f"{share_note(comparison)}"
    )


def share_note(comparison: Comparison) -> str:
    """Return what intervals are for if `min_effect` is a share; empty if it is a number."""
    shares = {metric.label for metric in comparison.metrics if metric.share}
    if not any(pair.label in shares and pair.ci_low is not None for pair in comparison.pairs):
        return ""
    start = "If min_effect is a share, intervals"
    if len(shares) == len(comparison.metrics):
        start = "Intervals"
    reference = f"a share of {comparison.baseline}'s mean"
    return f" {start} are those of the difference as {reference}, times this mean."


def _tried(comparison: Comparison) -> str:
    """Return how many models were tried, or the request for this number if many are compared."""
    n_models = len(comparison.compared_models)
    if comparison.tried is not None:
        return f" They allow for {count(comparison.tried)} models that were tried on these users."
    if n_models <= _MANY_CANDIDATES:
        return ""
    return (
        f" If more than these {count(n_models)} models were tried on these users, "
        "set `comparison.tried` to their number."
    )


def _families(comparison: Comparison, rows: Sequence[Difference], level: str) -> str:
    """Return which intervals hold together, in one or two sentences."""
    tested = [row.vs_baseline for row in rows if row.p is not None]
    n_baseline, n_others = tested.count(True), tested.count(False)
    if len(tested) == 1:
        return f"The interval has {level} confidence."
    if comparison.family == "all" or not n_others or not n_baseline:
        return f"The intervals of {len(tested)} primary comparisons hold together with {level}."
    return (
        f"The intervals of {format_count(n_baseline, 'primary comparison')} with "
        f"{comparison.baseline} hold together with {level}, and so do those of "
        f"{format_count(n_others, 'pair')} among the others."
    )


def mean_description(comparison: Comparison) -> str:
    """Return the unit of the means, and whether their intervals are clustered."""
    if comparison.unit is None:
        return "Means over users"
    users = "Means over users, of each user's mean over requests"
    over = "Means over requests" if comparison.unit.mean == "requests" else users
    return f"{over}, clustered by user,"


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


_MAX_LABELS, _MAX_SEGMENTS = 4, 3  # in one sentence
_MAX_LEADERS = 3


def costs(comparison: Comparison) -> list[tuple[str, str]]:
    """Return (models, cost) for models other than the baseline that lead on a primary metric."""
    leaders = [model for label in comparison.primary for model in comparison.leaders(label)]
    models = [model for model in dict.fromkeys(leaders) if model != comparison.baseline]
    by_cost = group_values((_cost(comparison, model), model) for model in models[:_MAX_LEADERS])
    return [(" and ".join(models), cost) for cost, models in by_cost.items() if cost]


def _cost(comparison: Comparison, model: str) -> str:
    labels = join_first(_worse_labels(comparison, model), _MAX_LABELS)
    segments = join_first(_worse_segments(comparison, model), _MAX_SEGMENTS)
    parts = "; and on ".join(filter(None, (labels, segments)))
    return f"worse than {comparison.baseline} on {parts}." if parts else ""


def _worse_labels(comparison: Comparison, model: str) -> Iterator[str]:
    """Yield each metric on which the model is worse, the largest relative loss first.

    A metric is given once, at the main cutoff if the model is worse there. The share of judged
    items describes the judgements, not the model.
    """
    by_stem: dict[str, list[Difference]] = {}
    for label in comparison.labels:
        pair = comparison.difference(model, comparison.baseline, label)
        if comparison.metric(label).name == "Judged":
            continue
        if pair is not None and pair.verdict.startswith("worse"):
            by_stem.setdefault(comparison.metric(label).stem, []).append(pair)
    rows = []
    for pairs in by_stem.values():
        at_main = [d for d in pairs if comparison.metric(d.label).k == comparison.main_cutoff]
        first = (at_main or pairs)[0]
        rows.append((first, [f"@{comparison.metric(d.label).k}" for d in pairs if d is not first]))
    rows.sort(key=lambda row: -abs(row[0].relative or 0.0))
    for pair, cutoffs in rows:
        digits = comparison.decimals[pair.label]
        parts = [numbers.signed(pair.difference, digits)]
        if pair.relative is not None:
            parts.append(numbers.relative(pair.relative))
        parts[-1] += perhaps_less(pair.verdict, numbers.min_effect_text(comparison, pair.label))
        if not comparison.metric(pair.label).higher_is_better:
            parts.append("lower is better")
        if cutoffs:
            parts.append(f"also {' '.join(cutoffs)}")
        yield f"{pair.label} ({', '.join(parts)})"


def _worse_segments(comparison: Comparison, model: str) -> Iterator[str]:
    """Yield the segments in which the model is worse, the largest loss first."""
    rows = [
        (group_phrase(entry, [cell.segment]), cell)
        for entry in comparison.segments
        for cell in compared_cells(comparison, entry, entry.cells)
        if cell.model == model and cell.verdict is not None and cell.verdict.startswith("worse")
    ]
    rows.sort(key=lambda row: -abs(row[1].difference or 0.0))
    for group, cell in rows:
        digits = numbers.label_decimals(comparison, cell.label)
        less = perhaps_less(cell.verdict or "", numbers.min_effect_text(comparison, cell.label))
        yield f"{cell.label} for {group} ({numbers.signed(cell.difference, digits)}{less})"
