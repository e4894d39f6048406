"""What a metric saw of a user, in short: the ranks of the hits, and the last line of the derivation."""

import polars as pl
import pyarrow as pa

from concord.metrics_core.checking.locked import in_memory
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.explaining.derivation import One, alone, one_of, steps
from concord.metrics_core.metrics.catalogue import Label
from concord.metrics_core.scoring.judge import judge

MOST_RANKS = 10


def reasons(
    lists: pl.DataFrame,
    truth: pl.DataFrame,
    label: Label,
    pinned: Conventions,
    shelf: pa.Table | None,
) -> dict[str, str]:
    """User, as text -> how the value of a label came about; empty for labels that read more than lists and truth.

    shelf : propensities of items, where the conventions have some
    """
    if label.metric.family == "beyond":
        return {}
    own = label.conventions(pinned)
    if "ranking" in lists.columns:
        lists = lists.filter(pl.col("ranking") == label.ranking_number(pinned)).drop("ranking")
    with in_memory() as connection:
        connection.register("lists", lists.to_arrow())
        connection.register("truth", truth.to_arrow())
        connection.register("known", truth.select("user").to_arrow())
        judged = judge(
            connection,
            only_known=False,
            ranking=own.ranking,
            shelf=shelf,
            propensity=own.propensity,
        )
    return {
        str(user): _reason(one_of(alone(judged, number), label, own))
        for number, user in enumerate(judged.users.tolist())
    }


def _reason(one: One) -> str:
    how = steps(one)
    if one.policy:
        return one.policy
    return "; ".join([_hits(one), *how.lines[-1:]])


def _hits(one: One) -> str:
    if not one.ranks:
        return "no hit" if one.k is None else f"no hit in the top {one.k}"
    shown = ", ".join(map(str, one.ranks[:MOST_RANKS]))
    more = f" and {len(one.ranks) - MOST_RANKS} more" if len(one.ranks) > MOST_RANKS else ""
    return f"hit{'s' * (len(one.ranks) > 1)} at {shown}{more}"
