"""What a gate measured, in words that every face of its decision has."""

from concord.metrics_core.checking.problems import in_words
from concord.metrics_core.comparison.gate import MIN_EFFECT, Guardrail, Measured
from concord.metrics_core.comparison.words import PERCENT, exact, number, one_line


def place(found: Measured) -> str:
    """`nDCG@10`, or `nDCG@10 of activity “0”`."""
    where = "" if found.segment is None else f" of {found.segmentation} “{found.segment}”"
    return one_line(found.label + where)


def allowed(found: Guardrail) -> str:
    """`−0.005`, `−0.0191 (5 %)`: the loss that is allowed, with where the number comes from."""
    if found.margin is None:
        return found.asked
    sign = 1 if not found.higher_is_better else -1
    margin = _exactly(sign * found.margin)
    if found.asked.endswith("%"):
        margin += f" ({found.asked.removesuffix('%')}{PERCENT})"
    elif found.asked == MIN_EFFECT:
        margin += f" ({MIN_EFFECT})"
    return margin


def _exactly(value: float) -> str:
    text = exact(abs(value))
    return f"{number(-1, 0)[0]}{text}" if value < 0 else f"+{text}" if value > 0 else text


def unlisted(measured: Measured) -> str:
    """`29 users have no list, too many to compare`."""
    n = measured.n_unlisted or 0
    return f"{in_words(n, 'user')} {'has' if n == 1 else 'have'} no list, too many to compare"


def lost(measured: Measured) -> str:
    """`37 of the 40 users who have a value with the reference have none with the model`, or of requests."""
    whom, both = "user", measured.n_users
    if measured.n_requests is not None:
        whom, both = "request", measured.n_requests
    have = "has" if measured.n_lost == 1 else "have"
    known = in_words(both + measured.n_lost, whom)
    who = "who" if whom == "user" else "that"
    return f"{measured.n_lost:,} of the {known} {who} have a value with the reference {have} none with the model"  # fmt: skip
