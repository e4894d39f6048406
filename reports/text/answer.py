"""The answer of a comparison: which models are best on the primary metrics, in one sentence."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from concord.metrics_core.results.text_format import is_or_are, join_names
from concord.reports.text import numbers

_MAX_TIED = 3  # names in one clause
_LEVEL = {"identical", "equivalent"}
_OPEN = {  # verdict on a model against the baseline -> its words; the least decided first
    "undecided": "undecided",
    "too_few_users": "not judged, as too few users differ",
    "no_interval": "not tested",
    "not_comparable": "not comparable, as too many users have no list",
}
_CLOSED = {
    "worse": "worse",
    "worse_without_interval": "worse",
    "worse_below_threshold": "slightly worse",
    "equivalent": "equivalent",
    "identical": "identical",
}


@dataclass(frozen=True)
class Top:
    """The best models on some primary metrics: the leader, then those that it is not better than.

    Attributes
    ----------
    verdicts : set of str
        Verdicts on the leader against the others; empty for one model.
    """

    labels: tuple[str, ...]
    models: tuple[str, ...]
    verdicts: frozenset[str]


def answer(comparison: Comparison) -> str:
    """Return the decision that the verdicts of all primary metrics lead to."""
    if len(comparison.models) == 1:
        return f"{comparison.models[0]} is the only model: there is nothing to compare it with."
    tops = _tops(comparison)
    if not tops:
        return f"No model has a mean of {join_names(comparison.primary, 'or')}."
    labels = [label for label in comparison.primary for top in tops if label in top.labels]
    if not any(_is_better(pair) for x in labels for pair in comparison.against_baseline(x)):
        return _no_better_model(comparison, labels)
    baseline, common = comparison.baseline, set.intersection(*(set(top.models) for top in tops))
    if len(common) > 1 and all(top.verdicts for top in tops):
        # The other models are tied on one metric, but worse on another.
        models = tuple(model for model in tops[0].models if model in common)
        tops = [Top(tuple(labels), models, frozenset().union(*(top.verdicts for top in tops)))]
    clauses = [_top_clause(comparison, top, is_only=len(tops) == 1) for top in tops]
    claims = [top for top in tops if not top.verdicts]
    tied = dict.fromkeys(m for top in tops if top.verdicts for m in top.models if m != baseline)
    clauses += _baseline_clauses(comparison, tied, claims, labels, n_tied=len(tied))
    if len(clauses) == len(tops) and all(top.models[0] == baseline for top in claims):
        # The baseline itself is best or tied, and other models beat it.
        clauses += _baseline_clauses(comparison, comparison.compared_models, claims, labels)
    incomparable = [m for m in comparison.compared_models if not _is_candidate(m, comparison)]
    if incomparable:
        clauses.append(f"{_names(incomparable)} {is_or_are(incomparable)} not comparable")
    start = "" if common else "The primary metrics disagree: "
    caveat = _training_caveat(comparison, claims, list(tied), labels)
    return f"{start}{'; '.join(clauses)}{caveat}."


def answer_numbers(comparison: Comparison) -> str:
    """Return the differences of the best models to the baseline, on each primary metric."""
    tops = _tops(comparison)
    best = {m for top in tops for m in top.models} - {comparison.baseline}
    parts = [_label_numbers(comparison, label, best) for label in comparison.primary]
    if len(comparison.models) == 1:
        return f"{'. '.join(parts)}."
    return f"Against {comparison.baseline}, {'. '.join(parts)}."


def _label_numbers(comparison: Comparison, label: str, best: set[str]) -> str:
    digits = comparison.decimals[label]
    if not comparison.leaders(label):
        return f"{label}: no model has a mean"
    if len(comparison.models) == 1:
        score = comparison.score(comparison.models[0], label)
        interval = numbers.interval(score.ci_low, score.ci_high, digits)
        return f"{label}: {numbers.with_details(numbers.number(score.mean, digits), interval)}"
    pairs = comparison.against_baseline(label)
    texts = [
        numbers.with_details(
            f"{pair.a} {numbers.signed(pair.difference, digits)}",
            "" if pair.relative is None else numbers.relative(pair.relative),
        )
        for pair in ([pair for pair in pairs if pair.a in best] or pairs[:1])
    ]
    return f"{label}: {numbers.join_first(texts, _MAX_TIED)}"


def top_models(comparison: Comparison, label: str) -> list[str]:
    """Return the leader of a label, then the models that it is not better than."""
    ranked = [*comparison.leaders(label), *comparison.others(label)]
    candidates = [
        model
        for model in ranked
        if comparison.score(model, label).mean is not None and _is_candidate(model, comparison)
    ]
    leaders = [m for m in candidates if m in comparison.leaders(label)] or candidates[:1]
    others = [
        model
        for model in candidates
        if model not in leaders
        and not all(_is_better(pair_of(comparison, best, model, label)) for best in leaders)
    ]
    return [*leaders, *others]


def pair_of(comparison: Comparison, a: str, b: str, label: str) -> Difference:
    """Return the difference on a primary label, where every pair was compared."""
    pair = comparison.difference(a, b, label)
    assert pair is not None
    return pair


def _tops(comparison: Comparison) -> list[Top]:
    """Return the best models, of labels with the same best models together."""
    groups: dict[frozenset[str], Top] = {}
    for label in comparison.primary:
        if models := top_models(comparison, label):
            first, *others = models
            verdicts = {pair_of(comparison, first, m, label).verdict for m in others}
            known = groups.get(frozenset(models), Top((), tuple(models), frozenset()))
            groups[frozenset(models)] = Top(
                (*known.labels, label), known.models, known.verdicts | verdicts
            )
    return list(groups.values())


def _is_candidate(model: str, comparison: Comparison) -> bool:
    """True unless too many users have no list of the model for a comparison with the baseline."""
    pairs = (comparison.difference(model, comparison.baseline, x) for x in comparison.primary)
    return not any(pair is not None and pair.verdict == "not_comparable" for pair in pairs)


def _is_better(pair: Difference) -> bool:
    return pair.verdict.startswith("better")


def _is_slight(comparison: Comparison, model: str, label: str) -> bool:
    pair = pair_of(comparison, model, comparison.baseline, label)
    return pair.verdict == "better_below_threshold"


def _names(models: Sequence[str]) -> str:
    return join_names(models) if len(models) <= _MAX_TIED else numbers.join_first(models, _MAX_TIED)


def _top_clause(comparison: Comparison, top: Top, *, is_only: bool) -> str:
    """Return `ease is best on nDCG@10`, or `als and ease are too close to call`."""
    on = f" on {join_names(top.labels)}"
    if not top.verdicts:
        model, baseline = top.models[0], comparison.baseline
        if model == baseline:
            return f"{model}, the baseline, is best{on}"
        if len(comparison.compared_models) == 1:
            return next(_better_clauses(comparison, [model], top.labels)) + on
        slight = any(_is_slight(comparison, model, label) for label in top.labels)
        though = f", though only slightly better than {baseline}" if slight else ""
        return f"{model} is best{on}{though}"
    state, reason = "too close to call", ""
    if top.verdicts <= _LEVEL:
        state = "identical" if top.verdicts == {"identical"} else "equivalent"
    elif "not_comparable" in top.verdicts:
        state, reason = "not comparable", ", as too many users have no list"
    elif "no_interval" in top.verdicts:
        state = "not tested against each other"
    elif top.verdicts <= {*_LEVEL, "too_few_users"}:
        reason = ", as too few users differ"
    return f"{_names(top.models)} are {state}{'' if is_only else on}{reason}"


def _baseline_clauses(
    comparison: Comparison,
    models: Iterable[str],
    claims: Sequence[Top],
    labels: Sequence[str],
    *,
    n_tied: int = 1,
) -> Iterator[str]:
    """Yield which of the models are better than the baseline where no claim implies it."""
    claimed = {(top.models[0], label) for top in claims for label in top.labels}
    groups: dict[tuple[str, ...], list[str]] = {}
    for model in models:
        pairs = [pair_of(comparison, model, comparison.baseline, label) for label in labels]
        better = tuple(pair.label for pair in pairs if _is_better(pair))
        if any((model, label) not in claimed for label in better):
            groups.setdefault(better, []).append(model)
    for better, group in groups.items():
        on = "" if len(better) == len(labels) else f" on {join_names(better)}"
        for clause in _better_clauses(comparison, group, better, n_tied=n_tied):
            yield clause + on


def _better_clauses(
    comparison: Comparison, models: list[str], labels: Sequence[str], *, n_tied: int = 1
) -> Iterator[str]:
    """Yield `both beat popularity`, or `ease is slightly better than popularity`."""
    baseline = comparison.baseline
    slight = [m for m in models if any(_is_slight(comparison, m, label) for label in labels)]
    for group in (slight, [model for model in models if model not in slight]):
        if group:
            subject = _names(group)
            if n_tied > _MAX_TIED:
                subject = f"{len(group)} of them"
            if len(group) == n_tied > 1:
                subject = {2: "both"}.get(len(group), "all")
            verb = "beats" if len(group) == 1 else "beat"
            if group is slight:
                verb = f"{is_or_are(group)} slightly better than"
            yield f"{subject} {verb} {baseline}"


def _no_better_model(comparison: Comparison, labels: Sequence[str]) -> str:
    """Return that no model beats the baseline, and how each compares with it."""
    groups: dict[str, list[str]] = {}
    verdicts = [*_OPEN, *_CLOSED]
    is_open = False
    for model in comparison.compared_models:
        of_model = {pair_of(comparison, model, comparison.baseline, x).verdict for x in labels}
        first = min(of_model, key=verdicts.index)
        is_open |= first in _OPEN
        groups.setdefault((_OPEN | _CLOSED)[first], []).append(model)
    are = [f"{_names(models)} {is_or_are(models)} {words}" for words, models in groups.items()]
    verb = "is shown to beat" if is_open else "beats"
    on = f" on {join_names(labels, 'or')}"
    return f"No model {verb} {comparison.baseline}{on}: {'; '.join(are)}."


def _training_caveat(
    comparison: Comparison, claims: Sequence[Top], tied: Sequence[str], labels: Sequence[str]
) -> str:
    """Return a restriction if the claims may not hold when models are trained again."""
    pairs = [
        comparison.retrained(top.models[0], other, label)
        for top in claims
        for label in top.labels
        for other in comparison.models
        if other != top.models[0]
    ]
    pairs += [
        comparison.retrained(model, comparison.baseline, label)
        for model in tied
        for label in labels
        if _is_better(pair_of(comparison, model, comparison.baseline, label))
    ]
    is_sure = all(pair is None or pair.verdict.startswith("better") for pair in pairs)
    return "" if is_sure else ", as the models are trained now"
