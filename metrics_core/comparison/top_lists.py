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
from concord.metrics_core.evaluation.model_result import ModelResult, Models
from concord.metrics_core.results.behaviour import Overlap
from concord.metrics_core.results.comparison_parts import DataWarning
from concord.metrics_core.stats.floating_point import exact_mean

MAX_USERS = 10_000  # whose lists are compared: more change the third digit
P = 0.9  # persistence of rank-biased overlap: the top 10 has 86 % of the weight
_SAME_SHARE = 0.99  # of the users: two models have the same lists
_ONE_LIST_SHARE, _MIN_USERS = 0.95, 11  # of the users: a model has one list for everybody


def top_lists(models: Models, k: int | None) -> dict[str, pl.LazyFrame]:
    """Return model -> user, item and position of the first k ranks of each list.

    Ids that are text in some lists and integers in others are text.
    """
    schemas = [schema_of(result.lists) for result in models.values()]
    mixed = [name for name in ("user", "item") if len({schema[name] for schema in schemas}) > 1]
    as_text = pl.col(mixed).cast(pl.String)
    return {model: _top_list(result, k).with_columns(as_text) for model, result in models.items()}


def _top_list(result: ModelResult, k: int | None) -> pl.LazyFrame:
    """Return the lists of the first ranking, and of the first replicate.

    An item is in a list once, at its first rank; later items move up.
    """
    lists = scan(result.lists)
    if "ranking" in schema_of(result.lists):
        lists = lists.filter(pl.col("ranking") == 0)
    if k is not None:
        lists = lists.filter(pl.col("rank") <= k)
    rows = lists.select("user", "item", position=pl.col("rank").cast(pl.Int64))
    if not result.quality.get("duplicates", {}).get("rows"):
        return rows
    rows = rows.drop_nulls("item").unique(["user", "item"], keep="first", maintain_order=True)
    return rows.with_columns(position=pl.int_range(1, pl.len() + 1).over("user"))


def choose_users(lists: pl.LazyFrame) -> pl.Expr:
    """Return where the user is one of at most `MAX_USERS`, evenly chosen in the order of ids."""
    listed = lists.select(pl.col("user").unique()).collect()["user"]
    listed = listed.gather(listed.cast(pl.String).arg_sort())
    chosen = listed.gather_every(-(-max(len(listed), 1) // MAX_USERS))
    return pl.col("user").is_in(chosen.implode())


def shared_items(a: pl.DataFrame, b: pl.DataFrame) -> tuple[pl.Series, SharedItems]:
    """Return the users with a list of both, sorted as text, and the items that lists share."""
    lengths = [each.group_by("user").agg(n=pl.len().cast(pl.Int64)) for each in (a, b)]
    users = lengths[0].join(lengths[1], on="user").sort(pl.col("user").cast(pl.String))
    users = users.with_columns(number=pl.int_range(pl.len()))
    rows = a.join(b, on=["user", "item"]).join(users, on="user")
    rows = rows.select("number", depth=pl.max_horizontal("position", "position_right"))
    rows = rows.sort("number", "depth")
    return users["user"].cast(pl.String), SharedItems(
        length_a=users["n"].to_numpy(),
        length_b=users["n_right"].to_numpy(),
        user=rows["number"].to_numpy(),
        depth=rows["depth"].to_numpy(),
    )


def compare_lists(inputs: ComparisonInput) -> tuple[list[Overlap], list[DataWarning]]:
    """Return the overlap of each other model with the baseline, and notices on lists.

    They are about the top k at the largest cutoff, or about whole lists if there is no cutoff; of
    at most `MAX_USERS` users of the baseline.
    """
    baseline, k = inputs.config.baseline, max(inputs.config.ks, default=None)
    tops = top_lists(inputs.models, k)
    is_chosen = choose_users(tops[baseline])
    reference = tops.pop(baseline).filter(is_chosen).collect()
    digests, overlaps = {baseline: _digests(reference, reference)}, []
    for model, lists in tops.items():
        top = lists.filter(is_chosen).collect()
        digests[model] = _digests(reference, top)
        _, shared = shared_items(top, reference)
        values = jaccard(shared), rank_biased_overlap(shared, P)
        mean_jaccard, mean_rbo = (exact_mean(each) if shared.n_users else None for each in values)
        same = _share_of_same(digests[model], digests[baseline])
        overlaps.append(Overlap(model, k, mean_jaccard, mean_rbo, same, n_users=shared.n_users))
    return overlaps, [*_list_warnings(inputs.models, digests, k)]


def _digests(reference: pl.DataFrame, top: pl.DataFrame) -> pl.Series:
    """Return a hash of the list of each user of the baseline; null without a list."""
    place = pl.col("item").hash() * (2 * pl.col("position") + 1).cast(pl.UInt64)
    digests = top.group_by("user").agg(digest=place.sum())
    users = reference.select(pl.col("user").unique(maintain_order=True))
    return users.join(digests, on="user", how="left", maintain_order="left")["digest"]


def _share_of_same(a: pl.Series, b: pl.Series) -> float | None:
    """Return the share of users whose lists are the same, of those with a list of both."""
    same = (a == b).drop_nulls()
    return float(same.to_numpy().mean()) if len(same) else None


def _list_warnings(
    models: Models, digests: Mapping[str, pl.Series], k: int | None
) -> Iterator[DataWarning]:
    """Yield notices on one list for all users, and on models with the same lists.

    Copies of one file have a warning of their own.
    """
    for model in models:
        lists = digests[model].drop_nulls()
        n_users, counts = len(lists), lists.value_counts()["count"].to_list()
        if n_users >= _MIN_USERS and max(counts) >= _ONE_LIST_SHARE * n_users:
            details = {"share": max(counts) / n_users, "n_users": n_users, "k": k}
            yield DataWarning("one_list", "notice", (model,), details)
    files = {model: result.quality.get("sha256") for model, result in models.items()}
    for a, b in combinations(models, 2):
        n_users = max(digests[each].count() for each in (a, b))
        share = int((digests[a] == digests[b]).sum()) / max(n_users, 1)
        if share >= _SAME_SHARE and (files[a] is None or files[a] != files[b]):
            yield DataWarning("same_lists", "notice", (a, b), {"share": share, "k": k})
