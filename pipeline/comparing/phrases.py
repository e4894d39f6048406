"""Phrases that the sentences are made of: numbers, lists of names, the size of a difference, the reason of a verdict."""

from collections.abc import Sequence

from pipeline.comparing.standing import Gap, Standing

MINUS = "\N{MINUS SIGN}"
PERCENT = "\N{NO-BREAK SPACE}%"
AT_MOST = 6  # names in one list


def number(value: float, digits: int) -> str:
    """Without a minus where nothing is left after rounding."""
    text = f"{abs(value):.{digits}f}"
    return f"{MINUS}{text}" if value < 0 and text.strip("0.") else text


def exact(value: float) -> str:
    """A threshold, as short as it is."""
    return f"{value:.3g}"


def threshold(label: str, effect: float, standing: Standing) -> str:
    """The smallest difference that matters, as params.yaml says it: `0.005`, or `2 % of bm25`."""
    share = standing.shares.get(label)
    return exact(effect) if share is None else f"{percent(share)} of {standing.baseline}"


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`, `a, b, c, d, e, f and 3 more`."""
    shown = list(names[:AT_MOST])
    if len(names) > AT_MOST:
        shown.append(f"{len(names) - AT_MOST} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def counted(n: int, thing: str) -> str:
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {thing}s"


def percent(share: float) -> str:
    """One decimal, more for small shares: something is never told as 0."""
    written = f"{100 * share:.1f}" if share >= 0.01 else f"{100 * share:.2g}"  # noqa: PLR2004
    return f"{written.removesuffix('.0')}{PERCENT}"


def size(gap: Gap, label: str, standing: Standing) -> str:
    """`0.041 above popularity (95 % interval 0.035 to 0.047, +15.2 %)`."""
    if gap.difference is None:
        return f"not comparable with {gap.b}"
    digits = standing.finer_digits(label)
    up = gap.difference >= 0
    side = "above" if up else "below"
    words = f"{number(abs(gap.difference), digits)} {side} {gap.b}"
    if gap.difference == 0:
        words = f"level with {gap.b}"
    inside = [_interval(gap, up, digits, standing), _relative(gap.relative)]
    known = ", ".join(part for part in inside if part)
    return f"{words} ({known})" if known else words


def _interval(gap: Gap, up: bool, digits: int, standing: Standing) -> str:
    """The interval of the difference as it is told: of what a is above b, or below."""
    if gap.low is None or gap.high is None:
        return ""
    low, high = (gap.low, gap.high) if up else (0.0 - gap.high, 0.0 - gap.low)
    percent = f"{100 * standing.comparison['confidence']:.12g}"
    return f"{percent}{PERCENT} interval {number(low, digits)} to {number(high, digits)}"


def _relative(share: float | None) -> str:
    return "" if not share else f"{100 * share:+.1f}{PERCENT}".replace("-", MINUS)


def reason(gap: Gap, standing: Standing) -> str:
    """What the verdict on a against b rests on."""
    if gap.verdict == "undecided":
        return _undecided(gap, standing)
    if gap.verdict == "too_few_users":
        return _too_few(gap)
    effect = gap.row["min_effect"] or 0.0  # None if it is a share of a mean that does not exist
    least = threshold(gap.row["label"], effect, standing)
    words = {
        "better": f"significant, and more than {least}" if effect else "significant",
        "better_below_threshold": f"significant, though perhaps less than {least}"
        if effect
        else "significant",
        "equivalent": f"too small to matter, as the interval lies within ±{least}",
        "identical": "every user has the same value with both",
        "no_interval": "not tested, as the mean is pooled over users",
    }
    return words.get(gap.verdict, "the other way round on the users whom both have values for")


def _undecided(gap: Gap, standing: Standing) -> str:
    """Why an interval did not lead to a verdict."""
    low, high = gap.row["ci_low"], gap.row["ci_high"]
    if low <= 0 <= high:
        return "not decided, as the interval includes 0"
    tests = sum(row["p"] is not None for row in standing.primary_rows)
    of_all = counted(tests, "comparison")
    if gap.row["adjustment"] == "max_t":
        return f"not significant by joint sign flips of {of_all}"
    return f"not significant once corrected for {of_all}"


def _too_few(gap: Gap) -> str:
    differing = gap.row["n_nonzero"]
    if not gap.row["n_users"]:
        return "no user has a value with both"
    have = "has" if differing == 1 else "have"
    return f"only {counted(differing, 'user')} {have} different values, too few for an interval"
