"""The answer of a comparison: which models are best on the primary metrics, in one sentence."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from concord.metrics_core.results.text_format import group_values, is_or_are, join_names
from concord.reports.text import numbers
from concord.reports.text.tables import beats
from concord.reports.text.verdict_styles import ORDER_DECIDES, perhaps_less

_MAX_NAMES = 3  # in one clause
_TOO_FEW = ", as too few users differ"
_BY_ORDER = f", as {ORDER_DECIDES}"
_CLOSED = {  # verdict on a model against the baseline -> its words, and a reason
    "worse": ("worse", ""),
    "worse_without_interval": ("worse", ""),
    "worse_below_threshold": ("worse", ""),
    "equivalent": ("equivalent", ""),
    "identical": ("identical", ""),
}
_OPEN = {
    "undecided": ("undecided", ""),
    "undecided_by_order": ("undecided", _BY_ORDER),
    "no_interval": ("not tested", ""),
    "too_few_users": ("not testable", _TOO_FEW),
}
_LEVEL = {"identical", "equivalent"}
_TIES = (  # verdicts between tied models -> their words, and a reason; the first that fits
    ({"identical"}, "identical", ""),
    (_LEVEL, "equivalent", ""),
    ({"no_interval"}, "not tested against each other", ""),
    ({*_LEVEL, "too_few_users"}, "too close to call", _TOO_FEW),
    ({*_LEVEL, "too_few_users", "undecided"}, "too close to call", ""),
    ({*_LEVEL, *_OPEN} - {"no_interval"}, "too close to call", _BY_ORDER),
    ({*_LEVEL, *_OPEN}, "not shown to differ", ""),
)


class _Clause(NamedTuple):
    """`als and ease are equivalent on R@10`; without labels it holds for all primary metrics."""

    models: tuple[str, ...]
    predicate: str
    reason: str = ""
    labels: tuple[str, ...] = ()

    def __str__(self) -> str:
        on = f" on {join_names(self.labels)}" if self.labels else ""
        return f"{_names(self.models)} {self.predicate}{on}{self.reason}"


def answer(comparison: Comparison) -> str:
    """Return the decision that the verdicts of all primary metrics lead to."""
    baseline, without = comparison.baseline, _without_lists(comparison)
    if len(comparison.models) == 1:
        return f"{baseline} is the only model: there is nothing to compare it with."
    item = "list" if comparison.has_lists else "value"
    if baseline in without:
        return f"No model is comparable with {baseline}, as too many users have no {item} of it."
    labels = [label for label in comparison.primary if comparison.leaders(label)]
    if not labels:
        return f"No model has a mean of {join_names(comparison.primary, 'or')}."
    notes = left_out(comparison)
    better = {
        model: on
        for model in comparison.compared_models
        if (on := [label for label in labels if beats(comparison, model, baseline, label)])
    }
    if better:
        start, clauses = _best_models(comparison, labels, better)
    else:
        start, clauses = _no_better_model(comparison, labels, is_open=bool(notes))
    return f"{start}{'; '.join([*clauses, *notes])}{_on_common_users(comparison)}."


def left_out(comparison: Comparison) -> list[str]:
    """Return which models have no mean, and which are not comparable."""
    without = _without_lists(comparison)
    notes = [*_without_mean(comparison, [m for m in comparison.ranked if m not in without])]
    if without:
        verb, item = is_or_are(without), "list" if comparison.has_lists else "value"
        notes.append(f"{_names(without)} {verb} not comparable, as too many users have no {item}")
    return notes


def _on_common_users(comparison: Comparison) -> str:
    """Return `, on the 260 users with values of both`; empty if all means are over these users."""
    pairs = [
        pair
        for pair in comparison.primary_pairs
        if pair.difference is not None and pair.verdict != "not_comparable"
    ]
    if not any(has_different_users(pair, comparison) for pair in pairs):
        return ""
    if comparison.unit:
        return ", on the requests with values of both"
    fewest, most = (end(pair.n_users for pair in pairs) for end in (min, max))
    if fewest == most:
        return f", on the {most:,} users with values of both"
    return f", each on the users with values of both ({fewest:,} to {most:,})"


def has_different_users(pair: Difference, comparison: Comparison) -> bool:
    """True if a mean of one of the models is over other users than their difference."""
    if pair.difference is None:
        return False
    scores = [comparison.score(model, pair.label) for model in (pair.a, pair.b)]
    requests = {score.n_requests for score in scores}
    return {score.n_users for score in scores} != {pair.n_users} or len(requests) > 1


def answer_numbers(comparison: Comparison) -> str:
    """Return the differences of the best models to the baseline, on each primary metric."""
    best = {model for label in comparison.primary for model in top_models(comparison, label)}
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
            _choice_of_best(comparison, pair, digits),
        )
        for pair in ([pair for pair in pairs if pair.a in best] or pairs[:1])
    ]
    return f"{label}: {numbers.join_first(texts, _MAX_NAMES)}"


def _choice_of_best(comparison: Comparison, pair: Difference, digits: int) -> str:
    """Return `allowing for the choice of the best of 20: +0.034`, if a smaller gain is printed."""
    winner = comparison.winner(pair.label)
    if winner is None or winner.model != pair.a or winner.corrected is None:
        return ""
    sign = 1 if comparison.metric(pair.label).higher_is_better else -1
    lost = sign * ((pair.difference or 0.0) - winner.corrected)
    corrected = numbers.signed(winner.corrected, digits)
    ends = pair.ci_low, pair.ci_high
    if None in ends or not (ends[0] or 0.0) <= winner.corrected <= (ends[1] or 0.0):
        return ""  # many equal models and one other: the estimate does not hold
    if lost <= 0 or corrected == numbers.signed(pair.difference, digits):
        return ""
    of_all = "" if winner.n_models == winner.n_compared else f" of {winner.n_compared} models"
    return f"allowing for the choice of the best of {winner.n_models}{of_all}: {corrected}"


def top_models(comparison: Comparison, label: str) -> list[str]:
    """Return the leaders of a label, then the models that one of them does not beat."""
    leaders = comparison.leaders(label)
    return leaders + [
        model
        for model in _candidates(comparison, label)
        if model not in leaders and not all(beats(comparison, x, model, label) for x in leaders)
    ]


def pair_of(comparison: Comparison, a: str, b: str, label: str) -> Difference:
    """Return the difference of two models, one of which is a leader or the baseline."""
    pair = comparison.difference(a, b, label)
    assert pair is not None
    return pair


def _candidates(comparison: Comparison, label: str) -> list[str]:
    """Return the comparable models that have a mean, best first."""
    without = _without_lists(comparison)
    ranked = [*comparison.leaders(label), *comparison.others(label)]
    return [m for m in ranked if m not in without and _has_mean(comparison, m, label)]


def _has_mean(comparison: Comparison, model: str, label: str) -> bool:
    return comparison.score(model, label).mean is not None


def _without_lists(comparison: Comparison) -> list[str]:
    """Return the models of which too many users have no list: comparable with no other model."""
    pairs = comparison.primary_pairs
    comparable = {m for x in pairs if x.verdict != "not_comparable" for m in (x.a, x.b)}
    leaders = {model for label in comparison.primary for model in comparison.leaders(label)}
    return [model for model in comparison.ranked if model not in comparable | leaders]


def _without_mean(comparison: Comparison, models: Iterable[str]) -> Iterator[str]:
    """Yield `als and ease have no mean of R@10`."""
    groups = group_values(
        (tuple(x for x in comparison.primary if not _has_mean(comparison, model, x)), model)
        for model in models
    )
    for labels, group in groups.items():
        if labels:
            verb = "has" if len(group) == 1 else "have"
            yield f"{_names(group)} {verb} no mean of {join_names(labels, 'or')}"


def _names(models: Sequence[str]) -> str:
    if len(models) <= _MAX_NAMES:
        return join_names(models)
    return numbers.join_first(models, _MAX_NAMES)


def _best_models(
    comparison: Comparison, labels: Sequence[str], better: Mapping[str, Sequence[str]]
) -> tuple[str, list[str]]:
    """Return the start of the answer, then which models are best and which beat the baseline."""
    tops = {
        label: top_models(comparison, label)
        for label in labels
        if len(_candidates(comparison, label)) > 1  # the only model with a mean is not the best
    }
    first, *more = tops.values()
    common = [model for model in first if all(model in models for models in more)]
    if len(common) > 1 and (words := _tie(comparison, common, tops)):
        # The other models are tied on one metric, but worse on another.
        tops = dict.fromkeys(tops, common)
        clauses = [_Clause(tuple(common), *words)]
    else:
        clauses = _merged(_top_clause(comparison, models, x) for x, models in tops.items())
    claims = {(models[0], label) for label, models in tops.items() if len(models) == 1}
    # Where the baseline alone is best or tied, other models beat it on another metric.
    named = dict.fromkeys(m for models in tops.values() for m in models if m in better) or better
    unclaimed = {
        m: better[m] for m in named if any((m, label) not in claims for label in better[m])
    }
    ties = [set(clause.models) for clause in clauses if len(clause.models) > 1]
    every: list[_Clause] = []
    if len(unclaimed) > _MAX_NAMES and len(better) == len(comparison.compared_models):
        every += _baseline_clauses(comparison, better, labels, ties)
    one_for_all = every if len(every) == 1 else None
    clauses += one_for_all or _baseline_clauses(comparison, unclaimed, labels, ties)
    return "" if common else "The primary metrics disagree: ", [*map(str, clauses)]


def _merged(clauses: Iterable[_Clause]) -> list[_Clause]:
    """Return the clauses, those that differ in their labels alone as one."""
    merged: dict[tuple[frozenset[str], str, str], _Clause] = {}
    for clause in clauses:
        key = frozenset(clause.models), clause.predicate, clause.reason
        labels = merged[key].labels if key in merged else ()
        merged[key] = merged.get(key, clause)._replace(labels=(*labels, *clause.labels))
    return list(merged.values())


def _top_clause(comparison: Comparison, models: Sequence[str], label: str) -> _Clause:
    """Return `ease is best on nDCG@10`, or `als and ease are too close to call on nDCG@10`."""
    (leader, *others), baseline = models, comparison.baseline
    if not others:
        caveat = _training_caveat(comparison, leader, comparison.models, label)
        if leader == baseline:
            return _Clause((f"{leader}, the baseline,",), "is best", caveat, (label,))
        less = _perhaps_less(comparison, leader, label)
        if len(comparison.compared_models) == 1:
            return _Clause((leader,), f"beats {baseline}", f"{caveat}{less}", (label,))
        margin = numbers.min_effect_text(comparison, label)
        though = f", though perhaps less than {margin} ahead of {baseline}" if less else ""
        return _Clause((leader,), "is best", f"{though}{caveat}", (label,))
    if words := _tie(comparison, models, [label]):
        return _Clause(tuple(models), *words, (label,))
    winners = [model for model in others if beats(comparison, model, leader, label)]
    equals = [model for model in others if model not in winners]
    buts = [f"is not shown to be better than {_names(equals)}"] if equals else []
    if winners:
        verb = "beats" if len(winners) == 1 else "beat"
        buts.append(f"{_names(winners)} {verb} it on the users with values of both")
    return _Clause((leader,), "has the best mean", f", but {', and '.join(buts)}", (label,))


def _tie(
    comparison: Comparison, models: Sequence[str], labels: Iterable[str]
) -> tuple[str, str] | None:
    """Return the words for models of which none beats another, and a reason; else None.

    None, too, if not all of their pairs were compared.
    """
    pairs = (
        comparison.difference(a, b, label) for label in labels for a, b in combinations(models, 2)
    )
    verdicts = {"" if pair is None else pair.verdict for pair in pairs}
    ties = ((f"are {words}", reason) for among, words, reason in _TIES if verdicts <= among)
    return next(ties, None)


def _perhaps_less(comparison: Comparison, model: str, label: str) -> str:
    """Return `, perhaps by less than 0.01` if the verdict against the baseline is such."""
    verdict = pair_of(comparison, model, comparison.baseline, label).verdict
    return perhaps_less(verdict, numbers.min_effect_text(comparison, label))


def _baseline_clauses(
    comparison: Comparison,
    better: Mapping[str, Sequence[str]],
    labels: Sequence[str],
    ties: Sequence[set[str]],
) -> Iterator[_Clause]:
    """Yield `both beat popularity`, or `ease beats pop on R@10, perhaps by less than 0.01`."""
    baseline = comparison.baseline
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for model in better:
        labels_of: dict[str, list[str]] = {}
        for label in better[model]:
            caveat = _training_caveat(comparison, model, [baseline], label)
            reason = f"{caveat}{_perhaps_less(comparison, model, label)}"
            labels_of.setdefault(reason, []).append(label)
        for reason, names in labels_of.items():
            groups.setdefault((reason, tuple(names)), []).append(model)
    for (reason, on), group in groups.items():
        verb = "beats" if len(group) == 1 else "beat"
        subject = tuple(group)
        if [set(group)] == ties:
            subject = ({2: "both"}.get(len(group), "all"),)
        elif _MAX_NAMES < len(group) == len(comparison.compared_models):
            subject = (f"all {len(group)}",)
        on_labels = () if len(on) == len(labels) else on
        yield _Clause(subject, f"{verb} {baseline}", reason, on_labels)


def _training_caveat(comparison: Comparison, model: str, others: Iterable[str], label: str) -> str:
    """Return a restriction if a model may not stay better when models are trained again."""
    pairs = [
        comparison.retrained(model, x, label) for x in others if beats(comparison, model, x, label)
    ]
    is_sure = all(pair is None or pair.verdict.startswith("better") for pair in pairs)
    return "" if is_sure else ", as the models are trained now"


def _no_better_model(
    comparison: Comparison, labels: Sequence[str], *, is_open: bool
) -> tuple[str, list[str]]:
    """Return that no model beats the baseline, then how each compares with it."""
    groups: dict[str, list[str]] = {}
    baseline, words = comparison.baseline, _CLOSED | _OPEN
    order = list(dict.fromkeys(word for word, _ in words.values()))
    candidates = {label: set(_candidates(comparison, label)) for label in labels}
    for model in comparison.compared_models:
        states: dict[tuple[str, str], list[str]] = {}
        for label in labels:
            if {model, baseline} <= candidates[label]:
                verdict = pair_of(comparison, model, baseline, label).verdict
                is_open |= verdict in _OPEN
                word, reason = words[verdict]
                reason += _perhaps_less(comparison, model, label)
                states.setdefault((word, reason), []).append(label)
        texts = [
            f"{word}{f' on {join_names(states[word, reason])}' if len(states) > 1 else ''}{reason}"
            for word, reason in sorted(states, key=lambda x: (order.index(x[0]), x[1] != ""))
        ]
        if texts:
            groups.setdefault(_joined(texts), []).append(model)
    verb = "is shown to beat" if is_open else "beats"
    are = [f"{_names(models)} {is_or_are(models)} {text}" for text, models in groups.items()]
    return f"No model {verb} {baseline} on {join_names(labels, 'or')}: ", are


def _joined(states: Sequence[str]) -> str:
    """Return the states as a list, with a comma after one that ends in a clause of its own."""
    *others, last = states
    if not others:
        return last
    return f"{', '.join(others)}{',' if ', ' in others[-1] else ''} and {last}"
