"""Split methods: what each measures, what the literature says for and against it, and where it cuts.

Their files are declared alike: `data.truth.path` is truth.parquet, `background.train.path` is train.parquet, both with
`columns: {time: time}`.

References
----------
Meng, McCreadie, Macdonald & Ounis (2020), RecSys, 681-686.  doi:10.1145/3383313.3418479
Ji, Sun, Zhang & Li (2023), ACM TOIS 41(3), 75.  doi:10.1145/3569930
Hidasi & Czapp (2023), RecSys, 848-855.  arXiv:2307.14951
Gusak, Volodkevich, Klenitskiy, Vasilev & Frolov (2025), RecSys.  arXiv:2507.16289
Liang, Krishnan, Hoffman & Jebara (2018), WWW, 689-698.  doi:10.1145/3178876.3186150
Schein, Popescul, Ungar & Pennock (2002), SIGIR, 253-260.  doi:10.1145/564376.564421
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, ClassVar

from concord.metrics_core.data.relations import only_row
from concord.metrics_core.errors import Problem, raise_problems
from concord.metrics_core.results.split import is_in_seconds

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TRAIN, TRUTH, HISTORY = "train", "truth", "history"
GAP = "gap"
REPEATS = ("keep", "first")
_HASH_DIGITS = 13  # hexadecimal: 52 bits


@dataclass(frozen=True)
class Cut:
    """Conditions in SQL that assign the rows of the table `interactions`.

    Attributes
    ----------
    conditions : dict
        Maps a side, or GAP, to the condition of its rows. Every row meets exactly one.
    counts : dict
        Counts of this method for the manifest.
    """

    conditions: Mapping[str, str]
    counts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class SplitMethod:
    """A way to split interactions. Its fields are its options; `empty_fix` says what to do if a side is empty."""

    name: ClassVar[str]
    empty_fix: ClassVar[str]

    def select_held_out(self, connection: "DuckDBPyConnection") -> str:
        """Return the condition of rows of the table `source` whose user or item is held out."""
        return "FALSE"

    def cut(self, connection: "DuckDBPyConnection") -> Cut:
        """Return where the table `interactions` is cut."""
        raise NotImplementedError


@dataclass(frozen=True)
class LeaveLastOut(SplitMethod):
    """The last interactions of each user are the truth, all earlier ones are train.

    Measures what a known user takes next. Users with no more than `last` interactions have no truth; all of theirs
    stays in train.

    For: every user counts, and little is taken from train. Against: the cut is at another time for each user, so train
    holds what others did after it. Models then recommend items that did not exist yet, and their order depends on how
    much leaks (Ji et al. 2023). It is one of the widespread flaws of Hidasi & Czapp (2023); orders of models differ from
    those of a global split (Meng et al. 2020) and agree less with realistic ones (Gusak et al. 2025).

    Attributes
    ----------
    last : int
        Interactions of each user in the truth.
    """

    name: ClassVar = "leave-last-out"
    empty_fix: ClassVar = "every user has too few interactions: use global-time"
    last: int = 1

    def cut(self, connection: "DuckDBPyConnection") -> Cut:
        """Return the cut before the last interactions of each user."""
        is_truth = _is_last(self.last)
        conditions = {TRAIN: f"NOT ({is_truth})", TRUTH: is_truth}
        return Cut(conditions, _last_counts(connection, self.last))


@dataclass(frozen=True)
class GlobalTime(SplitMethod):
    """Interactions from one time on are the truth; those before it, less a gap, are train.

    Measures what this model, trained then, would have been worth afterwards. No row of train is as late as a row of the
    truth, so nothing leaks through time. Users and items that are not in train stay in the truth: a model that goes live
    meets them.

    For: recommended by Ji et al. (2023), Hidasi & Czapp (2023) and Gusak et al. (2025). Against: one period stands for
    all, users without an interaction in it are not evaluated, and the truth holds all that a user did in it, which is
    another task than predicting the next item (Gusak et al. 2025).

    Attributes
    ----------
    at : float or None
        The time, in the unit of the times; None: found by `share`.
    share : float or None
        Least share of the interactions in the truth.
    gap : float
        Between train and truth, in the unit of the times: as long as a model takes to go live.
    """

    name: ClassVar = "global-time"
    empty_fix: ClassVar = "move the cut, or shorten the gap"
    at: float | None = None
    share: float | None = None
    gap: float = 0.0

    def cut(self, connection: "DuckDBPyConnection") -> Cut:
        """Return the cut at one time."""
        at = self.at if self.at is not None else _time_of_share(connection, self.share or 0.0)
        train_end = at - self.gap
        conditions = {
            TRAIN: f"time < {train_end!r}::DOUBLE",
            GAP: f"time >= {train_end!r}::DOUBLE AND time < {at!r}::DOUBLE",
            TRUTH: f"time >= {at!r}::DOUBLE",
        }
        return Cut(conditions, {"train_before": train_end, "truth_from": at})


@dataclass(frozen=True)
class HeldOutUsers(SplitMethod):
    """A share of the users is held out: their last interactions are the truth, their earlier ones the history.

    Measures what the model is worth for users that it was not trained on, given their history. Known as strong
    generalisation (Liang et al. 2018). Users are held out by a hash of seed and id, so that no user changes sides when
    data grow.

    For: the right measure for a model that serves new users and is tuned without them. Against: only for models that
    take a history as input, and train holds what happened after the truth (Ji et al. 2023).

    Attributes
    ----------
    share : float
        The probability of each user to be held out; the share of held-out users is about this.
    last : int
        Interactions of each held-out user in the truth.
    seed : int
        Another seed holds out other users.
    """

    name: ClassVar = "users"
    empty_fix: ClassVar = "choose another share"
    share: float
    last: int = 1
    seed: int = 0

    def select_held_out(self, connection: "DuckDBPyConnection") -> str:
        """Return the condition of rows whose user is held out by hash."""
        return _select_by_hash(connection, "user", self.share, self.seed)

    def cut(self, connection: "DuckDBPyConnection") -> Cut:
        """Return the cut before the last interactions of each held-out user."""
        is_truth = f"held_out AND {_is_last(self.last)}"
        conditions = {
            TRAIN: "NOT held_out",
            HISTORY: f"held_out AND NOT ({is_truth})",
            TRUTH: is_truth,
        }
        last_counts = _last_counts(connection, self.last, "held_out")
        return Cut(conditions, {**_held_out_counts(connection, "user"), **last_counts})


@dataclass(frozen=True)
class ColdItems(SplitMethod):
    """All interactions of a share of the items are the truth, the rest is train.

    Measures whether the model finds items that nobody has taken yet, by their features (Schein et al. 2002). Items are
    selected by a hash of seed and id, or the newest by their first interaction.

    For: warm items cannot hide that cold ones are never found. Against: items selected by hash are as old as any, and
    train holds what happened after the truth (Ji et al. 2023); the newest are those that are cold in production. Models
    that know items by id alone cannot be evaluated.

    Attributes
    ----------
    share : float
        By hash, the probability of each item; of the newest, the share of the items, rounded up.
    newest : bool
        True to select the items with the latest first interaction instead of by hash.
    seed : int or None
        Another seed selects other items; None with `newest`.
    """

    name: ClassVar = "cold-items"
    empty_fix: ClassVar = "choose another share"
    share: float
    newest: bool = False
    seed: int | None = 0

    def select_held_out(self, connection: "DuckDBPyConnection") -> str:
        """Return the condition of rows whose item is cold."""
        if self.seed is None:
            return _select_newest(connection, self.share)
        return _select_by_hash(connection, "item", self.share, self.seed)

    def cut(self, connection: "DuckDBPyConnection") -> Cut:
        """Return the cut between cold and other items."""
        counts = _tied_items(connection) if self.newest else _held_out_counts(connection, "item")
        return Cut({TRAIN: "NOT held_out", TRUTH: "held_out"}, counts)


METHODS: Mapping[str, type[SplitMethod]] = {
    each.name: each for each in (LeaveLastOut, GlobalTime, HeldOutUsers, ColdItems)
}


def options_of(method: str) -> tuple[str, ...]:
    """Return the names of a method's options."""
    return tuple(each.name for each in fields(METHODS[method]))


@dataclass(frozen=True)
class SplitOptions:
    """A method and what is done with repeated items.

    Attributes
    ----------
    repeats : {'keep', 'first'}
        Whether an item that a user took before counts again.
    in_seconds : dict
        Maps each option that was given as a date or duration to its text.
    """

    method: SplitMethod
    repeats: str
    in_seconds: Mapping[str, str]

    def check_unit(self, latest: float) -> None:
        """Raise an InputError if dates or durations are given and the times are not in seconds since 1970."""
        if self.in_seconds and not is_in_seconds(latest):
            problem = f"requires times in seconds since 1970, but the latest time is {latest:,.15g}"
            fix = "give a number in the unit of the times"
            raise_problems(
                Problem(name, f"{text!r} {problem}", fix) for name, text in self.in_seconds.items()
            )


def item_order(connection: "DuckDBPyConnection", table: str, direction: str = "") -> str:
    """Return the ORDER BY terms of items: by length of the id, then by its characters.

    For ids that are whole numbers from 0 on this is the order of the numbers.
    """
    (kind,) = only_row(connection, f"SELECT any_value(typeof(item)) FROM {table}")
    if kind == "BIGINT" and only_row(connection, f"SELECT min(item) >= 0 FROM {table}")[0]:
        return f"item {direction}"
    text = "item::VARCHAR"
    return f"strlen({text}) {direction}, {text} {direction}"


def _is_last(last: int) -> str:
    """Return the condition of a user's last rows; users with no more than these have none."""
    return f"rank_from_last <= {last} AND n_of_user > {last}"


def _last_counts(
    connection: "DuckDBPyConnection", last: int, users: str = "TRUE"
) -> dict[str, float]:
    """Count users whose rows on both sides of the cut have one time, and users with too few rows for a truth."""
    (tied,) = only_row(
        connection,
        f"""SELECT count(*) FROM (SELECT user FROM interactions
            WHERE {users} AND n_of_user > {last} AND rank_from_last BETWEEN {last} AND {last} + 1
            GROUP BY user HAVING min(time) = max(time))""",
    )
    (too_few,) = only_row(
        connection,
        f"""SELECT count(*) FROM interactions
            WHERE {users} AND rank_from_last = 1 AND n_of_user <= {last}""",
    )
    return {"users_tied_at_the_cut": tied, "users_with_too_few": too_few}


def _time_of_share(connection: "DuckDBPyConnection", share: float) -> float:
    """Return the latest time from which on there is this share of the rows, or more if times tie."""
    (rows,) = only_row(connection, "SELECT count(*) FROM interactions")
    before = rows - ceil(Fraction(repr(share)) * rows)
    query = f"SELECT time FROM interactions ORDER BY time LIMIT 1 OFFSET {before}"
    return float(only_row(connection, query)[0])


def _select_by_hash(connection: "DuckDBPyConnection", column: str, share: float, seed: int) -> str:
    """Select ids for which the first digits of the SHA-256 of `seed:id` are below a share of all."""
    bound = ceil(Fraction(repr(share)) * 16**_HASH_DIGITS)
    digits = f"sha256('{seed}:' || {column}::VARCHAR)[:{_HASH_DIGITS}]"
    connection.execute(
        f"""CREATE TABLE held_out AS SELECT {column} FROM (SELECT DISTINCT {column} FROM source)
        WHERE {digits} < '{bound:0{_HASH_DIGITS}x}'"""
    )
    return f"{column} IN (SELECT {column} FROM held_out)"


def _held_out_counts(connection: "DuckDBPyConnection", column: str) -> dict[str, float]:
    """Count users or items: those that are held out, and all."""
    distinct = f"count(DISTINCT {column})"
    query = f"SELECT {distinct} FILTER (held_out), {distinct} FROM interactions"
    n_held_out, n_ids = only_row(connection, query)
    return {f"held_out_{column}s": n_held_out, f"{column}s": n_ids}


def _select_newest(connection: "DuckDBPyConnection", share: float) -> str:
    """Select a share of the items, rounded up: those with the latest first interaction."""
    (items,) = only_row(connection, "SELECT count(DISTINCT item) FROM source")
    connection.execute(
        f"""CREATE TABLE held_out AS SELECT item
        FROM (SELECT item, min(time) AS time FROM source GROUP BY item)
        ORDER BY time DESC, {item_order(connection, "source", "DESC")}
        LIMIT {ceil(Fraction(repr(share)) * items)}"""
    )
    return "item IN (SELECT item FROM held_out)"


def _tied_items(connection: "DuckDBPyConnection") -> dict[str, float]:
    """Count items of train whose first interaction is as late as that of an item of the truth."""
    (tied,) = only_row(
        connection,
        """WITH firsts AS
            (SELECT held_out, min(time) AS time FROM interactions GROUP BY item, held_out)
            SELECT count(*) FROM firsts
            WHERE NOT held_out AND time = (SELECT min(time) FROM firsts WHERE held_out)""",
    )
    return {"items_tied_at_the_cut": tied}
