"""Models that have no list for most users: their means say more of a policy than of lists."""

from concord.metrics_core.checking.known_by import WHOLE
from concord.metrics_core.comparing.evidence.evaluated import Evaluated, Models


def unlisted_models(models: Models, max_share: float) -> dict[str, int]:
    """Return the models that lack the lists of more than this share of the evaluated users, and how many they lack."""
    counts = {model: _missing(evaluated) for model, evaluated in models.items()}
    return {model: n for model, (n, n_users) in counts.items() if n > max_share * n_users}


def _missing(evaluated: Evaluated) -> tuple[int, int]:
    """Return how many of the evaluated users have a list from no training, and how many are evaluated.

    Trainings whose lists are for different sets of users, as those of folds are, count as having no user in common.
    """
    n_users: dict[str, int] = {}  # of each fold; of all trainings where they have one truth
    listed: dict[str, dict[tuple[object, int], int]] = {}
    for training in evaluated.each:
        counts = training.summary.get("users", {})
        fold = str(training.quality.get("fold", WHOLE))
        n_users[fold] = counts.get("in_truth", counts.get("evaluated", 0))
        n_listed = n_users[fold] - counts.get("without_list", counts.get("missing", 0))
        users = training.summary.get("validity", {}).get(
            "users"
        )  # a fingerprint of those with a list
        listed.setdefault(fold, {})[users, n_listed] = n_listed
    total = sum(n_users.values())
    return total - sum(min(n, sum(listed[fold].values())) for fold, n in n_users.items()), total
