"""Split methods: what each one measures, its pros and cons in the literature, and its cut.

All methods write the same files: `data.truth.path` is truth.parquet and `background.train.path`
is train.parquet, both with `columns: {time: time}`.

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
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from concord.metrics_core.data.relations import only_row
from concord.metrics_core.errors import Problem, raise_problems
from concord.metrics_core.results.split import is_in_seconds

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TRAIN, TRUTH, HISTORY = "train", "truth", "history"
GAP = "gap"
SplitMethodName = Literal["leave-last-out", "global-time", "users", "cold-items"]
Repeats = Literal["keep", "first"]
REPEATS: tuple[Repeats, ...] = get_args(Repeats)
_HASH_DIGITS = 13  # hexadecimal: 52 bits


@dataclass(frozen=True)
class Cut:
    """Assignment of the rows of the table `interactions` to sides.

    Attributes
    ----------
    conditions : dict of str to str
        SQL condition of the rows of each side, or GAP. Every row satisfies exactly one.
    counts : dict of str to float
        Counts of this method for the manifest.
    """

    conditions: Mapping[str, str]
    counts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class SplitMethod:
    """Base class of split methods; the fields are the method's options.

    Attributes
    ----------
    name : str
        Name of the method.
    empty_fix : str
        What to do if a side is empty.
    """

    name: ClassVar[str]
    empty_fix: ClassVar[str]

    def select_held_out(self, connection: "DuckDBPyConnection") -> str:
        """Return the SQL condition of held-out users or items in the table `source`."""
        return "FALSE"

    def cut(self, connection: "DuckDBPyConnection") -> Cut:
        """Return the cut of the table `interactions`."""
        raise NotImplementedError


@dataclass(frozen=True)
class LeaveLastOut(SplitMethod):
    """The last interactions of each user are the truth, all earlier ones are train.

    Measures the prediction of a known user's next interactions. Users with `last` or fewer
    interactions have no truth; all their interactions are in train.

    Pros: every user is evaluated, and train is almost complete. Cons: the cut is at a different
    time for each user, so train has later interactions of other users. Models then recommend items
    that did not exist yet, and their order depends on the amount of leakage (Ji et al. 2023).
    Hidasi & Czapp (2023) list it as a widespread flaw. Orders of models differ from those of a
    global split (Meng et al. 2020) and agree less with realistic ones (Gusak et al. 2025).

    Attributes
    ----------
    last : int
        Number of each user's interactions in the truth.
    """

    name: ClassVar = "leave-last-out"
    empty_fix: ClassVar = "every user has too few interactions: use global-time"
    last: int = 1

    def cut(self, connection: "DuckDBPyConnection") -> Cut:
        """Return the cut before each user's last interactions."""
        is_truth = _is_last(self.last)
        conditions = {TRAIN: f"NOT ({is_truth})", TRUTH: is_truth}
        return Cut(conditions, _last_counts(connection, self.last))


@dataclass(frozen=True)
class GlobalTime(SplitMethod):
    """Interactions from one time are the truth; those before it, less a gap, are train.

    Measures the performance of a model that is trained at this time in the period after it. All
    rows of train are earlier than all rows of the truth, so nothing leaks through time. Users and
    items that are not in train stay in the truth, because a deployed model encounters them.

    Pros: recommended by Ji et al. (2023), Hidasi & Czapp (2023) and Gusak et al. (2025). Cons: one
    period represents all, users without an interaction in it are not evaluated, and the truth has
    all interactions of a user in this period, which is a different task than predicting the next
    item (Gusak et al. 2025).

    Attributes
    ----------
    at : float or None
        First time of the truth, in the unit of the times; None to derive it from `share`.
    share : float or None
        Minimum share of the interactions in the truth.
    gap : float
        Time between train and truth, in the unit of the times: the time to deploy a model.
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
    """A share of the users is held out: last interactions are truth, earlier ones history.

    Measures the performance for users without training data, given their history, known as strong
    generalisation (Liang et al. 2018). Users are selected by a hash of seed and id, so that no user
    changes sides when the data grow.

    Pros: evaluates a model that serves new users as it is used. Cons: only for models that take a
    history as input, and train has interactions that are later than the truth (Ji et al. 2023).

    Attributes
    ----------
    share : float
        Probability of each user to be held out; the actual share is approximate.
    last : int
        Number of each held-out user's interactions in the truth.
    seed : int
        Seed of the hash.
    """

    name: ClassVar = "users"
    empty_fix: ClassVar = "choose another share"
    share: float
    last: int = 1
    seed: int = 0

    def select_held_out(self, connection: "DuckDBPyConnection") -> str:
        """Return the SQL condition of held-out users."""
        return _select_by_hash(connection, "user", self.share, self.seed)

    def cut(self, connection: "DuckDBPyConnection") -> Cut:
        """Return the cut before each held-out user's last interactions."""
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
    """All interactions of a share of the items are the truth, all others are train.

    Measures the recommendation of items without interactions, by their features (Schein et al.
    2002). Items are selected by a hash of seed and id, or by the latest first interaction.

    Pros: warm items cannot compensate for cold ones. Cons: items that are selected by hash are not
    new, and train has interactions that are later than the truth (Ji et al. 2023); the newest items
    are those that are cold in production. Models that only know item ids cannot be evaluated.

    Attributes
    ----------
    share : float
        Probability of each item by hash; with `newest`, the share of the items, rounded up.
    newest : bool
        True to select the items with the latest first interaction instead of by hash.
    seed : int or None
        Seed of the hash; None with `newest`.
    """

    name: ClassVar = "cold-items"
    empty_fix: ClassVar = "choose another share"
    share: float
    newest: bool = False
    seed: int | None = 0

    def select_held_out(self, connection: "DuckDBPyConnection") -> str:
        """Return the SQL condition of cold items."""
        if self.seed is None:
            return _select_newest(connection, self.share)
        return _select_by_hash(connection, "item", self.share, self.seed)

    def cut(self, connection: "DuckDBPyConnection") -> Cut:
        """Return the cut between cold and warm items."""
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
    """A split method with the options of all methods.

    Attributes
    ----------
    method : SplitMethod
        Method with its options.
    repeats : {'keep', 'first'}
        Whether to keep repeated interactions of a user with an item, or only the first.
    time_texts : dict of str to str
        Text of each option that is a date or duration.
    """

    method: SplitMethod
    repeats: str
    time_texts: Mapping[str, str]

    def check_unit(self, latest: float) -> None:
        """Raise an InputError if dates are used, but times are not in seconds since 1970."""
        if self.time_texts and not is_in_seconds(latest):
            problem = f"requires times in seconds since 1970, but the latest time is {latest:,.15g}"
            fix = "write a number in the unit of the times"
            raise_problems(
                Problem(name, f"{text!r} {problem}", fix) for name, text in self.time_texts.items()
            )


def item_order(connection: "DuckDBPyConnection", table: str, direction: str = "") -> str:
    """Return the ORDER BY terms of items: by length of the id, then by its characters.

    For ids that are non-negative integers, this is their numerical order.
    """
    (kind,) = only_row(connection, f"SELECT any_value(typeof(item)) FROM {table}")
    if kind == "BIGINT" and only_row(connection, f"SELECT min(item) >= 0 FROM {table}")[0]:
        return f"item {direction}"
    text = "item::VARCHAR"
    return f"strlen({text}) {direction}, {text} {direction}"


def _is_last(last: int) -> str:
    """Return the SQL condition of users' last rows, for users with more rows than these."""
    return f"rank_from_last <= {last} AND n_of_user > {last}"


def _last_counts(
    connection: "DuckDBPyConnection", last: int, users: str = "TRUE"
) -> dict[str, float]:
    """Count users with equal times on both sides of the cut, and users with too few rows."""
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
    """Return the latest time with at least this share of the rows from it."""
    (rows,) = only_row(connection, "SELECT count(*) FROM interactions")
    n_before = rows - ceil(Fraction(repr(share)) * rows)
    query = f"SELECT time FROM interactions ORDER BY time LIMIT 1 OFFSET {n_before}"
    return float(only_row(connection, query)[0])


def _select_by_hash(connection: "DuckDBPyConnection", column: str, share: float, seed: int) -> str:
    """Select ids by the first digits of the SHA-256 of `seed:id`; return their SQL condition."""
    bound = ceil(Fraction(repr(share)) * 16**_HASH_DIGITS)
    digits = f"sha256('{seed}:' || {column}::VARCHAR)[:{_HASH_DIGITS}]"
    connection.execute(
        f"""CREATE TABLE held_out AS SELECT {column} FROM (SELECT DISTINCT {column} FROM source)
        WHERE {digits} < '{bound:0{_HASH_DIGITS}x}'"""
    )
    return f"{column} IN (SELECT {column} FROM held_out)"


def _held_out_counts(connection: "DuckDBPyConnection", column: str) -> dict[str, float]:
    """Count the held-out users or items, and all of them."""
    distinct = f"count(DISTINCT {column})"
    query = f"SELECT {distinct} FILTER (held_out), {distinct} FROM interactions"
    n_held_out, n_ids = only_row(connection, query)
    return {f"held_out_{column}s": n_held_out, f"{column}s": n_ids}


def _select_newest(connection: "DuckDBPyConnection", share: float) -> str:
    """Select the items with the latest first interaction; return their SQL condition."""
    (items,) = only_row(connection, "SELECT count(DISTINCT item) FROM source")
    connection.execute(
        f"""CREATE TABLE held_out AS SELECT item
        FROM (SELECT item, min(time) AS time FROM source GROUP BY item)
        ORDER BY time DESC, {item_order(connection, "source", "DESC")}
        LIMIT {ceil(Fraction(repr(share)) * items)}"""
    )
    return "item IN (SELECT item FROM held_out)"


def _tied_items(connection: "DuckDBPyConnection") -> dict[str, float]:
    """Count items of train whose first interaction is as late as the truth's earliest one."""
    (tied,) = only_row(
        connection,
        """WITH firsts AS
            (SELECT held_out, min(time) AS time FROM interactions GROUP BY item, held_out)
            SELECT count(*) FROM firsts
            WHERE NOT held_out AND time = (SELECT min(time) FROM firsts WHERE held_out)""",
    )
    return {"items_tied_at_the_cut": tied}
