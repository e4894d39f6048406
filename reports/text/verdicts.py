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
from concord.metrics_core.results.words import (
    AT_MOST,
    MINUS,
    PERCENT,
    are,
    digits,
    exact,
    listed,
    number,
    percent,
)
from concord.reports.text.numbers import with_details

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
    for (label, groups, up), models in _group_models(turned, above).items():
        sides = ("above", "below") if up else ("below", "above")
        sentences.append(
            f"On {label}, {listed(models)} {are(models)} {sides[0]} {baseline} over all users, "
            f"but {sides[1]} it for {name} {groups}."
        )
    for word, segments in worse.items():
        for (label, groups, _), models in _group_models(segments, {}).items():
            sentences.append(
                f"On {label}, {listed(models)} {are(models)} {word} than {baseline} for {name} "
                f"{groups}."
            )
    return sentences


def _group_models(
    segments: Mapping[tuple[str, str], list[str]], above: Mapping[tuple[str, str], bool]
) -> dict[tuple[str, str, bool], list[str]]:
    """Return the models with the same label, segments and side."""
    models: dict[tuple[str, str, bool], list[str]] = {}
    for (label, model), names in segments.items():
        groups = listed([f"“{name}”" for name in names])
        models.setdefault((label, groups, above.get((label, model), False)), []).append(model)
    return models


def verdict_sentences(comparison: Comparison) -> list[str]:
    """Return who leads, by how much, how sure that is, for whom it is not so, and whether primary metrics agree."""
    first, *others = comparison.primary
    if len(comparison.models) == 1:
        (model,) = comparison.models
        value = number(comparison.score(model, first).mean, digits(comparison.scores_of(first)))
        return [f"{model} is the only model: {value} on {first}, and nothing to compare it with."]
    return [
        *_label_sentences(first, comparison),
        *_turned(first, comparison),
        *_agreement(comparison),
        *(sentence for label in others for sentence in _label_sentences(label, comparison)),
        *_cautions(comparison),
        *_different_users(comparison),
    ]


def _pair(comparison: Comparison, a: str, b: str, label: str) -> Difference:
    """Return the difference on a primary label, of which every pair was compared."""
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
    mean = number(comparison.score(best, label).mean, digits(comparison.scores_of(label)))
    name = f"{best}, the baseline," if best == baseline else best
    if len(leaders) > 1:
        head = f"{listed(leaders)} share the {highest} {label}: {mean}"
    elif is_apart:
        head = f"{name} is best on {label}{_as_trained(best, label, comparison)}: {mean}"
    else:
        head = f"{name} has the {highest} {label}: {mean}"
    if baseline in leaders:
        return f"{head}."
    return f"{head}, {_size(_pair(comparison, best, baseline, label), comparison)}."


def _as_trained(best: str, label: str, comparison: Comparison) -> str:
    """Return a restriction if the best might not stay best when models are trained again."""
    pairs = [comparison.retrained(best, other, label) for other in comparison.others(label)]
    is_sure = all(pair is None or pair.verdict.startswith("better") for pair in pairs)
    return "" if is_sure else ", as the models are trained now"


def _is_close(model: str, label: str, comparison: Comparison) -> bool:
    """True if a test found no difference to the best, or none could be made."""
    return comparison.score(model, label).indistinguishable_from_best is not False


def _runner_up(label: str, comparison: Comparison) -> Iterator[str]:
    """Yield how far ahead the leader is, and of whom; the next sentence treats a baseline that is alone."""
    best, others = comparison.leaders(label)[0], comparison.others(label)
    if others and others[0] != comparison.baseline:
        gap = _pair(comparison, others[0], best, label)
        why = _reason(_pair(comparison, best, others[0], label), comparison)
        yield f"The runner-up, {gap.a}, is {_size(gap, comparison)}: {why}."
    tested = [comparison.score(m, label).indistinguishable_from_best is not None for m in others]
    if len(others) > 1 and any(tested):
        yield from _separation(best, others, label, comparison)


def _separation(best: str, others: list[str], label: str, comparison: Comparison) -> Iterator[str]:
    """Yield from which models the leader differs, and which are better on the users that both have."""
    gaps = {model: _pair(comparison, model, best, label) for model in others}
    ahead = [model for model, gap in gaps.items() if gap.verdict.startswith("better")]
    if ahead:
        yield (
            f"On {label}, {listed(ahead)} {are(ahead)} nevertheless better than {best} on the "
            "users whom both have values for."
        )
    close = [m for m in others if _is_close(m, label, comparison) and m not in ahead]
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
    least = _threshold(label, effect, comparison) if effect else ""
    clauses = [
        f"{listed(groups[verdict])} {are(groups[verdict])} {words}"
        for verdict, words in _verdict_words(least).items()
        if verdict in groups
    ]
    return f"Against {comparison.baseline} on {label}, {'; '.join(clauses)}."


def _verdict_words(least: str) -> dict[str, str]:
    """Return the words for each verdict, from best to worst; `least` is empty if every difference matters."""
    by_more = f" by more than {least}" if least else ""
    perhaps = f", perhaps by less than {least}" if least else ""
    return {
        "better": f"better{by_more}",
        "better_without_interval": "better, but without an interval",
        "better_below_threshold": f"slightly better{perhaps}",
        "equivalent": f"equivalent, within ±{least or 0}",
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
    """Yield which models are undecided against the baseline and why, without numbers that were told before."""
    best = comparison.leaders(label)[0]
    runner_up = comparison.others(label)[:1] if best == comparison.baseline else []
    undecided = [
        f"{gap.a} against {gap.b} is {_reason(gap, comparison)}"
        if gap.a == best
        else f"{gap.a} is {_size(gap, comparison)}: {_reason(gap, comparison)}"
        for gap in comparison.against_baseline(label)
        if gap.verdict == "undecided" and gap.a not in runner_up
    ]
    if len(undecided) > AT_MOST:
        undecided[AT_MOST:] = [f"and {len(undecided) - AT_MOST} more"]
    if undecided:
        yield f"Open on {label}: {'; '.join(undecided)}."


def _turned(label: str, comparison: Comparison) -> Iterator[str]:
    """Yield the groups of users in which the sign of a difference to the baseline turns."""
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
        yield f"The primary metrics agree on who leads: {common[0]} ({listed(labels)})."
    else:
        by_label = [f"{listed(leaders[label])} on {label}" for label in labels]
        yield f"The primary metrics disagree on who leads: {', '.join(by_label)}."
    for model in comparison.models:
        if model == baseline:
            continue
        verdicts = {label: _pair(comparison, model, baseline, label).verdict for label in labels}
        better = [label for label, verdict in verdicts.items() if verdict.startswith("better")]
        worse = [label for label, verdict in verdicts.items() if verdict.startswith("worse")]
        if better and worse:
            yield (
                f"{model} is better than {baseline} on {listed(better)}, but worse on "
                f"{listed(worse)}."
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
            f"{listed(few)}."
        )
    untested = [_with_count(pair) for pair in pairs if pair.verdict == "too_few_users"]
    if untested:
        yield f"Not tested, as too few users have different values: {listed(untested)}."


def _with_count(pair: Difference) -> str:
    return f"{pair.a} against {pair.b} on {pair.label} ({format_count(pair.n_nonzero, 'user')})"


def _different_users(comparison: Comparison) -> Iterator[str]:
    """Yield whose mean on the leaderboard is over other users than its difference to the baseline."""
    units, who = ("requests", "that") if comparison.unit else ("users", "whom")
    for label in comparison.primary:
        gaps = comparison.against_baseline(label)
        partial = [gap.a for gap in gaps if _lacks_users(gap, comparison)]
        if partial:
            yield (
                f"On {label}, {listed(partial)} and {comparison.baseline} do not have values for "
                f"the same {units}: they are compared on the {units} {who} both have values for."
            )


def _lacks_users(gap: Difference, comparison: Comparison) -> bool:
    if gap.difference is None:
        return False
    scores = [comparison.score(model, gap.label) for model in (gap.a, gap.b)]
    requests = {score.n_requests for score in scores}
    return {score.n_users for score in scores} != {gap.n_users} or len(requests) > 1


def _threshold(label: str, effect: float, comparison: Comparison) -> str:
    """Return the smallest relevant difference as params.yaml has it: `0.005`, or `2 % of bm25`."""
    share = comparison.metric(label).share
    return exact(effect) if share is None else f"{percent(share)} of {comparison.baseline}"


def _size(gap: Difference, comparison: Comparison) -> str:
    """Return `0.041 above popularity (95 % interval 0.035 to 0.047, +15.2 %)`."""
    if gap.difference is None:
        return f"not comparable with {gap.b}"
    n_digits, interval, relative = digits(comparison.pairs_of(gap.label)), "", ""
    is_above = gap.difference >= 0
    side = "above" if is_above else "below"
    text = f"{number(abs(gap.difference), n_digits)} {side} {gap.b}"
    if gap.difference == 0:
        text = f"level with {gap.b}"
    if gap.ci_low is not None and gap.ci_high is not None:
        # of what a is above b, or below
        low, high = gap.ci_low, gap.ci_high
        low, high = (low, high) if is_above else (0.0 - high, 0.0 - low)
        level = f"{100 * comparison.confidence:.12g}{PERCENT}"
        interval = f"{level} interval {number(low, n_digits)} to {number(high, n_digits)}"
    if gap.relative:
        share = 100 * gap.relative
        relative = f"{share:+.1f}" if is_above else f"{-share:.1f}".replace("-", MINUS)
        relative += PERCENT
    return with_details(text, interval, relative)


def _reason(gap: Difference, comparison: Comparison) -> str:
    """Return what the verdict on a against b rests on."""
    if gap.verdict == "undecided":
        return _undecided_reason(gap, comparison)
    if gap.verdict == "too_few_users":
        return _too_few_reason(gap, comparison)
    effect = gap.min_effect or 0.0  # None if it is a share of a mean that does not exist
    least = _threshold(gap.label, effect, comparison)
    more = f", and more than {least}" if effect else ""
    less = f", though perhaps less than {least}" if effect else ""
    words = {
        "better": f"significant{more}",
        "better_below_threshold": f"significant{less}",
        "equivalent": f"too small to matter, as the interval lies within ±{least}",
        "better_without_interval": (
            "significant, but without an interval: all users differ by the same"
        ),
        "identical": "every user has the same value with both",
        "no_interval": "not tested, as the mean is pooled over users",
        "not_comparable": "not comparable, as too many users have no list",
    }
    return words.get(gap.verdict, "the other way round on the users whom both have values for")


def _undecided_reason(gap: Difference, comparison: Comparison) -> str:
    if gap.ci_low is not None and gap.ci_high is not None and gap.ci_low <= 0 <= gap.ci_high:
        return "not decided, as the interval includes 0"
    tests = sum(pair.p is not None for pair in comparison.primary_pairs)
    how = "by joint sign flips of" if gap.adjustment == "max_t" else "once corrected for"
    return f"not significant {how} {format_count(tests, 'comparison')}"


def _too_few_reason(gap: Difference, comparison: Comparison) -> str:
    if not gap.n_users:
        return "no user has a value with both"
    have = "has" if gap.n_nonzero == 1 else "have"
    tests = sum(pair.p is not None or pair is gap for pair in comparison.primary_pairs)
    multiplied = tests if gap.adjustment == "holm" else 1
    needed = min_differing_for((1 - comparison.confidence) / max(multiplied, 1))
    among = f" among {format_count(tests, 'comparison')}" if multiplied > 1 else ""
    only = f"only {format_count(gap.n_nonzero, 'user')} {have} different values"
    return f"{only}; a significant result{among} needs at least {needed}"
