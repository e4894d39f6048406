"""The top k of each user's list, and how far two models, or two users, share them."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
import polars as pl

from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.data.tables import scan, schema_of
from concord.metrics_core.evaluation.list_overlap import (
    SharedItems,
    jaccard,
    rank_biased_overlap,
)
from concord.metrics_core.evaluation.model_result import ModelResult, Models
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.results.behaviour import Overlap
from concord.metrics_core.results.comparison_parts import DataWarning
from concord.metrics_core.stats.floating_point import exact_mean

MAX_USERS = 10_000  # whose lists are compared: more change the third digit
P = 0.9  # persistence of rank-biased overlap
_SAME_SHARE = 0.99  # of the users: a model has the lists of the baseline
_ONE_LIST_SHARE, _MIN_USERS = 0.95, 11  # of the users: a model has one list for everybody


def mixed_ids(models: Models) -> list[str]:
    """Return the id columns that are text in some lists and integers in others."""
    schemas = [schema_of(result.lists) for result in models.values()]
    return [name for name in ("user", "item") if len({schema[name] for schema in schemas}) > 1]


def top_list(result: ModelResult, k: int | None, as_text: Sequence[str] = ()) -> pl.LazyFrame:
    """Return user, item and position of the first k ranks of each list.

    Lists are those of the first ranking, and of the first replicate. An item is in a list once, at
    its first rank; later items move up.

    Parameters
    ----------
    as_text : sequence of str
        Id columns that are compared as text.
    """
    lists = scan(result.lists)
    if "ranking" in schema_of(result.lists):
        lists = lists.filter(pl.col("ranking") == 0)
    if k is not None:
        lists = lists.filter(pl.col("rank") <= k)
    lists = lists.select("user", "item", position=pl.col("rank").cast(pl.Int64))
    rows = lists.with_columns(pl.col(as_text).cast(pl.String))
    if not result.quality.get("duplicates", {}).get("rows"):
        return rows
    rows = rows.drop_nulls("item").unique(["user", "item"], keep="first", maintain_order=True)
    return rows.with_columns(position=pl.int_range(1, pl.len() + 1).over("user"))


def shared_items(a: pl.DataFrame, b: pl.DataFrame) -> tuple[pl.DataFrame, SharedItems]:
    """Return the users with a list of both, and the items that their lists share.

    Users have the columns user (text, sorted), and same: True if both lists are the same.
    """
    lengths = [each.group_by("user").agg(n=pl.len().cast(pl.Int64)) for each in (a, b)]
    users = lengths[0].join(lengths[1], on="user").with_columns(id=pl.col("user").cast(pl.String))
    users = users.sort("id").with_columns(number=pl.int_range(pl.len()))
    rows = a.join(b, on=["user", "item"]).join(users, on="user")
    depth = pl.max_horizontal("position", "position_right").alias("depth")
    is_same = pl.col("position") == pl.col("position_right")
    rows = rows.select("number", depth, is_same.alias("same")).sort("number", "depth")
    number, depths, same = (rows[name].to_numpy() for name in rows.columns)
    lists = SharedItems(users["n"].to_numpy(), users["n_right"].to_numpy(), number, depths)
    n_same = np.bincount(number[same], minlength=len(users))
    same_list = (n_same == lists.length_a) & (n_same == lists.length_b)
    return pl.DataFrame({"user": users["id"], "same": same_list}), lists


def compare_lists(inputs: ComparisonInput) -> tuple[list[Overlap], list[DataWarning]]:
    """Return the overlap of each other model with the baseline, and notices on lists.

    They are about the top k at the largest cutoff, or about whole lists if there is no cutoff; of
    at most `MAX_USERS` users of the baseline, evenly chosen in the order of their ids.
    """
    baseline, k = inputs.config.baseline, max(inputs.config.ks, default=None)
    as_text = mixed_ids(inputs.models)
    tops = {model: top_list(result, k, as_text) for model, result in inputs.models.items()}
    of_chosen, n_listed = choose_users(tops[baseline])
    reference, digests, overlaps = tops[baseline].filter(of_chosen).collect(), {}, []
    for model, lists in tops.items():
        top = reference if model == baseline else lists.filter(of_chosen).collect()
        digests[model] = _digests(top)
        if model != baseline:
            users, shared = shared_items(top, reference)
            rbo, same = rank_biased_overlap(shared, P), users["same"].to_numpy()
            means = _mean(jaccard(shared)), _mean(rbo), _mean(same)
            overlaps.append(Overlap(model, k, *means, n_users=len(users), n_listed=n_listed))
    shares = {each.model: each.same or 0.0 for each in overlaps}
    return overlaps, [*_list_warnings(inputs, digests, shares)]


def choose_users(lists: pl.LazyFrame) -> tuple[pl.Expr, int]:
    """Return where the user is one of at most `MAX_USERS`, and the number of all users."""
    listed = lists.select(pl.col("user").unique()).collect()["user"]
    listed = listed.gather(listed.cast(pl.String).arg_sort())
    chosen = listed.gather_every(-(-max(len(listed), 1) // MAX_USERS))
    return pl.col("user").is_in(chosen.implode()), len(listed)


def _mean(values: Floats) -> float | None:
    return exact_mean(values.astype(np.float64)) if len(values) else None


def _digests(top: pl.DataFrame) -> pl.DataFrame:
    """Return each user with a hash of the list, sorted by user."""
    place = pl.col("item").hash() * (2 * pl.col("position") + 1).cast(pl.UInt64)
    return top.group_by("user").agg(digest=place.sum()).sort("user")


def _list_warnings(
    inputs: ComparisonInput, digests: Mapping[str, pl.DataFrame], same: Mapping[str, float]
) -> Iterator[DataWarning]:
    """Yield notices on one list for all users, and on models with the same lists.

    Two models have the same lists if all are, or if nearly all are and one is the baseline. Copies
    of one file have a warning of their own.
    """
    k = max(inputs.config.ks, default=None)
    for model, lists in digests.items():
        n_users, counts = len(lists), lists.group_by("digest").len()["len"].to_list()
        if n_users >= _MIN_USERS and max(counts) >= _ONE_LIST_SHARE * n_users:
            details = {"share": max(counts) / n_users, "n_users": n_users, "k": k}
            yield DataWarning("one_list", "notice", (model,), details)
    files = {model: result.quality.get("sha256") for model, result in inputs.models.items()}
    for a, b in combinations(digests, 2):
        share = same.get({a: b, b: a}.get(inputs.config.baseline, ""), 0.0)
        share = 1.0 if digests[a].equals(digests[b]) else share
        if share >= _SAME_SHARE and (files[a] is None or files[a] != files[b]):
            yield DataWarning("same_lists", "notice", (a, b), {"share": share, "k": k})
