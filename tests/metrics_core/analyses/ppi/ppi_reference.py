"""Prediction-powered means in plain Python: one loop per sum, the tuning again for each query."""

import statistics

from scipy import stats


def tuning(human: list[float], judged: list[float], variance: float, share: float) -> float:
    """Return lambda of PPI++ for these sampled queries; `share` is n / N."""
    mean_h, mean_f = statistics.fmean(human), statistics.fmean(judged)
    pairs = zip(human, judged, strict=True)
    covariance = sum((h - mean_h) * (f - mean_f) for h, f in pairs) / len(human)
    return min(max(covariance / ((1 + share) * variance), 0.0), 1.0) if variance else 0.0


def powered(
    human: list[float],
    judged: list[float],
    others: list[float],
    bounds: tuple[float, float] | None = None,
) -> tuple[float, float, float, float]:
    """Return mean, ends of the 95 % interval, and effective labels."""
    n, share = len(human), len(human) / len(others)
    variance = statistics.variance([*judged, *others])
    weights = [
        tuning(human[:i] + human[i + 1 :], judged[:i] + judged[i + 1 :], variance, share)
        for i in range(n)
    ]
    centre = statistics.fmean(others)
    corrected = [h - w * (f - centre) for h, w, f in zip(human, weights, judged, strict=True)]
    from_judge = statistics.fmean(weights) ** 2 * statistics.variance(others) / len(others)
    if bounds is not None and n < 50:
        spreads = [[*corrected, *bounds], [*human, *bounds]]
    else:
        spreads = [corrected, human]
    of_mean, of_people = (statistics.variance(each) / len(each) for each in spreads)
    half = stats.t.ppf(0.975, len(spreads[0]) - 1) * (of_mean + from_judge) ** 0.5
    middle = statistics.fmean(spreads[0])
    low, high = middle - half, middle + half
    if bounds is not None:
        low, high = max(low, bounds[0]), min(high, bounds[1])
    total = of_mean + from_judge
    return statistics.fmean(corrected), low, high, n * of_people / total if total else float("nan")
