"""Conventions that belong to the data: no preset sets them, and files omit them unless set."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from concord.metrics_core.conventions.convention import Convention, Key
from concord.metrics_core.errors import Problem

if TYPE_CHECKING:
    import pyarrow as pa

MAX_NEGATIVES = 2_000
MAX_CATALOGUE = 10_000_000

# Metrics that sum over hits, with the conventions that inverse propensity weights need.
WEIGHTED_METRICS: Mapping[str, Mapping[str, set[str]]] = {
    "P": {"precision_denominator": {"k", "len"}, "precision_aggregate": {"macro"}},
    "R": {"recall_denominator": {"relevant"}},
    "Hit": {"hit_kind": {"count"}},
    "CG": {},
    "DCG": {},
    "nDCG": {"ideal": {"truth_at_k", "truth"}},
    "RBP": {},
}

# Metrics that are corrected for sampled candidates.
CORRECTED_METRICS = (
    *("P", "R", "F1", "Hit", "AP", "RR", "CG", "DCG", "nDCG"),
    *("Rprec", "RBP", "ERR", "nERR", "Q", "O"),
)

_PAIRS = re.compile("pairs( [0-9a-f]{12})?")  # with their hash once they are read


class ExcludedPairs(str):  # so that results store and compare it as text
    """Pairs of user and item that do not count, as the value of `exclude`; its text is their hash.

    Attributes
    ----------
    pairs : pyarrow.Table
        excluded_user, excluded_item: ids as text.

    Examples
    --------
    >>> import concord as cc
    >>> excluded = cc.data.excluded_pairs({"q1": ["d1", "d2"]})
    >>> str(excluded), excluded.pairs.num_rows
    ('pairs 417662abdce5', 2)
    """

    pairs: "pa.Table"

    def __new__(cls, text: str, pairs: "pa.Table") -> Self:
        """Return the text, which carries the pairs."""
        value = super().__new__(cls, text)
        value.pairs = pairs
        return value

    def __getnewargs__(self) -> tuple[str, "pa.Table"]:  # type: ignore[override]
        return str(self), self.pairs

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def _candidates_problem(value: Mapping[str, Any]) -> Problem | None:
    negatives, catalogue = value["negatives"], value["catalogue"]
    if isinstance(catalogue, str) or negatives < catalogue:
        return None
    message = f"{negatives:,} are not less than the {catalogue:,} items of the catalogue"
    location = ("conventions", "candidates", "negatives")
    return Problem(location, message, "name how many items were ranked in all")


_PROPENSITY = (
    "{popularity: exponent, clip: p, fewest: n} | {column: items, clip: p, fewest: n} | "
    "{column: truth, …}; each [, normalised: per_user | over_all]"
)


def _propensity_problem(value: Mapping[str, Any]) -> Problem | None:
    if ("popularity" in value) != ("column" in value):
        return None
    message = "needs exactly one of popularity and column"
    return Problem(("conventions", "propensity"), message, f"write {_PROPENSITY}")


DATA_CONVENTIONS: tuple[Convention, ...] = (
    Convention(
        "unit_mean",
        "What means are taken over if a user has several lists, one for each request or session.",
        values={
            "requests": "all requests count equally",
            "users": "all users count equally: the mean of each user's mean",
        },
        metrics="users",
        describes_data=True,
    ),
    Convention(
        "candidates",
        "How the items were drawn that are ranked with the relevant one: "
        "values are corrected for it.",
        form="{negatives: 100, catalogue: 26744, sampling: uniform}",
        keys={
            "negatives": Key(
                f"how many items are ranked with the relevant one, from 1 to {MAX_NEGATIVES:,}",
                {"type": "integer", "minimum": 1, "maximum": MAX_NEGATIVES},
                is_required=True,
            ),
            "catalogue": Key(
                f"how many items a full ranking holds, from 2 to {MAX_CATALOGUE:,}, or the table "
                "to count them in: items or train",
                {"type": "integer", "minimum": 2, "maximum": MAX_CATALOGUE},
                {"items": "the items of the catalogue", "train": "the items of the training set"},
                is_required=True,
            ),
            "sampling": Key(
                "uniform: other draws have no correction",
                words={"uniform": "all sets of a user's negatives are equally likely"},
                is_required=True,
            ),
        },
        check=_candidates_problem,
        metrics=CORRECTED_METRICS,
        describes_data=True,
    ),
    Convention(
        "propensity",
        "The probability that each relevant item was observed; the item counts by its inverse.",
        form=_PROPENSITY,
        keys={
            "popularity": Key(
                "an exponent above 0, up to 3, such as 0.5",
                {"type": "number", "exclusiveMinimum": 0, "maximum": 3},
            ),
            "column": Key(
                "items or truth, the table with the column `propensity`",
                words={
                    "items": "propensities are in the catalogue",
                    "truth": "propensities are in the ground truth",
                },
            ),
            "clip": Key(
                "a propensity in (0, 1], such as 0.01; smaller ones count as this",
                {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
                is_required=True,
            ),
            "fewest": Key(
                "the least effective number of relevant rows, from 1 on, such as 30",
                {"type": "number", "minimum": 1},
                is_required=True,
            ),
            "normalised": Key(
                "per_user or over_all, or leave it out",
                words={
                    "per_user": "each user's sum is divided by the weights of the user's relevant "
                    "items; users count equally",
                    "over_all": "the sum over all users is divided by the weights of all relevant "
                    "items: one ratio",
                },
            ),
        },
        check=_propensity_problem,
        metrics=tuple(WEIGHTED_METRICS),
        describes_data=True,
    ),
    Convention(
        "fairness_target",
        "Which share of the attention a group of items should have.",
        values={
            "catalogue": "the group's share of the items of the catalogue",
            "relevant": "its share of the user's relevant items that the catalogue has",
            "uniform": "the same for every group; 0 for items without one",
        },
        describes_data=True,
    ),
    Convention(
        "exclude",
        "Which items count neither in lists nor in the ground truth of a user; the ranks of a list "
        "close up.",
        values={"same_id": "the item with the id of the user: in search, the query itself"},
        accepts=lambda value: isinstance(value, str) and bool(_PAIRS.fullmatch(value)),
        form="concord.data.excluded_pairs(table)",
        metrics="every",
        sets_ranking=True,
        describes_data=True,
    ),
)
