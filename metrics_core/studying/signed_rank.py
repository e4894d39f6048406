"""Wilcoxon's signed-rank test over data sets, exact however few there are and whatever is tied."""

from collections.abc import Sequence

from concord.metrics_core.studying.ranks import average_ranks


def signed_rank_p(differences: Sequence[float]) -> float | None:
    """P(|W| >= |w|) over all 2^n signs, w = Σ sign(d_i) · rank |d_i|; None where no difference is other than 0.

    Each data set's difference counts by its rank, and which other models are studied changes nothing. It assumes that
    differences are symmetric about 0 where two models are alike, as they are where the two could change places. Equal
    sizes share their mean rank, differences of 0 are left out. The smallest p is 2 / 2^n.

    References
    ----------
    Wilcoxon (1945), Biometrics Bulletin 1(6), 80-83.  doi:10.2307/3001968
    Benavoli, Corani & Mangili (2016), JMLR 17(5), 1-10: pairwise tests instead of mean ranks.
    """
    others = [d for d in differences if d != 0]
    if not others:
        return None
    sizes = {str(i): abs(d) for i, d in enumerate(others)}
    ranks = average_ranks(sizes, higher_is_better=False)
    doubled = [
        round(2 * rank) for rank in ranks.values()
    ]  # whole numbers, also where ranks are shared
    total = sum(doubled)
    positive = sum(rank for rank, d in zip(doubled, others, strict=True) if d > 0)
    counts = _counts(doubled)
    far = abs(2 * positive - total)
    extreme = sum(n for at, n in enumerate(counts) if abs(2 * at - total) >= far)
    return extreme / (1 << len(others))


def smallest_p(n: int) -> float:
    """The p of n differences of one sign."""
    return 2 / (1 << n)


def _counts(ranks: Sequence[int]) -> list[int]:
    """counts[s]: how many of the 2^n choices of positive signs have the sum of ranks s."""
    counts = [1] + [0] * sum(ranks)
    for rank in ranks:
        for at in range(len(counts) - 1, rank - 1, -1):
            counts[at] += counts[at - rank]
    return counts
