"""The verdicts of a comparison in plain sentences, most important first."""

from collections.abc import Iterator, Mapping, Sequence

from concord.metrics_core.errors import format_count
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import (
    Difference,
    Segmentation,
    SegmentCell,
    Verdict,
)
from concord.metrics_core.results.limits import MIN_T_TEST_USERS, min_differing_for
from concord.metrics_core.results.replicates import ReplicatedDifference
from concord.metrics_core.results.text_format import (
    MAX_NAMES,
    MINUS,
    PERCENT,
    exact,
    is_or_are,
    join_names,
    percent,
)
from concord.reports.text.numbers import confidence_level, number, with_details

_WORSE: Mapping[Verdict | None, str] = {"worse": "worse", "worse_below_threshold": "slightly worse"}


def segment_sentences(
    comparison: Comparison, segmentation: Segmentation, cells: Sequence[SegmentCell]
) -> list[str]:
    """Return the sentences on reversed differences in segments, then on losses in segments."""
    name, baseline = segmentation.name, comparison.baseline
    overall = {(pair.label, pair.a): pair for pair in comparison.pairs if pair.vs_baseline}
    reversed_segments: dict[tuple[str, str], list[str]] = {}
    worse: dict[str, dict[tuple[str, str], list[str]]] = {word: {} for word in _WORSE.values()}
    for cell in cells:
        key = (cell.label, cell.model)
        if cell.turns:
            reversed_segments.setdefault(key, []).append(cell.segment)
        elif cell.verdict in _WORSE:
            worse[_WORSE[cell.verdict]].setdefault(key, []).append(cell.segment)
    sentences = []
    above = {key: (overall[key].difference or 0) > 0 for key in reversed_segments}
    for (label, groups, is_above), models in _group_models(reversed_segments, above).items():
        sides = ("above", "below") if is_above else ("below", "above")
        sentences.append(
            f"On {label}, {join_names(models)} {is_or_are(models)} {sides[0]} {baseline} over all "
            f"users, but {sides[1]} it for {name} {groups}."
        )
    for word, segments in worse.items():
        for (label, groups, _), models in _group_models(segments, {}).items():
            sentences.append(
                f"On {label}, {join_names(models)} {is_or_are(models)} {word} than {baseline} for "
                f"{name} {groups}."
            )
    return sentences


def _group_models(
    segments: Mapping[tuple[str, str], list[str]], above: Mapping[tuple[str, str], bool]
) -> dict[tuple[str, str, bool], list[str]]:
    """Return the models with the same label, segments and side."""
    models: dict[tuple[str, str, bool], list[str]] = {}
    for (label, model), names in segments.items():
        groups = join_names([f"“{name}”" for name in names])
        models.setdefault((label, groups, above.get((label, model), False)), []).append(model)
    return models


def verdict_sentences(comparison: Comparison) -> list[str]:
    """Return the sentences on leaders, differences, reversed segments and doubtful verdicts."""
    first, *others = comparison.primary
    if len(comparison.models) == 1:
        (model,) = comparison.models
        mean = comparison.score(model, first).mean
        value = "no mean" if mean is None else number(mean, comparison.decimals[first])
        return [f"{model} is the only model: {value} on {first}, and nothing to compare it with."]
    return [
        *_label_sentences(first, comparison),
        *_reversed_segments(first, comparison),
        *_agreement(comparison),
        *(sentence for label in others for sentence in _label_sentences(label, comparison)),
        *_cautions(comparison),
        *_different_users(comparison),
    ]


def _pair(comparison: Comparison, a: str, b: str, label: str) -> Difference:
    """Return the difference on a primary label, where every pair was compared."""
    pair = comparison.difference(a, b, label)
    assert pair is not None
    return pair


def _label_sentences(label: str, comparison: Comparison) -> Iterator[str]:
    if not comparison.leaders(label):
        yield f"No model has a mean of {label}: it is undefined for too many users."
        return
    yield _headline(label, comparison)
    yield from _runner_up(label, comparison)
    yield _against_baseline(label, comparison)
    yield from _undecided(label, comparison)


def _headline(label: str, comparison: Comparison) -> str:
    leaders, baseline = comparison.leaders(label), comparison.baseline
    best = leaders[0]
    is_apart = not any(_is_close(model, label, comparison) for model in comparison.others(label))
    highest = "highest" if comparison.metric(label).higher_is_better else "lowest"
    mean = number(comparison.score(best, label).mean, comparison.decimals[label])
    name = f"{best}, the baseline," if best == baseline else best
    if len(leaders) > 1:
        head = f"{join_names(leaders)} share the {highest} {label}: {mean}"
    elif is_apart:
        head = f"{name} is best on {label}{_training_caveat(best, label, comparison)}: {mean}"
    else:
        head = f"{name} has the {highest} {label}: {mean}"
    if baseline in leaders:
        return f"{head}."
    return f"{head}, {_difference_text(_pair(comparison, best, baseline, label), comparison)}."


def _training_caveat(best: str, label: str, comparison: Comparison) -> str:
    """Return a restriction if another model may be best when models are trained again."""
    pairs = [comparison.retrained(best, other, label) for other in comparison.others(label)]
    is_sure = all(pair is None or pair.verdict.startswith("better") for pair in pairs)
    return "" if is_sure else ", as the models are trained now"


def _is_close(model: str, label: str, comparison: Comparison) -> bool:
    """True if a test found no difference to the best, or if there was no test."""
    return comparison.score(model, label).indistinguishable_from_best is not False


def _runner_up(label: str, comparison: Comparison) -> Iterator[str]:
    """Yield the lead over the runner-up, then the models from which the leader differs.

    The headline has the lead over the baseline.
    """
    best, others = comparison.leaders(label)[0], comparison.others(label)
    if others and others[0] != comparison.baseline:
        runner_up = others[0]
        difference = _difference_text(_pair(comparison, runner_up, best, label), comparison)
        reason = _reason(_pair(comparison, best, runner_up, label), comparison)
        yield f"The runner-up, {runner_up}, is {difference}: {reason}."
    tested = [comparison.score(m, label).indistinguishable_from_best is not None for m in others]
    if len(others) > 1 and any(tested):
        yield from _separation(best, others, label, comparison)


def _separation(best: str, others: list[str], label: str, comparison: Comparison) -> Iterator[str]:
    """Yield from which models the leader differs, and which are better on common users."""
    pairs = {model: _pair(comparison, model, best, label) for model in others}
    ahead = [model for model, pair in pairs.items() if pair.verdict.startswith("better")]
    if ahead:
        yield (
            f"On {label}, {join_names(ahead)} {is_or_are(ahead)} nevertheless better than {best} "
            "on the users whom both have values for."
        )
    close = [m for m in others if _is_close(m, label, comparison) and m not in ahead]
    if close == others:
        yield f"On {label}, {best} does not differ significantly from any other model."
    elif len(ahead) + len(close) == len(others):
        yield f"On {label}, {best} is not significantly better than any other model."
    else:
        but = f" except {join_names(close)}" if close else ""
        yield f"On {label}, {best} differs significantly from every other model{but}."


def _against_baseline(label: str, comparison: Comparison) -> str:
    pairs = comparison.against_baseline(label)
    models: dict[str, list[str]] = {}
    for pair in pairs:
        models.setdefault(pair.verdict, []).append(pair.a)
    effect = pairs[0].min_effect or 0.0
    threshold = _threshold(label, effect, comparison) if effect else ""
    clauses = [
        f"{join_names(models[verdict])} {is_or_are(models[verdict])} {words}"
        for verdict, words in _verdict_words(threshold).items()
        if verdict in models
    ]
    return f"Against {comparison.baseline} on {label}, {'; '.join(clauses)}."


def _verdict_words(threshold: str) -> dict[str, str]:
    """Return the words for each verdict, from best to worst.

    Parameters
    ----------
    threshold : str
        Minimum relevant difference; empty if there is none.
    """
    by_more = f" by more than {threshold}" if threshold else ""
    perhaps = f", perhaps by less than {threshold}" if threshold else ""
    return {
        "better": f"better{by_more}",
        "better_without_interval": "better, but without an interval",
        "better_below_threshold": f"slightly better{perhaps}",
        "equivalent": f"equivalent, within ±{threshold or 0}",
        "identical": "identical for every user",
        "worse_below_threshold": f"slightly worse{perhaps}",
        "worse_without_interval": "worse, but without an interval",
        "worse": f"worse{by_more}",
        "undecided": "not decided",
        "too_few_users": "not judged, for too few users have different values",
        "no_interval": "not tested, as the mean is pooled over users",
        "not_comparable": "not comparable, as too many users have no list",
    }


def _undecided(label: str, comparison: Comparison) -> Iterator[str]:
    """Yield the models that are undecided against the baseline, and why.

    The headline has the difference of the best model.
    """
    best = comparison.leaders(label)[0]
    runner_up = comparison.others(label)[:1] if best == comparison.baseline else []
    undecided = [
        f"{pair.a} against {pair.b} is {_reason(pair, comparison)}"
        if pair.a == best
        else f"{pair.a} is {_difference_text(pair, comparison)}: {_reason(pair, comparison)}"
        for pair in comparison.against_baseline(label)
        if pair.verdict == "undecided" and pair.a not in runner_up
    ]
    if len(undecided) > MAX_NAMES:
        undecided[MAX_NAMES:] = [f"and {len(undecided) - MAX_NAMES} more"]
    if undecided:
        yield f"Open on {label}: {'; '.join(undecided)}."


def _reversed_segments(label: str, comparison: Comparison) -> Iterator[str]:
    """Yield the segments in which a difference to the baseline has the opposite sign."""
    for segmentation in comparison.segments:
        cells = [c for c in segmentation.cells if c.label == label and c.turns]
        yield from segment_sentences(comparison, segmentation, cells)


def _agreement(comparison: Comparison) -> Iterator[str]:
    labels, baseline = comparison.primary, comparison.baseline
    leaders = {label: comparison.leaders(label) for label in labels}
    if len(labels) == 1 or not all(leaders.values()):
        return
    common = [m for m in leaders[labels[0]] if all(m in leaders[label] for label in labels)]
    if common:
        yield f"The primary metrics agree on who leads: {common[0]} ({join_names(labels)})."
    else:
        by_label = [f"{join_names(leaders[label])} on {label}" for label in labels]
        yield f"The primary metrics disagree on who leads: {', '.join(by_label)}."
    for model in comparison.models:
        if model == baseline:
            continue
        verdicts = {label: _pair(comparison, model, baseline, label).verdict for label in labels}
        better = [label for label, verdict in verdicts.items() if verdict.startswith("better")]
        worse = [label for label, verdict in verdicts.items() if verdict.startswith("worse")]
        if better and worse:
            yield (
                f"{model} is better than {baseline} on {join_names(better)}, but worse on "
                f"{join_names(worse)}."
            )


def _cautions(comparison: Comparison) -> Iterator[str]:
    pairs = comparison.primary_pairs
    undecided = sum(pair.verdict == "undecided" for pair in pairs)
    if undecided:
        yield (
            f"Of {format_count(len(pairs), 'comparison')} on primary metrics {undecided} "
            f"{'is' if undecided == 1 else 'are'} undecided: these users do not settle which model "
            "is better."
        )
    few = [_with_count(pair) for pair in pairs if pair.caution]
    if few:
        yield (
            f"Take with caution, as fewer than {MIN_T_TEST_USERS} users have different values: "
            f"{join_names(few)}."
        )
    untested = [_with_count(pair) for pair in pairs if pair.verdict == "too_few_users"]
    if untested:
        yield f"Not tested, as too few users have different values: {join_names(untested)}."


def _with_count(pair: Difference) -> str:
    return f"{pair.a} against {pair.b} on {pair.label} ({format_count(pair.n_nonzero, 'user')})"


def _different_users(comparison: Comparison) -> Iterator[str]:
    """Yield the models whose mean is over other users than their difference to the baseline."""
    units, pronoun = ("requests", "that") if comparison.unit else ("users", "whom")
    for label in comparison.primary:
        pairs = comparison.against_baseline(label)
        partial = [pair.a for pair in pairs if _has_different_users(pair, comparison)]
        if partial:
            yield (
                f"On {label}, {join_names(partial)} and {comparison.baseline} do not have values "
                f"for the same {units}: they are compared on the {units} {pronoun} both have "
                "values for."
            )


def _has_different_users(pair: Difference, comparison: Comparison) -> bool:
    if pair.difference is None:
        return False
    scores = [comparison.score(model, pair.label) for model in (pair.a, pair.b)]
    requests = {score.n_requests for score in scores}
    return {score.n_users for score in scores} != {pair.n_users} or len(requests) > 1


def _threshold(label: str, effect: float, comparison: Comparison) -> str:
    """Return the minimum relevant difference as in params.yaml: `0.005`, or `2 % of bm25`."""
    share = comparison.metric(label).share
    return exact(effect) if share is None else f"{percent(share)} of {comparison.baseline}"


def _difference_text(pair: Difference, comparison: Comparison) -> str:
    """Return `0.041 above popularity (95 % interval 0.035 to 0.047, +15.2 %)`."""
    if pair.difference is None:
        return f"not comparable with {pair.b}"
    if not pair.relative:
        return absolute_difference(pair, comparison)
    share = 100 * pair.relative
    relative = f"{share:+.1f}" if pair.difference >= 0 else f"{-share:.1f}".replace("-", MINUS)
    return absolute_difference(pair, comparison, relative + PERCENT)


def absolute_difference(
    pair: Difference | ReplicatedDifference, comparison: Comparison, *details: str
) -> str:
    """Return `0.041 above popularity (95 % interval 0.035 to 0.047, details)`."""
    difference, low, high = pair.difference or 0.0, pair.ci_low, pair.ci_high
    decimals, interval = comparison.decimals[pair.label], ""
    if low is not None and high is not None:
        if difference < 0:
            low, high = 0.0 - high, 0.0 - low
        ends = f"{number(low, decimals)} to {number(high, decimals)}"
        interval = f"{confidence_level(comparison.confidence)} interval {ends}"
    side = f"{number(abs(difference), decimals)} {'above' if difference > 0 else 'below'}"
    return with_details(f"{side if difference else 'level with'} {pair.b}", interval, *details)


def _reason(pair: Difference, comparison: Comparison) -> str:
    """Return the reason of the verdict on `a` against `b`."""
    if pair.verdict == "undecided":
        return _undecided_reason(pair, comparison)
    if pair.verdict == "too_few_users":
        return _too_few_reason(pair, comparison)
    effect = pair.min_effect or 0.0  # None if it is a share of a mean that does not exist
    threshold = _threshold(pair.label, effect, comparison)
    more = f", and more than {threshold}" if effect else ""
    less = f", though perhaps less than {threshold}" if effect else ""
    words = {
        "better": f"significant{more}",
        "better_below_threshold": f"significant{less}",
        "equivalent": f"too small to matter, as the interval lies within ±{threshold}",
        "better_without_interval": (
            "significant, but without an interval: all users differ by the same"
        ),
        "identical": "every user has the same value with both",
        "no_interval": "not tested, as the mean is pooled over users",
        "not_comparable": "not comparable, as too many users have no list",
    }
    return words.get(pair.verdict, "the other way round on the users whom both have values for")


def _undecided_reason(pair: Difference, comparison: Comparison) -> str:
    if pair.ci_low is not None and pair.ci_high is not None and pair.ci_low <= 0 <= pair.ci_high:
        return "not decided, as the interval includes 0"
    tests = sum(each.p is not None for each in comparison.primary_pairs)
    correction = "by joint sign flips of" if pair.adjustment == "max_t" else "once corrected for"
    return f"not significant {correction} {format_count(tests, 'comparison')}"


def _too_few_reason(pair: Difference, comparison: Comparison) -> str:
    if not pair.n_users:
        return "no user has a value with both"
    have = "has" if pair.n_nonzero == 1 else "have"
    tests = sum(each.p is not None or each is pair for each in comparison.primary_pairs)
    factor = tests if pair.adjustment == "holm" else 1
    needed = min_differing_for((1 - comparison.confidence) / max(factor, 1))
    among = f" among {format_count(tests, 'comparison')}" if factor > 1 else ""
    only = f"only {format_count(pair.n_nonzero, 'user')} {have} different values"
    return f"{only}; a significant result{among} needs at least {needed}"
