"""Models that have no list for most users: their means say more of a policy than of lists."""

from collections.abc import Mapping, Sequence

from concord.metrics_core.checking.relations import column
from concord.metrics_core.comparing.evidence.evaluated import Evaluated, Models


def unlisted_models(models: Models, most: float) -> dict[str, int]:
    """Return the models of which more than this share of the evaluated users have no list, and how many users these are.

    A model that was trained several times lacks the lists of the users whom all its trainings leave out.
    """
    found = {}
    for model, evaluated in models.items():
        counts = [_missing(each) for each in evaluated.each]
        if len(counts) > 1 and all(missing > most * users for missing, users in counts):
            counts = [_missing_in_all(evaluated.each)]
        missing, users = min(counts, key=_share)
        if missing > most * users:
            found[model] = missing
    return found


def _share(counts: tuple[int, int]) -> float:
    missing, users = counts
    return missing / users if users else 0.0


def _missing(evaluated: Evaluated) -> tuple[int, int]:
    """How many of the evaluated users have no list, or no row of values, and how many are evaluated."""
    counts: Mapping[str, int] = evaluated.summary.get("users", {})
    if "missing" in counts:
        return counts["missing"], counts["evaluated"]
    return counts.get("without_list", 0), counts.get("in_truth", 0)


def _missing_in_all(trainings: Sequence[Evaluated]) -> tuple[int, int]:
    evaluated = {user for each in trainings for user in column(each.values, "user").to_list()}
    listed = {user for each in trainings for user in column(each.lists, "user").unique().to_list()}
    return len(evaluated - listed), len(evaluated)
