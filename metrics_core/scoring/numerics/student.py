"""Student's t by SciPy, which is imported for a first interval: it takes 0.3 s that nobody else should wait for."""


def half_width(n: float, confidence: float) -> float:
    """Half the width of a two-sided interval on n - 1 degrees of freedom, in standard errors."""
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, (1 + confidence) / 2))


def two_sided_p(n: float, t: float) -> float:
    """The probability of a t at least as far from 0, on n - 1 degrees of freedom."""
    from scipy.special import stdtr

    return 2 * float(stdtr(n - 1, -abs(t)))
