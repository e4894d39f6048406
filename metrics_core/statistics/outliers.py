"""One training that lies far from the others of its model, as one that failed does."""

import math
from collections.abc import Sequence

from concord.metrics_core.scoring.numerics.student import two_sided_p

FEWEST = 3  # values: the spread of the others takes two
LEVEL = 0.05  # of a false alarm, for one model on one metric
_SAME = 1e-9  # relative: what means that were rounded may differ by


def outlier(values: Sequence[float], sides: Sequence[int], least: float = 0.0) -> int | None:
    """Return the place of the value that is an outlier at `LEVEL`; None if there is none.

    Parameters
    ----------
    sides : 1 to look for one that is far below the others, -1 for one above; both share the level
    least : see `lowest_p`
    """
    for sign in sides:
        turned = [sign * value for value in values]
        if lowest_p(turned, least) < LEVEL / len(sides):
            return turned.index(min(turned))
    return None


def lowest_p(values: Sequence[float], least: float = 0.0) -> float:
    """Return the p value of the lowest of R values, by Grubbs's one-sided test; 1 for fewer than 3.

    t = (mean of the others - lowest) / √(s² (1 + 1/(R - 1))) with s² of the others has a t distribution with R - 2
    degrees of freedom, and p is R times its tail. It takes the values as normal but for the one.

    Parameters
    ----------
    values : of R trainings
    least  : the smallest variance that the others are believed to have, such as what chance of users adds; without it
             two trainings that happen to be equal would make any third one an outlier

    References
    ----------
    Grubbs (1950), Annals of Mathematical Statistics 21(1), 27-58.  doi:10.1214/aoms/1177729885
    """
    count = len(values)
    if count < FEWEST or not all(map(math.isfinite, values)):
        return 1.0
    lowest, *others = sorted(values)
    if others[-1] - lowest <= _SAME * max(abs(lowest), abs(others[-1])):
        return 1.0
    centre = math.fsum(others) / len(others)
    spread = math.fsum((each - centre) ** 2 for each in others) / (len(others) - 1)
    error = math.sqrt(max(spread, least) * (1 + 1 / len(others)))
    if not error:
        return 0.0
    tail = two_sided_p(count - 1, (centre - lowest) / error) / 2
    return min(1.0, count * tail)
