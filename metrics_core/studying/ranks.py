"""Ranks of models, and which of them tests leave open."""

from collections.abc import Collection, Mapping, Sequence


def average_ranks(values: Mapping[str, float], *, higher_is_better: bool) -> dict[str, float]:
    """1 is best; equal values share the mean of the ranks that they take: r_i = 1 + #better + (#equal - 1) / 2."""
    sign = 1 if higher_is_better else -1
    key = {name: sign * value for name, value in values.items()}
    return {
        name: 1
        + sum(other > mine for other in key.values())
        + (sum(other == mine for other in key.values()) - 1) / 2
        for name, mine in key.items()
    }


def rank_intervals(
    models: Sequence[str], surely_above: Collection[tuple[str, str]]
) -> dict[str, tuple[int, int]]:
    """The ranks that tests leave open: from 1 + #surely better to m - #surely worse.

    Where the tests bound the chance of any false finding over all pairs by alpha, all these intervals hold the true
    ranks together with probability 1 - alpha or more: a true rank outside of one needs a false finding.

    Parameters
    ----------
    models       : all that are ranked
    surely_above : (better, worse) of each pair that a test told apart

    References
    ----------
    Mogstad, Romano, Shaikh & Wilhelm (2024), Review of Economic Studies 91(1), 476-518.  doi:10.1093/restud/rdad006
    """
    above = {model: sum(worse == model for _, worse in surely_above) for model in models}
    below = {model: sum(better == model for better, _ in surely_above) for model in models}
    return {model: (1 + above[model], len(models) - below[model]) for model in models}


def groups_alike(
    ranked: Sequence[str], told_apart: Collection[frozenset[str]]
) -> list[tuple[str, ...]]:
    """The longest runs of neighbours in which no test told any two apart; runs of one are none.

    Parameters
    ----------
    ranked     : models, best first
    told_apart : the pairs that were
    """
    runs: list[tuple[int, int]] = []
    for start in range(len(ranked)):
        end = start
        while end + 1 < len(ranked) and all(
            frozenset((ranked[i], ranked[end + 1])) not in told_apart for i in range(start, end + 1)
        ):
            end += 1
        if end > start and not any(known[0] <= start and end <= known[1] for known in runs):
            runs.append((start, end))
    return [tuple(ranked[start : end + 1]) for start, end in runs]
