"""How likely a truth that is asked again and again calls something better that is not."""

import math

from concord.metrics_core.comparison.parts import Severity

NOTICE, SERIOUS = 0.1, 0.5  # the chance from which it is said, and from which it is serious


def chance_of_false_winner(comparisons: int, alpha: float) -> float:
    """1 - (1 - alpha / 2)^m: that at least one of m comparisons calls a useless list better, at most.

    A comparison of useless lists finds any difference with probability alpha at most, however many lists and labels
    it has (Holm), and half of that in favour of a list. Comparisons that share users and a baseline err together
    rather than apart, so that independence is the worst case. All of it holds for lists that were not made of what
    this truth said of others.

    References
    ----------
    Šidák (1967), Journal of the American Statistical Association 62(318), 626-633; Dwork et al. (2015), Science
    349(6248), 636-638, on lists that were.
    """
    return 1 - math.prod([1 - alpha / 2] * comparisons)


def severity_of(chance: float) -> Severity | None:
    """Nothing below one in ten, a notice from there, serious from one in two."""
    return "serious" if chance >= SERIOUS else "notice" if chance >= NOTICE else None
