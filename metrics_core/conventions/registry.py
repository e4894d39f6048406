"""Registry of all conventions, in the order of params.yaml.

A convention is a question that good libraries answer differently. A parameter (`k`, `p`, `rel`)
asks another question and is part of a metric's label.
"""

from collections.abc import Mapping

from concord.metrics_core.conventions.convention import Convention, Value, mapping_of
from concord.metrics_core.conventions.data_conventions import DATA_CONVENTIONS
from concord.metrics_core.conventions.metric_conventions import METRIC_CONVENTIONS

MAX_DIGITS = 15  # of a float64


def _is_digits(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_DIGITS


_USER_POLICY = {
    "zero": "the value is 0",
    "one": "the value is 1",
    "drop": "the user is left out of the metric",
    "nan": "the value is undefined; `undefined` decides what the mean does",
    "error": "an error",
}

# Users without a value, means and rounding.
USER_CONVENTIONS: tuple[Convention, ...] = (
    Convention(
        "user_no_recs",
        "A user with relevant items who got no list.",
        default="zero",
        values=_USER_POLICY,
        metrics="truth",
    ),
    Convention(
        "user_empty_truth",
        "A user with a list and no relevant items.",
        default="nan",
        values=_USER_POLICY,
        metrics="truth",
    ),
    Convention(
        "user_recs_only",
        "A user with a list who is not in the ground truth.",
        default="drop",
        values=_USER_POLICY,
        metrics="users",
    ),
    Convention(
        "user_both_empty",
        "A user with neither list nor relevant items.",
        default="nan",
        values=_USER_POLICY,
        metrics="truth",
    ),
    Convention(
        "undefined",
        "What the mean does with users whose value is undefined (0/0).",
        default="skip",
        values={
            "skip": "they are left out and counted",
            "zero": "they count as 0",
            "propagate": "the mean is undefined as soon as one is",
        },
        metrics="users",
    ),
    Convention(
        "round",
        "Rounding of published values.",
        default=None,
        accepts=lambda v: v is None or mapping_of({"user": _is_digits, "mean": _is_digits})(v),
        form="null | {user: digits} | {mean: digits}",
        forms={
            "user": "each user's value, to so many digits",
            "mean": "the mean, to so many digits",
        },
        metrics="every",
    ),
)

PRESET_CONVENTIONS = (*METRIC_CONVENTIONS, *USER_CONVENTIONS)
CONVENTIONS = (*PRESET_CONVENTIONS, *DATA_CONVENTIONS)
CONVENTION: Mapping[str, Convention] = {each.name: each for each in CONVENTIONS}
