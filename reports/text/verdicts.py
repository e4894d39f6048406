"""The verdicts of a comparison in plain sentences, most important first."""

from collections.abc import Iterator, Mapping, Sequence

from concord.metrics_core.errors import in_words
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import (
    Difference,
    Segmentation,
    SegmentCell,
    Verdict,
)
from concord.metrics_core.results.limits import MIN_T_TEST_USERS
from concord.metrics_core.results.words import AT_MOST, are, digits, listed, number
from concord.reports.text.phrases import reason, size, threshold

_WORSE: Mapping[Verdict | None, str] = {"worse": "worse", "worse_below_threshold": "slightly worse"}


def segment_sentences(
    comparison: Comparison, segmentation: Segmentation, cells: Sequence[SegmentCell]
) -> list[str]:
    """Return a sentence per label and model whose sign turns, then one per label and model that is worse in a segment."""
    name, baseline = segmentation.name, comparison.baseline
    overall = {(pair.label, pair.a): pair for pair in comparison.pairs if pair.vs_baseline}
    turned: dict[tuple[str, str], list[str]] = {}
    worse: dict[str, dict[tuple[str, str], list[str]]] = {word: {} for word in _WORSE.values()}
    for cell in cells:
        key = (cell.label, cell.model)
        if cell.turns:
            turned.setdefault(key, []).append(cell.segment)
        elif cell.verdict in _WORSE:
            worse[_WORSE[cell.verdict]].setdefault(key, []).append(cell.segment)
    sentences = []
    above = {key: (overall[key].difference or 0) > 0 for key in turned}
    for (label, groups, up), models in _together(turned, above).items():
        sides = ("above", "below") if up else ("below", "above")
        sentences.append(
            f"On {label}, {listed(models)} {are(models)} {sides[0]} {baseline} over all users, "
            f"but {sides[1]} it for {name} {_quoted(groups)}."
        )
    for word, found in worse.items():
        for (label, groups, _), models in _together(found, {}).items():
            sentences.append(
                f"On {label}, {listed(models)} {are(models)} {word} than {baseline} for {name} {_quoted(groups)}."
            )
    return sentences


def _together(
    groups: Mapping[tuple[str, str], list[str]], above: Mapping[tuple[str, str], bool]
) -> dict[tuple[str, tuple[str, ...], bool], list[str]]:
    """The models of which the same is to be said."""
    told: dict[tuple[str, tuple[str, ...], bool], list[str]] = {}
    for (label, model), names in groups.items():
        told.setdefault((label, tuple(names), above.get((label, model), False)), []).append(model)
    return told


def _quoted(groups: Sequence[str]) -> str:
    return listed([f"“{group}”" for group in groups])


def verdict_sentences(comparison: Comparison) -> list[str]:
    """Who leads, by how much, how sure that is, for whom it is not so, what stays open, and whether primary metrics agree."""
    first, *rest = comparison.primary
    if len(comparison.models) == 1:
        return [_only_model(comparison, first)]
    sentences = [
        *_of_label(first, comparison),
        *_turned(first, comparison),
        *_agreement(comparison),
    ]
    for label in rest:
        sentences += _of_label(label, comparison)
    return [
        *sentences,
        *_open_questions(comparison),
        *_cautions(comparison),
        *_other_users(comparison),
    ]


def _gap(comparison: Comparison, a: str, b: str, label: str) -> Difference:
    """Of a primary label every pair was compared."""
    found = comparison.difference(a, b, label)
    assert found is not None
    return found


def _only_model(comparison: Comparison, label: str) -> str:
    (model,) = comparison.models
    value = number(comparison.score(model, label).mean, digits(comparison.scores_of(label)))
    return f"{model} is the only model: {value} on {label}, and nothing to compare it with."


def _of_label(label: str, comparison: Comparison) -> Iterator[str]:
    if not comparison.leaders(label):
        yield f"No model has a mean of {label}: it is undefined for too many users."
        return
    yield _headline(label, comparison)
    yield from _runner_up(label, comparison)
    yield _against_baseline(label, comparison)
    yield from _undecided(label, comparison)


def _headline(label: str, comparison: Comparison) -> str:
    leaders = comparison.leaders(label)
    best = leaders[0]
    apart = not any(_not_told_apart(model, label, comparison) for model in comparison.others(label))
    highest = "highest" if comparison.metric(label).higher_is_better else "lowest"
    mean = number(comparison.score(best, label).mean, digits(comparison.scores_of(label)))
    names = [f"{m}, the baseline," if m == comparison.baseline else m for m in leaders]
    if len(leaders) > 1:
        head = f"{listed(leaders)} share the {highest} {label}: {mean}"
    elif apart:
        head = f"{names[0]} is best on {label}{_as_trained(best, label, comparison)}: {mean}"
    else:
        head = f"{names[0]} has the {highest} {label}: {mean}"
    if comparison.baseline in leaders:
        return f"{head}."
    return f"{head}, {size(_gap(comparison, best, comparison.baseline, label), label, comparison)}."


def _as_trained(best: str, label: str, comparison: Comparison) -> str:
    """A restriction where it is not sure that the best stays best when models are trained again."""
    pairs = [comparison.retrained(best, other, label) for other in comparison.others(label)]
    sure = all(pair is None or pair.verdict.startswith("better") for pair in pairs)
    return "" if sure else ", as the models are trained now"


def _not_told_apart(model: str, label: str, comparison: Comparison) -> bool:
    """True where a test found nothing, and where none could be made."""
    return comparison.score(model, label).indistinguishable_from_best is not False


def _runner_up(label: str, comparison: Comparison) -> Iterator[str]:
    """How far ahead the leader is, and of whom that can be said; of a lone baseline the next sentence speaks."""
    best, others = comparison.leaders(label)[0], comparison.others(label)
    if others and others[0] != comparison.baseline:
        gap = _gap(comparison, others[0], best, label)
        why = reason(_gap(comparison, best, others[0], label), comparison)
        yield f"The runner-up, {gap.a}, is {size(gap, label, comparison)}: {why}."
    tested = [comparison.score(m, label).indistinguishable_from_best is not None for m in others]
    if len(others) > 1 and any(tested):
        yield from _apart_from(best, others, label, comparison)


def _apart_from(best: str, others: list[str], label: str, comparison: Comparison) -> Iterator[str]:
    """From whom the leader differs, and who is better where both have values."""
    gaps = {model: _gap(comparison, model, best, label) for model in others}
    ahead = [model for model, gap in gaps.items() if gap.verdict.startswith("better")]
    if ahead:
        yield (
            f"On {label}, {listed(ahead)} {are(ahead)} nevertheless better than {best} on the users whom both have "
            "values for."
        )
    close = [m for m in others if _not_told_apart(m, label, comparison) and m not in ahead]
    if close == others:
        yield f"On {label}, {best} does not differ significantly from any other model."
    elif len(ahead) + len(close) == len(others):
        yield f"On {label}, {best} is not significantly better than any other model."
    else:
        but = f" except {listed(close)}" if close else ""
        yield f"On {label}, {best} differs significantly from every other model{but}."


def _against_baseline(label: str, comparison: Comparison) -> str:
    gaps = comparison.against_baseline(label)
    groups: dict[str, list[str]] = {}
    for gap in gaps:
        groups.setdefault(gap.verdict, []).append(gap.a)
    effect = gaps[0].min_effect or 0.0
    least = threshold(label, effect, comparison) if effect else ""
    clauses = [
        f"{listed(groups[verdict])} {are(groups[verdict])} {words}"
        for verdict, words in _standings(least).items()
        if verdict in groups
    ]
    return f"Against {comparison.baseline} on {label}, {'; '.join(clauses)}."


def _standings(least: str) -> dict[str, str]:
    """The words for each verdict, from best to worst; `least` is empty where every difference matters."""
    by = f" by more than {least}" if least else ""
    perhaps = f", perhaps by less than {least}" if least else ""
    return {
        "better": f"better{by}",
        "better_without_interval": "better, but without an interval",
        "better_below_threshold": f"slightly better{perhaps}",
        "equivalent": f"equivalent, within ±{least or 0}",
        "identical": "identical for every user",
        "worse_below_threshold": f"slightly worse{perhaps}",
        "worse_without_interval": "worse, but without an interval",
        "worse": f"worse{by}",
        "undecided": "not decided",
        "too_few_users": "not judged, for too few users have different values",
        "no_interval": "not tested, as the mean is pooled over users",
        "not_comparable": "not comparable, as too many users have no list",
    }


def _undecided(label: str, comparison: Comparison) -> Iterator[str]:
    """Whose place against the baseline is open and why, without numbers that were told before."""
    best = comparison.leaders(label)[0]
    told = comparison.others(label)[:1] if best == comparison.baseline else []
    gaps = [gap for gap in comparison.against_baseline(label) if gap.a not in told]
    undecided = [
        f"{gap.a} against {gap.b} is {reason(gap, comparison)}"
        if gap.a == best
        else f"{gap.a} is {size(gap, label, comparison)}: {reason(gap, comparison)}"
        for gap in gaps
        if gap.verdict == "undecided"
    ]
    if len(undecided) > AT_MOST:
        undecided[AT_MOST:] = [f"and {len(undecided) - AT_MOST} more"]
    if undecided:
        yield f"Open on {label}: {'; '.join(undecided)}."


def _turned(label: str, comparison: Comparison) -> Iterator[str]:
    """Groups of users in which the sign of a difference to the baseline turns."""
    for segmentation in comparison.segments:
        cells = [c for c in segmentation.cells if c.label == label and c.turns]
        yield from segment_sentences(comparison, segmentation, cells)


def _agreement(comparison: Comparison) -> Iterator[str]:
    labels = comparison.primary
    leaders = {label: comparison.leaders(label) for label in labels}
    if len(labels) == 1 or not all(leaders.values()):
        return
    common = [m for m in leaders[labels[0]] if all(m in leaders[label] for label in labels)]
    if common:
        yield f"The primary metrics agree on who leads: {common[0]} ({listed(labels)})."
    else:
        told = [f"{listed(leaders[label])} on {label}" for label in labels]
        yield f"The primary metrics disagree on who leads: {', '.join(told)}."
    for model in comparison.models:
        if model != comparison.baseline:
            yield from _conflict(model, comparison)


def _conflict(model: str, comparison: Comparison) -> Iterator[str]:
    gaps = {
        label: _gap(comparison, model, comparison.baseline, label) for label in comparison.primary
    }
    better = [label for label, gap in gaps.items() if gap.verdict.startswith("better")]
    worse = [label for label, gap in gaps.items() if gap.verdict.startswith("worse")]
    if better and worse:
        yield f"{model} is better than {comparison.baseline} on {listed(better)}, but worse on {listed(worse)}."


def _open_questions(comparison: Comparison) -> Iterator[str]:
    rows = comparison.primary_pairs
    undecided = sum(pair.verdict == "undecided" for pair in rows)
    if undecided:
        verb = "is" if undecided == 1 else "are"
        yield (
            f"Of {in_words(len(rows), 'comparison')} on primary metrics {undecided} {verb} undecided: "
            "these users do not settle which model is better."
        )


def _cautions(comparison: Comparison) -> Iterator[str]:
    rows = comparison.primary_pairs
    few = [_with_count(pair) for pair in rows if pair.caution]
    if few:
        yield f"Take with caution, as fewer than {MIN_T_TEST_USERS} users have different values: {listed(few)}."
    none = [_with_count(pair) for pair in rows if pair.verdict == "too_few_users"]
    if none:
        yield f"Not tested, as too few users have different values: {listed(none)}."


def _with_count(pair: Difference) -> str:
    return f"{pair.a} against {pair.b} on {pair.label} ({in_words(pair.n_nonzero, 'user')})"


def _other_users(comparison: Comparison) -> Iterator[str]:
    """Means of the leaderboard and means behind a difference are over other users where models lack some."""
    for label in comparison.primary:
        gaps = comparison.against_baseline(label)
        partial = [gap.a for gap in gaps if _lacks_users(gap, label, comparison)]
        if partial:
            whose = "requests" if comparison.unit else "users"
            yield (
                f"On {label}, {listed(partial)} and {comparison.baseline} do not have values for the same {whose}: "
                f"they are compared on the {whose} {'that' if comparison.unit else 'whom'} both have values for."
            )


def _lacks_users(gap: Difference, label: str, comparison: Comparison) -> bool:
    if gap.difference is None:
        return False
    scores = [comparison.score(model, label) for model in (gap.a, gap.b)]
    requests = {score.n_requests for score in scores}
    return {score.n_users for score in scores} != {gap.n_users} or len(requests) > 1
