"""How far apart the groups of users are: largest minus smallest mean, and whether two models differ in it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from concord.metrics_core.comparing.evidence.asked import Asked
from concord.metrics_core.comparing.segments.grouped import Grouped
from concord.metrics_core.comparison.parts import Gap, or_none
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.scoring.numerics.tolerance import differences
from concord.metrics_core.statistics.bootstrap import interval, two_sided, weighted_means
from concord.metrics_core.statistics.paired import FEWEST_INFORMATIVE
from concord.metrics_core.statistics.pairs import benjamini_hochberg

# Users of a group that a gap may be taken from. The extremes are picked, so tiny groups would be; simulated coverage
# of the 95 % interval (benchmarks/SIMULATIONS.md): 0.89 with 5 users in the smaller group, 0.94 with 30.
FEWEST_IN_GAP = 30


@dataclass(frozen=True)
class _Resampled:
    """A gap, and what it is in each resample of the users; resamples are those of all models."""

    gap: Gap
    samples: Floats


def gaps(asked: Asked, labels: Sequence[Grouped], *, compared: bool) -> list[Gap]:
    """The gap of each label and model; none where fewer than two groups have enough users.

    compared : tell also the ratio, and each model's gap against the baseline's: paired by the resamples of the same users,
               with Benjamini-Hochberg over all of them
    """
    found = [(grouped, _resampled(asked, grouped)) for grouped in labels]
    if not compared:
        return [replace(each.gap, ratio=None) for _, made in found for each in made.values()]
    told = [gap for grouped, of_models in found for gap in _compared(asked, grouped, of_models)]
    p = np.array([math.nan if gap.p is None else gap.p for gap in told], dtype=np.float64)
    adjusted = benjamini_hochberg(p)
    return [replace(gap, p_adjusted=or_none(float(q))) for gap, q in zip(told, adjusted, strict=True)]  # fmt: skip


def _resampled(asked: Asked, grouped: Grouped) -> Mapping[str, _Resampled]:
    """Largest minus smallest mean of a group of enough users, each model.

    The interval is by bootstrap, with the groups held fixed.
    """
    found = {}
    for model in next(iter(grouped.values.values()), {}):
        columns = {group: grouped.column(group, model) for group in grouped.values}
        means = {g: column.mean for g, column in columns.items() if column.n_defined >= FEWEST_IN_GAP}  # fmt: skip
        if len(means) < 2:  # noqa: PLR2004 - a gap is between two
            continue
        low, *_, high = sorted(means, key=means.__getitem__)  # two groups, also where all are equal
        both = np.column_stack([columns[high].by_user, columns[low].by_user])
        samples = weighted_means(both, resamples=asked.resamples, seed=asked.seed)
        apart = samples[:, 0] - samples[:, 1]
        ratio = means[low] / means[high] if means[high] > 0 else None
        ends = interval(apart, asked.confidence)
        gap = Gap(grouped.text, model, low, high, means[high] - means[low], *ends, ratio=ratio)
        found[model] = _Resampled(gap, apart)
    return found


def _compared(asked: Asked, grouped: Grouped, of_models: Mapping[str, _Resampled]) -> Iterator[Gap]:
    theirs = of_models.get(asked.baseline)
    for model, ours in of_models.items():
        if theirs is None or model == asked.baseline:
            yield ours.gap
            continue
        apart = ours.samples - theirs.samples
        low, high = interval(apart, asked.confidence)
        enough = _differing(grouped, model, asked.baseline) >= FEWEST_INFORMATIVE
        yield replace(
            ours.gap,
            difference=ours.gap.gap - theirs.gap.gap,
            diff_low=or_none(low),
            diff_high=or_none(high),
            p=two_sided(apart) if enough else None,
        )


def _differing(grouped: Grouped, a: str, b: str) -> int:
    """Users whose values differ between two models; of a user with several requests, whose mean does."""
    users = np.zeros(0, dtype=bool)
    for of_models in grouped.values.values():
        apart = differences(of_models[a], of_models[b])
        of_users = apart if grouped.whose is None else grouped.whose.means(apart)
        differ = np.nan_to_num(of_users) != 0
        users = differ if not len(users) else users | differ
    return int(np.count_nonzero(users))
