"""Cases: the users and items behind a difference of two lists, as reports, the command line and frames show them.

None stands for a number that does not exist; ids are text.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from concord.metrics_core.comparison.rendering import rendered
from concord.metrics_core.comparison.tables import frame_of, schema_of

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Seen:
    """What one metric saw of a user: its value with both lists, and in short how each came about."""

    label: str
    value_a: float | None
    value_b: float | None
    reason_a: str
    reason_b: str


@dataclass(frozen=True)
class JudgedItem:
    """An item that the truth knows of a user; its rank in each list, None where the list lacks it.

    relevant : does its grade reach the threshold of the metric that the cases are sorted by?
    below    : of the metrics shown, those whose threshold it does not reach
    """

    item: str
    title: str | None
    grade: float
    relevant: bool
    below: tuple[str, ...]
    rank_a: int | None
    rank_b: int | None


@dataclass(frozen=True)
class ListedItem:
    """An item of a list, from rank 1; `grade` is None where the truth does not know it."""

    rank: int
    item: str
    title: str | None
    grade: float | None
    relevant: bool


@dataclass(frozen=True)
class Case:
    """A user with the values, lists and wanted items of both.

    difference   : a minus b on the metric that the cases are sorted by
    n_train      : interactions in the train; None without a train
    segments     : segmentation -> the user's group
    seen         : one a metric shown
    judged       : what the truth knows of the user, best grade first
    list_a, b    : down to the cutoff
    jaccard, rbo : how alike the two lists are
    """

    user: str
    difference: float
    n_train: int | None
    segments: Mapping[str, str]
    seen: tuple[Seen, ...]
    judged: tuple[JudgedItem, ...]
    list_a: tuple[ListedItem, ...]
    list_b: tuple[ListedItem, ...]
    jaccard: float | None
    rbo: float | None


@dataclass(frozen=True)
class ItemCase:
    """An item with its recall and exposure at the cutoff.

    n_wanted : users to whom it is relevant
    found_a  : of these, those whose list by a holds it: recall_a = found_a / n_wanted
    shown_a  : users whose list by a holds it: exposure_a = shown_a / users
    """

    item: str
    title: str | None
    n_wanted: int
    found_a: int
    found_b: int
    recall_a: float | None
    recall_b: float | None
    shown_a: int
    shown_b: int
    exposure_a: float
    exposure_b: float


@dataclass(frozen=True, repr=False)
class Cases:
    """The cases behind the difference of a and b, those first where a is furthest behind.

    a, b         : names of lists; `model_a`, `model_b`: the models that they are of, which are others where a model
                   was trained several times
    labels       : the metrics shown; users are sorted by the first, of which `higher_is_better`
    thresholds   : metric -> the lowest grade that it counts as relevant; None: any, or it asks for no relevance
    k            : the cutoff of the lists shown, of overlap, recall and exposure; None: whole lists
    p            : of rank-biased overlap
    segment      : the group that was asked for, as `channel=app`; `item`: the item; None: all
    who          : `users`, or `requests` where values are of these
    n_users      : users of that group or item who have a value with both; of these, `n_behind` have a worse one with
                   a, `n_ahead` a better one
    jaccard, rbo : means over the users who have a list by a or b
    both_sides   : users where a is furthest ahead follow; only the lists of the cases were read, so that there are neither
                   items nor mean overlap
    """

    title: str
    a: str
    b: str
    model_a: str
    model_b: str
    labels: tuple[str, ...]
    higher_is_better: bool
    thresholds: Mapping[str, float | None]
    k: int | None
    p: float
    segment: str | None
    item: str | None
    who: str
    n_users: int
    n_behind: int
    n_ahead: int
    jaccard: float | None
    rbo: float | None
    cases: tuple[Case, ...]
    item_cases: tuple[ItemCase, ...]
    both_sides: bool = False

    @property
    def one(self) -> str:
        """`user` or `request`."""
        return self.who.removesuffix("s")

    @property
    def jaccard_name(self) -> str:
        """`Jaccard@10`."""
        return f"Jaccard{self._at_k}"

    @property
    def rbo_name(self) -> str:
        """`RBO(p=0.9)@10`."""
        return f"RBO(p={self.p:g}){self._at_k}"

    @property
    def _at_k(self) -> str:
        return "" if self.k is None else f"@{self.k}"

    @cached_property
    def segmentations(self) -> dict[str, list[str]]:
        """Segmentation -> the groups that occur among the cases."""
        found: dict[str, set[str]] = {}
        for case in self.cases:
            for name, group in case.segments.items():
                found.setdefault(name, set()).add(group)
        return {name: sorted(groups) for name, groups in found.items()}

    @property
    def users(self) -> "pl.DataFrame":
        """One row a user: difference, overlap of the lists, interactions in train, a column a segmentation."""
        import polars as pl

        overlap = {self.jaccard_name: pl.Float64, self.rbo_name: pl.Float64}
        groups = dict.fromkeys(self.segmentations, pl.String)
        schema = {"user": pl.String, "difference": pl.Float64, **overlap, "n_train": pl.Int64, **groups}  # fmt: skip
        rows = [
            (c.user, c.difference, c.jaccard, c.rbo, c.n_train, *(c.segments[g] for g in groups))
            for c in self.cases
        ]
        return pl.DataFrame(rows, schema=schema, orient="row")

    @property
    def values(self) -> "pl.DataFrame":
        """One row a user and metric: user, then the fields of `Seen`."""
        rows = ({"user": case.user, **vars(seen)} for case in self.cases for seen in case.seen)
        return _framed(rows, Seen, "user")

    @property
    def judged(self) -> "pl.DataFrame":
        """One row a user and item of the truth: user, then the fields of `JudgedItem`; `below` as one text."""
        rows = (
            {"user": case.user, **vars(each), "below": ", ".join(each.below)}
            for case in self.cases
            for each in case.judged
        )
        return _framed(rows, JudgedItem, "user")

    @property
    def lists(self) -> "pl.DataFrame":
        """One row a user, list and rank: user, list, then the fields of `ListedItem`."""
        rows = (
            {"user": case.user, "list": name, **vars(each)}
            for case in self.cases
            for name, items in ((self.a, case.list_a), (self.b, case.list_b))
            for each in items
        )
        return _framed(rows, ListedItem, "user", "list")

    @property
    def items(self) -> "pl.DataFrame":
        """One row an item, columns as the fields of `ItemCase`."""
        return frame_of(ItemCase, self.item_cases)

    def to_html(self, path: str | Path | None = None) -> str:
        """The cases as one HTML page that needs no network; written to `path`, if one is given."""
        page = rendered(self, "cases")
        if path is not None:
            Path(path).write_text(page, encoding="utf-8", newline="\n")
        return page

    def __repr__(self) -> str:
        return (
            f"<{len(self.cases)} cases of {self.a} against {self.b}: of {self.n_users:,} {self.who} {self.n_behind:,} have "
            f"a worse {self.labels[0]} with {self.a}, {self.n_ahead:,} with {self.b}>"
        )


def _framed(rows: Iterable[Mapping[str, Any]], kind: type[Any], *before: str) -> "pl.DataFrame":
    """Rows with the fields of a part, and columns of text before them."""
    import polars as pl

    own = schema_of(kind)  # type: ignore[arg-type] # a class can be hashed
    return pl.DataFrame(list(rows), schema={**dict.fromkeys(before, pl.String), **own})
