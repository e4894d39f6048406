"""The verdicts of a comparison in plain sentences, most important first."""

from collections.abc import Iterator, Mapping
from typing import Any

from metrics_core.statistics.paired import CAUTION_BELOW, FEWEST_INFORMATIVE
from pipeline.comparing.phrases import (
    AT_MOST,
    are,
    counted,
    listed,
    number,
    reason,
    size,
    threshold,
)
from pipeline.comparing.segments.flags import flags
from pipeline.comparing.standing import Gap, Standing


def verdict_sentences(comparison: Mapping[str, Any]) -> list[str]:
    """Who leads, by how much, how sure that is, for whom it is not so, what stays open, and whether primary metrics agree."""
    standing = Standing(comparison)
    first, *rest = standing.primary
    if len(comparison["models"]) == 1:
        return [_only_model(standing, first)]
    sentences = [*_of_label(first, standing), *_turned(first, standing), *_agreement(standing)]
    for label in rest:
        sentences += _of_label(label, standing)
    return [*sentences, *_open_questions(standing), *_cautions(standing), *_other_users(standing)]


def _only_model(standing: Standing, label: str) -> str:
    (model,) = standing.comparison["models"]
    mean = standing.score(model, label)["mean"]
    value = "no mean" if mean is None else number(mean, standing.digits(label))
    return f"{model} is the only model: {value} on {label}, and nothing to compare it with."


def _of_label(label: str, standing: Standing) -> Iterator[str]:
    if not standing.leaders(label):
        yield f"No model has a mean of {label}: it is undefined for too many users."
        return
    yield _headline(label, standing)
    yield from _runner_up(label, standing)
    yield _against_baseline(label, standing)
    yield from _undecided(label, standing)


def _headline(label: str, standing: Standing) -> str:
    leaders = standing.leaders(label)
    best = leaders[0]
    apart = not any(_not_told_apart(model, label, standing) for model in standing.others(label))
    highest = "highest" if standing.higher_is_better[label] else "lowest"
    mean = number(standing.score(best, label)["mean"], standing.digits(label))
    names = [f"{m}, the baseline," if m == standing.baseline else m for m in leaders]
    if len(leaders) > 1:
        head = f"{listed(leaders)} share the {highest} {label}: {mean}"
    elif apart:
        head = f"{names[0]} is best on {label}: {mean}"
    else:
        head = f"{names[0]} has the {highest} {label}: {mean}"
    if standing.baseline in leaders:
        return f"{head}."
    return f"{head}, {size(standing.gap(best, standing.baseline, label), label, standing)}."


def _not_told_apart(model: str, label: str, standing: Standing) -> bool:
    """True where a test found nothing, and where none could be made."""
    return standing.score(model, label)["indistinguishable_from_best"] is not False


def _runner_up(label: str, standing: Standing) -> Iterator[str]:
    """How far ahead the leader is, and of whom that can be said; of a lone baseline the next sentence speaks."""
    best, others = standing.leaders(label)[0], standing.others(label)
    if others and others[0] != standing.baseline:
        gap = standing.gap(others[0], best, label)
        why = reason(standing.gap(best, others[0], label), standing)
        yield f"The runner-up, {gap.a}, is {size(gap, label, standing)}: {why}."
    tested = [standing.score(m, label)["indistinguishable_from_best"] is not None for m in others]
    if len(others) > 1 and any(tested):
        yield from _apart_from(best, others, label, standing)


def _apart_from(best: str, others: list[str], label: str, standing: Standing) -> Iterator[str]:
    """From whom the leader differs, and who is better where both have values."""
    gaps = {model: standing.gap(model, best, label) for model in others}
    ahead = [model for model, gap in gaps.items() if gap.verdict.startswith("better")]
    if ahead:
        yield (
            f"On {label}, {listed(ahead)} {are(ahead)} nevertheless better than {best} on the users whom both have "
            "values for."
        )
    close = [m for m in others if _not_told_apart(m, label, standing) and m not in ahead]
    if close == others:
        yield f"On {label}, {best} does not differ significantly from any other model."
    elif len(ahead) + len(close) == len(others):
        yield f"On {label}, {best} is not significantly better than any other model."
    else:
        but = f" except {listed(close)}" if close else ""
        yield f"On {label}, {best} differs significantly from every other model{but}."


def _against_baseline(label: str, standing: Standing) -> str:
    gaps = standing.against_baseline(label)
    groups: dict[str, list[str]] = {}
    for gap in gaps:
        groups.setdefault(gap.verdict, []).append(gap.a)
    effect = gaps[0].row["min_effect"] or 0.0
    least = threshold(label, effect, standing) if effect else ""
    clauses = [
        f"{listed(groups[verdict])} {are(groups[verdict])} {words}"
        for verdict, words in _standings(least).items()
        if verdict in groups
    ]
    return f"Against {standing.baseline} on {label}, {'; '.join(clauses)}."


def _standings(least: str) -> dict[str, str]:
    """The words for each verdict, from best to worst; `least` is empty where every difference matters."""
    by = f" by more than {least}" if least else ""
    perhaps = f", perhaps by less than {least}" if least else ""
    return {
        "better": f"better{by}",
        "better_below_threshold": f"better{perhaps}",
        "equivalent": f"equivalent, within ±{least or 0}",
        "identical": "identical for every user",
        "worse_below_threshold": f"worse{perhaps}",
        "worse": f"worse{by}",
        "undecided": "not decided",
        "too_few_users": "not judged, for too few users have different values",
        "no_interval": "not tested, as the mean is pooled over users",
    }


def _undecided(label: str, standing: Standing) -> Iterator[str]:
    """Whose place against the baseline is open and why, without numbers that were told before."""
    best = standing.leaders(label)[0]
    told = standing.others(label)[:1] if best == standing.baseline else []
    gaps = [gap for gap in standing.against_baseline(label) if gap.a not in told]
    undecided = [
        f"{gap.a} against {gap.b} is {reason(gap, standing)}"
        if gap.a == best
        else f"{gap.a} is {size(gap, label, standing)}: {reason(gap, standing)}"
        for gap in gaps
        if gap.verdict == "undecided"
    ]
    if len(undecided) > AT_MOST:
        undecided[AT_MOST:] = [f"and {len(undecided) - AT_MOST} more"]
    if undecided:
        yield f"Open on {label}: {'; '.join(undecided)}."


def _turned(label: str, standing: Standing) -> Iterator[str]:
    """Groups of users in which the sign of a difference to the baseline turns."""
    overall = {(row["label"], row["a"]): row for row in standing.primary_rows if row["vs_baseline"]}
    for segmentation in standing.comparison["segments"]:
        cells = [c for c in segmentation["cells"] if c["label"] == label and c["turns"]]
        yield from flags(segmentation["name"], cells, overall, standing.baseline)


def _agreement(standing: Standing) -> Iterator[str]:
    labels = standing.primary
    leaders = {label: standing.leaders(label) for label in labels}
    if len(labels) == 1 or not all(leaders.values()):
        return
    common = [m for m in leaders[labels[0]] if all(m in leaders[label] for label in labels)]
    if common:
        yield f"The primary metrics agree on who leads: {common[0]} ({listed(labels)})."
    else:
        told = [f"{listed(leaders[label])} on {label}" for label in labels]
        yield f"The primary metrics disagree on who leads: {', '.join(told)}."
    for model in standing.comparison["models"]:
        if model != standing.baseline:
            yield from _conflict(model, standing)


def _conflict(model: str, standing: Standing) -> Iterator[str]:
    gaps = {label: standing.gap(model, standing.baseline, label) for label in standing.primary}
    better = [label for label, gap in gaps.items() if gap.verdict.startswith("better")]
    worse = [label for label, gap in gaps.items() if gap.verdict.startswith("worse")]
    if better and worse:
        yield f"{model} is better than {standing.baseline} on {listed(better)}, but worse on {listed(worse)}."


def _open_questions(standing: Standing) -> Iterator[str]:
    rows = standing.primary_rows
    undecided = sum(row["verdict"] == "undecided" for row in rows)
    if undecided:
        verb = "is" if undecided == 1 else "are"
        yield (
            f"Of {counted(len(rows), 'comparison')} on primary metrics {undecided} {verb} undecided: "
            "these users do not settle which model is better."
        )


def _cautions(standing: Standing) -> Iterator[str]:
    rows = standing.primary_rows
    few = [_with_count(row) for row in rows if row["caution"]]
    if few:
        yield f"Take with caution, as fewer than {CAUTION_BELOW} users have different values: {listed(few)}."
    none = [_with_count(row) for row in rows if row["verdict"] == "too_few_users"]
    if none:
        yield f"No interval, as fewer than {FEWEST_INFORMATIVE} users have different values: {listed(none)}."


def _with_count(row: Mapping[str, Any]) -> str:
    return f"{row['a']} against {row['b']} on {row['label']} ({counted(row['n_nonzero'], 'user')})"


def _other_users(standing: Standing) -> Iterator[str]:
    """Means of the leaderboard and means behind a difference are over other users where models lack some."""
    for label in standing.primary:
        gaps: list[Gap] = standing.against_baseline(label)
        partial = [gap.a for gap in gaps if _lacks_users(gap, label, standing)]
        if partial:
            yield (
                f"On {label}, {listed(partial)} and {standing.baseline} do not have values for the same users: "
                "they are compared on the users whom both have values for."
            )


def _lacks_users(gap: Gap, label: str, standing: Standing) -> bool:
    if gap.difference is None:
        return False
    counts = {standing.score(model, label)["n_users"] for model in (gap.a, gap.b)}
    return counts != {gap.row["n_users"]}
