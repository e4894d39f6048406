"""Users of the truth who have no list: in some models, or in all of them."""

from collections.abc import Iterator

from concord.metrics_core.checking.problems import in_words
from concord.metrics_core.comparing.evidence.evaluated import Models
from concord.metrics_core.comparing.warnings.warned import MATTERS, warned
from concord.metrics_core.comparison.parts import Warned
from concord.metrics_core.comparison.words import listed, percent
from concord.metrics_core.conventions.conventions import Conventions

MANY = 0.5  # of the users: then the mean is more of the policy than of the lists


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
