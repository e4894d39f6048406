"""Users of the truth who have no list, in some models or in all of them, and users who hold most requests."""

from collections.abc import Iterator

import polars as pl

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.data.relations import read_column
from concord.metrics_core.data.units import users_of_units
from concord.metrics_core.errors import in_words
from concord.metrics_core.evaluation.model_result import EvaluationData, Models
from concord.metrics_core.evaluation.warnings.base import MATTERS, warned
from concord.metrics_core.results.comparison_parts import Warned
from concord.metrics_core.results.words import listed, percent

MANY = 0.5  # of the users: then the mean is more of the policy than of the lists
_HEAVY_SHARE, _MOST_HEAVY = 10, 10  # a tenth of the users, and at most ten, may be called heavy


def unit_word(conventions: Conventions) -> str:
    """What values are of: a user, or a request."""
    return "user" if conventions.unit_mean is None else "request"


def user_warnings(models: Models, conventions: Conventions) -> Iterator[Warned]:
    """On models whose lists are for fewer users than are evaluated."""
    users = {model: each.summary["users"] for model, each in models.items()}
    lacking = {m: n["without_list"] for m, n in users.items() if n.get("without_list")}
    if not lacking:
        return
    most = max(lacking, key=lacking.__getitem__)
    sets = {each.summary.get("validity", {}).get("users") for each in models.values()}
    if len(sets) == 1:
        yield from few_lists(lacking[most], users[most]["in_truth"], conventions)
        return
    whose = unit_word(conventions)
    share = lacking[most] / users[most]["evaluated"]
    alike = len(set(lacking.values())) == 1
    who = (
        listed(list(lacking))
        if alike
        else f"{in_words(len(lacking), 'model')}, most of all {most},"
    )
    have = "has" if len(lacking) == 1 else "have"
    upto = "" if alike else "up to "
    yield warned(
        "user_sets_differ",
        "serious" if share >= MATTERS else "notice",
        list(lacking),
        f"Not all models have lists for the same {whose}s: {who} {have} none for {upto}"
        f"{in_words(lacking[most], whose)} ({percent(share)}), and `user_no_recs: {conventions.user_no_recs}` decides what they count.",
        f"give every model a list for every {whose}",
    )


def few_lists(lacking: int, users: int, conventions: Conventions) -> Iterator[Warned]:
    """On users of the truth whom all lists leave out, where they are many."""
    whose = unit_word(conventions)
    if lacking and lacking / users >= MANY:
        yield warned(
            "few_lists",
            "serious",
            [],
            f"{in_words(lacking, whose)} of {users:,} in the truth ({percent(lacking / users)}) have no list, "
            f"and `user_no_recs: {conventions.user_no_recs}` decides what they count.",
            f"make lists for all {whose}s of the truth, or take the others out of the truth",
        )


def heavy_users_of(ground: EvaluationData, conventions: Conventions) -> Iterator[Warned]:
    """Return the warning on the users of a truth; of folds on those of the first."""
    if conventions.unit_mean == "requests":
        yield from heavy_users(read_column(ground.truth, "user").unique(), conventions)


def heavy_users(requests: pl.Series, conventions: Conventions) -> Iterator[Warned]:
    """Return the warning where few users hold more than half of all requests, whose ids are given.

    They are a tenth of the users, at least one and at most ten: with more of them intervals hold.
    """
    if conventions.unit_mean != "requests" or requests.is_empty():
        return
    counts = users_of_units(requests).value_counts()["count"].sort(descending=True)
    n_users = len(counts)
    n_heavy = min(max(n_users // _HEAVY_SHARE, 1), _MOST_HEAVY)
    held = int(counts.head(n_heavy).sum())
    if 2 * held <= len(requests) or n_users == 1:
        return
    who = "The user" if n_heavy == 1 else f"The {n_heavy} users"
    holds = "holds" if n_heavy == 1 else "hold"
    yield warned(
        "heavy_users",
        "notice",
        [],
        f"{who} with most requests, of {n_users:,}, {holds} {percent(held / len(requests))} of all requests: "
        "means over requests rest on few users, and their intervals can be too short.",
        "look at the mean over users too (`unit_mean: users`), or evaluate more users",
    )
