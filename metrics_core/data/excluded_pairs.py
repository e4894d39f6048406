"""Pairs of user and item that do not count: values of the convention `exclude`."""

from collections.abc import Mapping
from typing import Any

from concord.metrics_core.conventions.data_conventions import ExcludedPairs
from concord.metrics_core.data.arguments import open_table
from concord.metrics_core.data.relations import registered_only
from concord.metrics_core.data.side_data import read_excluded_pairs


def excluded_pairs(
    pairs: Any, *, columns: Mapping[str, Mapping[str, str]] | None = None
) -> ExcludedPairs:
    """Return the value of the convention `exclude` that leaves out pairs of user and item.

    The items count neither in lists nor in the ground truth of their user; the ranks of a list
    close up. The text of the value has the first digits of a hash of the pairs, so the fingerprint
    of conventions tells sets of pairs apart.

    Parameters
    ----------
    pairs : table, path or dict
        Columns user and item, or {user: items}. Ids are compared as text, and extra users and items
        have no effect.
    columns : dict, optional
        Names in the table: {"pairs": {"user": "query_id", "item": "doc_id"}}.

    Returns
    -------
    ExcludedPairs
        A text such as "pairs 4f8a01c2d3e4", which holds the pairs.

    Raises
    ------
    InputError
        If the table cannot be read, or an id is missing.

    Examples
    --------
    >>> import concord as cc
    >>> pairs = cc.excluded_pairs({"q1": ["d1"]})
    >>> conventions = cc.preset("standard", exclude=pairs)
    >>> run, qrels = {"q1": {"d1": 2.0, "d2": 1.0}}, {"q1": {"d2": 1}}
    >>> cc.evaluate(run, qrels, metrics=["RR@10"], conventions=conventions)["RR@10"]
    1.0
    """
    with registered_only() as connection:
        return read_excluded_pairs(
            connection, open_table("pairs", pairs, columns or {}, role="train")
        )
