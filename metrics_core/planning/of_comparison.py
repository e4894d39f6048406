"""A plan from what a comparison found: every pair with the baseline, over all users and in their segments."""

import math
from collections.abc import Iterator, Sequence

from concord.metrics_core.checking.problems import refuse
from concord.metrics_core.comparing.evidence.asked import Effect, absolute
from concord.metrics_core.comparison.comparison import Comparison
from concord.metrics_core.comparison.parts import Difference, Segmentation, SegmentCell
from concord.metrics_core.planning.pairs import Observed, Wanted, planned, spread_of
from concord.metrics_core.planning.parts import PlannedPair
from concord.metrics_core.statistics.power import Spread


def planned_pairs(
    comparison: Comparison,
    labels: Sequence[str],
    *,
    effect: Effect | None,
    power: float,
    segments: bool,
) -> Iterator[PlannedPair]:
    """One a label and challenger; with `segments` one a segment, label and challenger after them.

    effect : a number, a share of the baseline's mean such as "2%", or None: the smallest that matters

    Raises
    ------
    InputError : a label over all users, whose number has no spread
    """
    alpha = 1 - comparison.confidence
    for label in labels:
        pairs = comparison.against_baseline(label)
        if any(pair.test == "swap" for pair in pairs):
            what = f"{label} is one number over all users, whose size has no spread to plan with"
            raise refuse("metrics", what, "name a metric that has a value for each user")
        for pair in pairs:
            smallest = pair.min_effect or 0.0
            asked = smallest if effect is None else absolute(effect, pair.mean_b or 0.0)
            wanted = Wanted(power, alpha, asked or None)
            seen = _observed(comparison, pair)
            yield planned(seen, wanted, min_effect=smallest, tests=_family(comparison, pair))
    for segmentation in comparison.segments if segments else ():
        yield from _in_segments(comparison, segmentation, labels, effect, power)


def _observed(comparison: Comparison, pair: Difference) -> Observed:
    """Where models have replicates, what is planned is to hold over new trainings, too."""
    spread = spread_of(pair.ci_low, pair.ci_high, pair.n_users, comparison.confidence)
    trained = comparison.retrained(pair.a, pair.b, pair.label)
    seeds = None
    if trained is not None and trained.share == 1:
        spread = None  # nested trainings: their spread holds that of the users
    elif trained is not None and trained.share is not None and spread:
        seeds = min(n for n in (trained.trainings_a, trained.trainings_b) if n > 1)
        of_users = spread.of_users * spread.of_users / pair.n_users
        of_trainings = seeds * of_users * trained.share / (1 - trained.share)
        spread = Spread(spread.of_users, of_trainings=math.sqrt(of_trainings))
    return Observed(
        n_users=pair.n_users,
        n_nonzero=pair.n_nonzero,
        spread=spread,
        seeds=seeds,
        label=pair.label,
        model=pair.a,
        baseline=pair.b,
    )


def _family(comparison: Comparison, pair: Difference) -> int:
    """The tests that are corrected together with this one."""
    alike = [each for each in comparison.pairs if each.primary == pair.primary]
    return max(sum(each.p is not None for each in alike), 1)


def _in_segments(
    comparison: Comparison,
    segmentation: Segmentation,
    labels: Sequence[str],
    effect: Effect | None,
    power: float,
) -> Iterator[PlannedPair]:
    """What is shown is neither better nor worse, so nothing is planned for it."""
    if segmentation.kind == "recommended_item":
        return
    reference = {
        (cell.label, cell.segment): cell
        for cell in segmentation.cells
        if cell.model == comparison.baseline
    }
    tests = max(sum(cell.p_adjusted is not None for cell in segmentation.cells), 1)
    for cell in segmentation.cells:
        named = segmentation.kind != "user" or cell.label in labels
        if cell.model == comparison.baseline or not named:
            continue
        baseline = reference[cell.label, cell.segment]
        smallest = absolute(min_effect_of(comparison, cell.label), baseline.mean or 0.0)
        asked = smallest if effect is None else absolute(effect, baseline.mean or 0.0)
        seen = _in_segment(comparison, segmentation.name, cell, baseline)
        wanted = Wanted(power, 1 - comparison.confidence, asked or None)
        yield planned(seen, wanted, min_effect=smallest, tests=tests)


def _in_segment(
    comparison: Comparison, segmentation: str, cell: SegmentCell, baseline: SegmentCell
) -> Observed:
    n_users = min(cell.n_users, baseline.n_users)
    return Observed(
        n_users=n_users,
        n_nonzero=cell.n_nonzero,
        spread=spread_of(cell.diff_low, cell.diff_high, n_users, comparison.confidence),
        label=cell.label,
        model=cell.model,
        baseline=comparison.baseline,
        segmentation=segmentation,
        segment=cell.segment,
    )


def min_effect_of(comparison: Comparison, label: str) -> Effect:
    """As the cells of segments have it: that of the label, or of the first primary one where it is not evaluated."""
    known = label if label in comparison.labels else comparison.primary[0]
    said = comparison.metric(known).min_effect
    return said if said.endswith("%") else float(said)
