"""What train and truth say of each other."""

from collections.abc import Iterator

from concord.metrics_core.checking.problems import in_words
from concord.metrics_core.checking.relations import files, view
from concord.metrics_core.checking.row_checks import only_row
from concord.metrics_core.checking.settings import Settings
from concord.metrics_core.checking.units import owner_sql
from concord.metrics_core.comparing.evidence.evaluated import Ground
from concord.metrics_core.comparing.warnings.warned import severity_of_rows, warned
from concord.metrics_core.comparison.parts import Warned
from concord.metrics_core.comparison.words import percent

_TWICE = """
SELECT count(*), count(DISTINCT owner) FROM truth
SEMI JOIN train ON truth.owner = CAST(train.user AS VARCHAR)
               AND CAST(truth.item AS VARCHAR) = CAST(train.item AS VARCHAR)
"""
_SHARED = """
SELECT count(*) FROM (SELECT owner FROM truth SEMI JOIN train ON truth.owner = CAST(train.user AS VARCHAR) LIMIT 1)
"""
_OVERLAPPING = """
SELECT count(*) FROM (SELECT owner AS user, min(time) AS began FROM truth GROUP BY ALL)
JOIN (SELECT CAST(user AS VARCHAR) AS user, max(last) AS ended FROM train GROUP BY ALL) USING (user)
WHERE began < ended
"""
_BORN_AFTER = """
SELECT count(*), count(DISTINCT owner), count(DISTINCT CAST(item AS VARCHAR)) FROM truth
JOIN (SELECT CAST({column} AS VARCHAR) AS id, min(time) AS born FROM train GROUP BY ALL) AS first
ON CAST({owned} AS VARCHAR) = first.id WHERE truth.time < born
"""
_OWNED = {"item": "truth.item", "user": "truth.owner"}


def data_warnings(
    ground: Ground, settings: Settings, *, of_requests: bool = False
) -> Iterator[Warned]:
    """What train and truth say of each other; of_requests: is the truth that of requests, whose users the train knows?"""
    if ground.train is None:
        return
    truths = tuple(ground.folds.values()) or (ground.truth,)
    with ground.connecting(files([ground.train, *truths])) as connection:
        view(connection, "train", ground.train)
        for number, truth in enumerate(truths):
            view(connection, f"truth_{number}", truth)
        every = " UNION ALL BY NAME ".join(f"FROM truth_{number}" for number in range(len(truths)))
        owner = owner_sql("user") if of_requests else "CAST(user AS VARCHAR)"
        connection.execute(f"CREATE VIEW truth AS SELECT *, {owner} AS owner FROM ({every})")
        rows, users = connection.execute(_TWICE).fetchall()[0]
        (total,) = connection.execute("SELECT count(*) FROM truth").fetchall()[0]
        timed = all("time" in connection.view(name).columns for name in ("train", "truth"))
        (shared,) = connection.execute(_SHARED).fetchall()[0]
        overlapping = connection.execute(_OVERLAPPING).fetchall()[0][0] if timed else 0
        born = {
            kind: only_row(connection, _BORN_AFTER.format(column=kind, owned=owned))
            for kind, owned in _OWNED.items()
            if timed
        }
    if not shared:
        yield unrelated_train(settings)
    if rows:
        yield truth_in_train(rows, total, users)
    if overlapping:
        yield truth_before_train(overlapping)
    for kind, (late, of_users, of_items) in born.items():
        if late:
            yield born_after(kind, late, total, users=of_users, items=of_items)


def unrelated_train(settings: Settings) -> Warned:
    """On a train that knows nobody of the truth."""
    return warned(
        "unrelated_train",
        "serious",
        [],
        "No user of the truth stands in the train: is it what these models learned from?",
        settings.own_train(),
    )


def truth_in_train(rows: int, total: int, users: int) -> Warned:
    """On rows of the truth, of so many, whose user has the item in the train."""
    return warned(
        "truth_in_train",
        severity_of_rows(rows, total),
        [],
        f"{in_words(rows, 'row')} of the truth ({percent(rows / total)}) of {in_words(users, 'user')} stand in the "
        "train too: models that leave out what users know cannot find them, others have learned the answer.",
        "split so that a pair of user and item is in one of the two",
    )


def born_after(kind: str, rows: int, total: int, *, users: int, items: int) -> Warned:
    """On rows of the truth, of so many, whose item, or whose user, train first has later."""
    held = f"{in_words(rows, 'row')} of the truth ({percent(rows / total)}) "
    if kind == "item":
        held += f"{'holds' if rows == 1 else 'hold'} {in_words(items, 'item')}"
    else:
        held += f"{'is' if rows == 1 else 'are'} of {in_words(users, 'user')}"
    return warned(
        f"{kind}s_born_after",
        severity_of_rows(rows, total),
        [],
        f"{held} that train first has later: models know the {kind} from the future alone.",
        "train on what happened before the truth, with one split time for all users",
    )


def truth_before_train(users: int) -> Warned:
    """On users who have a row of the truth before one of the train."""
    return warned(
        "truth_before_train",
        "notice",
        [],
        f"The truth of {in_words(users, 'user')} begins before their train ends: the split is not by time.",
        "split by time where the model will meet the future",
    )
