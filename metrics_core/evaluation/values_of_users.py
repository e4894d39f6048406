"""Values of another tool next to lists: joined with the evaluated users, and their summary."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from concord.metrics_core.data.value_files import USER
from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.model_result import summarise_values
from concord.metrics_core.metrics.label import Label

_ID = "#user as text"


def join_values(users: pl.DataFrame, values: pl.DataFrame) -> pl.DataFrame:
    """Return the users' rows with their values, NaN without one; ids are compared as text."""
    names = [name for name in values.columns if name != USER]
    by_id = values.rename({USER: _ID})
    joined = users.with_columns(pl.col(USER).cast(pl.String).alias(_ID)).join(
        by_id, on=_ID, how="left", maintain_order="left"
    )
    return joined.drop(_ID).with_columns(pl.col(names).fill_null(np.nan))


def summarise_joined(
    users: pl.DataFrame,
    values: pl.DataFrame,
    labels: Sequence[Label],
    *,
    confidence: float,
    location: str,
) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the summary of each label by its name, and counts of users.

    Parameters
    ----------
    users : DataFrame
        The evaluated users with their values, as `join_values` returns them.
    values : DataFrame
        All values.
    location : str
        Name of the values in messages.

    Returns
    -------
    (dict, dict)
        Summaries; `missing` evaluated users without a value of a metric, and `not_evaluated` users
        of the values.

    Raises
    ------
    InputError
        No evaluated user has a value.
    """
    ids = users[USER].cast(pl.String)
    n_common = int(values[USER].is_in(ids.implode()).sum())
    if not n_common:
        problem = (
            f"has no evaluated user: its first is {values[USER][0]!r}, and {ids[0]!r} is evaluated"
        )
        raise refuse(location, problem, "use the ids of the ground truth")
    lacks = pl.any_horizontal(pl.col(list(map(str, labels))).is_nan())
    counts = {"missing": users.filter(lacks).height, "not_evaluated": values.height - n_common}
    return summarise_values(users, labels, confidence=confidence)["metrics"], counts
