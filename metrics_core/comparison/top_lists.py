"""The top k of each user's list, and how far two models, or two users, share them."""

from collections.abc import Iterator, Mapping
from itertools import combinations

import polars as pl

from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.data.tables import scan, schema_of
from concord.metrics_core.evaluation.list_overlap import (
    SharedItems,
    jaccard,
    rank_biased_overlap,
)
from concord.metrics_core.evaluation.model_result import ModelResult
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.results.behaviour import Overlap
from concord.metrics_core.results.comparison_parts import DataWarning
from concord.metrics_core.stats.floating_point import exact_mean

P = 0.9  # persistence of rank-biased overlap
_SAME_SHARE = 0.99  # of the users: a model has the lists of the baseline
_ONE_LIST_SHARE, _MIN_USERS = 0.95, 11  # of the users: a model has one list for everybody


def top_list(result: ModelResult, k: int | None) -> pl.DataFrame:
    """Return user and item as text, and position, of the first k ranks of each list.

    Lists are those of the first ranking, and of the first replicate. An item is in a list once, at
    its first rank; later items move up.
    """
    lists = scan(result.lists).filter(pl.col("item").is_not_null())
    if "ranking" in schema_of(result.lists):
        lists = lists.filter(pl.col("ranking") == 0)
    if k is not None:
        lists = lists.filter(pl.col("rank") <= k)
    columns = lists.select(pl.col("user", "item").cast(pl.String), "rank").collect()
    rows = columns.unique(["user", "item"], keep="first", maintain_order=True)
    return rows.with_columns(position=pl.int_range(1, pl.len() + 1).over("user"))


def shared_items(a: pl.DataFrame, b: pl.DataFrame) -> tuple[pl.Series, SharedItems]:
    """Return the users with a list of both, by id, and the items that their lists share."""
    lengths = [each.group_by("user").agg(n=pl.len()) for each in (a, b)]
    users = lengths[0].join(lengths[1], on="user").sort("user").with_row_index("number")
    rows = a.join(b, on=["user", "item"]).join(users, on="user")
    depth = pl.max_horizontal("position", "position_right").alias("depth")
    rows = rows.select("number", depth).sort("number", "depth").cast(pl.Int64)
    length_a, length_b = (users[name].cast(pl.Int64).to_numpy() for name in ("n", "n_right"))
    number, depth_of = (rows[name].to_numpy() for name in ("number", "depth"))
    return users["user"], SharedItems(length_a, length_b, number, depth_of)


def compare_lists(inputs: ComparisonInput) -> tuple[list[Overlap], list[DataWarning]]:
    """Return the overlap of each other model with the baseline, and notices on lists.

    They are about the top k at the largest cutoff, or about whole lists if there is no cutoff.
    """
    k = max(inputs.config.ks, default=None)
    tops = {model: top_list(result, k) for model, result in inputs.models.items()}
    texts = {model: _as_text(top) for model, top in tops.items()}
    baseline = inputs.config.baseline
    overlaps = []
    for model in [model for model in tops if model != baseline]:
        users, shared = shared_items(tops[model], tops[baseline])
        both = texts[model].join(texts[baseline], on="user")
        is_same = (both["items"] == both["items_right"]).cast(pl.Float64).to_numpy()
        values = jaccard(shared), rank_biased_overlap(shared, P), is_same
        mean_jaccard, rbo, same = map(_mean, values)
        n_listed = len(texts[model]) + len(texts[baseline]) - len(users)
        overlaps.append(Overlap(model, k, mean_jaccard, rbo, same, len(users), n_listed))
    shares = {each.model: each.same or 0.0 for each in overlaps}
    return overlaps, [*_list_warnings(inputs, texts, shares)]


def _mean(values: Floats) -> float | None:
    return exact_mean(values) if len(values) else None


def _as_text(top: pl.DataFrame) -> pl.DataFrame:
    """Return each user with the items of the list as one text, sorted by user."""
    lengths = pl.col("item").str.len_chars().cast(pl.String)
    item = pl.concat_str(lengths, pl.lit(":"), "item")
    return top.group_by("user").agg(items=item.str.join()).sort("user")


def _list_warnings(
    inputs: ComparisonInput, texts: Mapping[str, pl.DataFrame], same: Mapping[str, float]
) -> Iterator[DataWarning]:
    """Yield notices on one list for all users, and on models with the same lists.

    Two models have the same lists if all are, or if nearly all are and one is the baseline. Copies
    of one file have a warning of their own.
    """
    k = max(inputs.config.ks, default=None)
    for model, lists in texts.items():
        n_users, counts = len(lists), lists.group_by("items").len()["len"].to_list()
        if n_users >= _MIN_USERS and max(counts) >= _ONE_LIST_SHARE * n_users:
            details = {"share": max(counts) / n_users, "n_users": n_users, "k": k}
            yield DataWarning("one_list", "notice", (model,), details)
    files = {model: result.quality.get("sha256") for model, result in inputs.models.items()}
    for a, b in combinations(texts, 2):
        share = same.get({a: b, b: a}.get(inputs.config.baseline, ""), 0.0)
        share = 1.0 if texts[a].equals(texts[b]) else share
        if share >= _SAME_SHARE and (files[a] is None or files[a] != files[b]):
            yield DataWarning("same_lists", "notice", (a, b), {"share": share, "k": k})
