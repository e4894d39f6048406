"""How likely a truth that is asked again and again calls something better that is not."""

import math

from concord.metrics_core.comparison.parts import Severity

NOTICE, SERIOUS = 0.1, 0.5  # the chance from which it is said, and from which it is serious


def chance_of_false_winner(comparisons: int, alpha: float) -> float:
    """1 - (1 - alpha / 2)^m: that at least one of m comparisons calls a useless list better, at most.

    A comparison of useless lists finds any difference with probability alpha at most, however many lists and labels
    it has (Holm), and half of that in favour of a list. For normal means whose correlations are not negative,
    independence is the worst case (Slepian). Differences to one baseline are such, as they share it. Where each list is
    held against the one before, neighbours are negatively correlated, and only m alpha / 2 is a bound. All of it holds
    for lists that were not made of what this truth said of others.

    References
    ----------
    Slepian (1962), Bell System Technical Journal 41(2), 463-501.  doi:10.1002/j.1538-7305.1962.tb02419.x
    Dwork et al. (2015), Science 349(6248), 636-638, on lists that were made of it.  doi:10.1126/science.aaa9375
    """
    return 1 - math.prod([1 - alpha / 2] * comparisons)


def severity_of(chance: float) -> Severity | None:
    """Nothing below one in ten, a notice from there, serious from one in two."""
    return "serious" if chance >= SERIOUS else "notice" if chance >= NOTICE else None
