"""Minimum numbers of differing users for tests, which tests and sentences share."""

import math

MIN_T_TEST_USERS = 30  # differing users; with fewer, p is that of sign flips instead of the t test
MIN_DIFFERING_USERS = 10  # of tests that have no exact distribution for few users


def min_differing_for(alpha: float) -> int:
    """Return the smallest number of differing users that can be significant.

    It is the smallest n with 2^(1 - n) <= alpha.

    Examples
    --------
    >>> min_differing_for(0.05), min_differing_for(0.05 / 15)
    (6, 10)
    """
    n = 1
    while math.ldexp(1.0, 1 - n) > alpha:
        n += 1
    return n
