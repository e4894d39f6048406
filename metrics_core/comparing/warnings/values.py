"""Signs that users' values of another tool are not what was meant: other users, or the wrong direction."""

import re
from collections.abc import Collection, Iterator

from concord.metrics_core.checking.problems import in_words
from concord.metrics_core.comparing.evidence.asked import Asked
from concord.metrics_core.comparing.evidence.evaluated import Models
from concord.metrics_core.comparing.warnings.warned import severity_of_rows, warned
from concord.metrics_core.comparison.parts import Warned
from concord.metrics_core.comparison.words import are, listed, percent
from concord.metrics_core.metrics.catalogue import METRIC, Label

# Names whose lowest value is the best in most tools.
_ERRORS = frozenset(
    ("error", "rmse", "mse", "mae", "mape", "loss", "logloss", "ece", "latency", "perplexity")
)


def value_warnings(asked: Asked, models: Models, stated: Collection[str]) -> list[Warned]:
    """Return the warnings, the most serious first."""
    found = [*_missing_users(models), *_directions(asked, stated)]
    return sorted(found, key=lambda each: each.severity != "serious")


def _missing_users(models: Models) -> Iterator[Warned]:
    """On models that have no row for users of another model."""
    counts = {model: each.summary["users"] for model, each in models.items()}
    lacking = {model: users["missing"] for model, users in counts.items() if users["missing"]}
    if not lacking:
        return
    most = max(lacking, key=lacking.__getitem__)
    evaluated = counts[most]["evaluated"]
    share = lacking[most] / evaluated
    each = [f"{model} has no values of {in_words(n, 'user')}" for model, n in lacking.items()]
    yield warned(
        "user_sets_differ",
        severity_of_rows(lacking[most], evaluated),
        list(lacking),
        f"Not all models have values of the same users: of {evaluated:,}, {listed(each)}"
        f"{' (' + percent(share) + ')' if len(lacking) == 1 else ''}. "
        "A mean is over the users whom its model has, a difference over the users whom both models have.",
        "give every model a row for every user; write the value that a failed user shall count",
    )


def _directions(asked: Asked, stated: Collection[str]) -> Iterator[Warned]:
    """On metrics that are read as higher is better, though their name says otherwise."""
    doubtful = [
        str(label)
        for label in asked.labels
        if str(label) not in stated and _sounds_lower_is_better(label)
    ]
    if doubtful:
        yield warned(
            "direction_unclear",
            "serious",
            [],
            f"{listed(doubtful)} {are(doubtful)} taken as higher is better, and of most metrics of such a name the "
            "lowest value is the best.",
            f"say which it is, as in higher_is_better={dict.fromkeys(doubtful, False)}; verdicts depend on it",
        )


def _sounds_lower_is_better(label: Label) -> bool:
    known = METRIC.get(label.name.partition("(")[0])
    words = re.split(r"[\W_]+", label.name.casefold())
    return (known is not None and not known.higher_is_better) or not _ERRORS.isdisjoint(words)
