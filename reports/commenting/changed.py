"""What changed since another revision, as tables: the worst first, and why."""

from collections.abc import Sequence

from concord.metrics_core.results.history import Change, SegmentChange, Since
from concord.reports.commenting.markdown import folded, sentence, table, with_interval
from concord.reports.writing import numbers
from concord.reports.writing.verdicts import VERDICTS

_WORST_FIRST = [*VERDICTS][::-1]
_NAMED = 3  # models on labels, of one verdict
_QUIET = {"identical", "undecided", "equivalent", "too_few_users", "no_interval", "not_comparable"}
_HEADS = "Verdict;>Then → now;>Difference (interval);>Users who differ"


def in_short(since: Since) -> str:
    """`Since v1: worse: ease on nDCG@10; identical: knn on nDCG@10.`, empty if nothing could be compared."""
    told = []
    for verdict in _WORST_FIRST:
        found = [each for each in since.changes if each.primary and each.verdict == verdict]
        places = [f"{each.model} on {each.label}" for each in found[:_NAMED]]
        if found[_NAMED:]:
            places.append(f"{len(found) - _NAMED} more")
        if places:
            told.append(f"{VERDICTS[verdict].word}: {', '.join(places)}")
    return f"Since {since.revision}: {'; '.join(told)}." if told else ""


def primary_changes(since: Since, most: int) -> str:
    """Every model on the primary labels; who is as before stands in a sentence."""
    found = [change for change in since.changes if change.primary]
    rows = [_row(each) for each in _worst_first(found) if each.verdict != "identical"]
    told = [table(f"Model;Metric;{_HEADS}", rows, most)] if rows else []
    same = [each for each in found if each.verdict == "identical"]
    for label in dict.fromkeys(each.label for each in same):
        names = [each.model for each in same if each.label == label]
        told.append(sentence(f"{label}: the same for every user: {', '.join(names)}."))
    return "\n\n".join([*told[: most + 1]])


def other_changes(since: Since, most: int) -> str:
    """Models on labels that are not primary, where they are shown to be another."""
    found = [each for each in since.changes if not each.primary and each.verdict not in _QUIET]
    if not found:
        return ""
    rows = [_row(each) for each in _worst_first(found)]
    title = f"Other metrics with a significant change ({len(rows):,})"
    return folded(title, table(f"Model;Metric;{_HEADS}", rows, most))


def worse_segments(since: Since, most: int) -> str:
    """The groups in which a model is worse than it was, the worst difference of each label first."""
    if not since.segmented:
        return ""
    if not since.worse:
        return "No segment is shown to be worse than it was."
    rows = [
        (each.model, f"{each.segmentation} “{each.segment}”", each.label, *_numbers(each))
        for each in sorted(since.worse, key=_loss)
    ]
    return f"### Segments that are worse\n\n{table(f'Model;Segment;Metric;{_HEADS}', rows, most)}"


def changed_rules(since: Since, most: int) -> str:
    """By what is decided, where it is another than it was: a request may widen its own gate."""
    if not since.rules:
        return ""
    rows = [(each.name, each.then, each.now) for each in since.rules]
    title = (
        f"**This changes what is asked of it**, in params.yaml since {sentence(since.revision)}:"
    )
    return f"{title}\n\n{table('Key;Before;After', rows, most)}"


def changed_inputs(since: Since, most: int) -> str:
    """Conventions and tables that have another value than they had."""
    parts = []
    for title, settings in (("Conventions", since.conventions), ("Data", since.data)):
        rows = [(each.name, each.then, each.now, ", ".join(each.models)) for each in settings]
        if rows:
            listed = table("What;Before;After;Models", rows, most)
            parts.append(folded(f"{title} that changed ({len(rows):,})", listed))
    return "\n\n".join(parts)


def _row(change: Change) -> tuple[str, ...]:
    return (change.model, change.label, *_numbers(change))


def _numbers(found: Change | SegmentChange) -> tuple[str, ...]:
    digits = numbers.decimals([found], [found.then, found.now])
    return (
        VERDICTS[found.verdict].word,
        f"{numbers.number(found.then, digits)} → {numbers.number(found.now, digits)}",
        with_interval(
            numbers.signed(found.difference, digits),
            numbers.signed_interval(found.ci_low, found.ci_high, digits),
        ),
        f"{found.n_nonzero:,} of {found.n_users:,}",
    )


def _worst_first(found: Sequence[Change]) -> list[Change]:
    return sorted(found, key=lambda each: _WORST_FIRST.index(each.verdict))


def _loss(found: SegmentChange) -> float:
    """Against the width of its interval, since metrics have different units; most negative first."""
    if found.difference is None or found.ci_low is None or found.ci_high is None:
        return 0.0
    return -abs(found.difference) / max(found.ci_high - found.ci_low, 1e-12)
