"""What lists show without ground truth: how many changed, and the owner's checks."""

from concord.metrics_core.errors import format_count
from concord.metrics_core.results.behaviour import BehaviourCheck, Overlap
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.text_format import group_values, percent, verb
from concord.reports.text import numbers

_MAX_MODELS = 4  # in one sentence
_DIGITS = 2


def changed_lists(comparison: Comparison) -> str:
    """Return for how many users lists differ from the baseline's; empty if it is not known.

    `Lists changed from pop's top 20, over 283 users: ease for 83 % (Jaccard 0.31, RBO 0.42).`
    """
    known = {each.model: each for each in comparison.overlaps if each.same is not None}
    models = [known[model] for model in comparison.ranked if model in known]
    if not models:
        return ""
    unit = "request" if comparison.unit else "user"
    counts = sorted({each.n_users for each in models})
    over = " to ".join(f"{n:,}" for n in dict.fromkeys((counts[0], counts[-1])))
    parts = numbers.join_first(map(_changed, models), _MAX_MODELS)
    top = f"{comparison.baseline}'s {_top(models[0].k)}"
    return f"Lists changed from {top}, over {over} {unit}{'s' * (over != '1')}: {parts}."


def _changed(overlap: Overlap) -> str:
    share = percent(1.0 - (overlap.same or 0.0))
    jaccard, rbo = (numbers.number(each, _DIGITS) for each in (overlap.jaccard, overlap.rbo))
    return f"{overlap.model} for {share} (Jaccard {jaccard}, RBO {rbo})"


def _top(k: int | None) -> str:
    return "whole lists" if k is None else f"top {k}"


def check_sentences(comparison: Comparison) -> list[str]:
    """Return the failures of checks with examples, and then the models that pass each check."""
    passed = group_values((each.name, each) for each in comparison.checks if each.passed)
    return [
        *(f"{failure(each)}{_examples(each)}." for each in comparison.checks if not each.passed),
        *(
            f"The check {name} holds: {'; '.join(f'{x.model}, {_finding(x)}' for x in checks)}."
            for name, checks in passed.items()
        ),
    ]


def failure(check: BehaviourCheck) -> str:
    """Return `als fails the check adult: 12 of 300 lists have a forbidden item in the top 20`."""
    return f"{check.model} fails the check {check.name}: {_finding(check)}"


def _finding(check: BehaviourCheck) -> str:
    n = check.n_failed or 1  # "none has"
    lists = f"{check.n_failed or 'none'} of {format_count(check.n_users, 'list')}"
    if check.kind == "overlap":
        share = "no share" if check.share is None else percent(check.share)
        required = percent(check.at_least or 0.0)
        top = f"the {_top(check.k)} of {check.reference}"
        less = f"{lists} {verb(n, 'keeps', 'keep')} less"
        return f"lists keep {share} of {top} in the mean ({required} required); {less}"
    places = f", at {check.n_places:,} places" if (check.n_places or 0) > check.n_failed else ""
    return f"{lists} {verb(n, 'has', 'have')} a forbidden item in the {_top(check.k)}{places}"


def _examples(check: BehaviourCheck) -> str:
    texts = [
        f"{each.user} has {each.item} at rank {each.rank}"
        if each.share is None
        else f"{each.user} keeps {percent(each.share)}"
        for each in check.examples
    ]
    return f", first {', '.join(texts)}" if texts else ""
