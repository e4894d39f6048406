"""Join the ranked lists of a block with the ground truth.

Users are numbered in the order of their ids. Hits are ordered by user and rank, rows of the truth
by user and descending grade, so that neither threads nor the order of the rows change the result.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from concord.metrics_core.conventions.conventions import Ranking
from concord.metrics_core.data.arrow import as_arrow, as_numpy, ascending_codes, codes, positions
from concord.metrics_core.data.list_batches import ListBatch
from concord.metrics_core.errors import format_count
from concord.metrics_core.evaluation.block import Block
from concord.metrics_core.evaluation.task import PROPENSITY, Task
from concord.metrics_core.metrics.judged import Floats, Ints, Judged, SubtopicRows

Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True)
class MatchedRows:
    """The rows of a block's lists and truth, with the numbers of their users.

    Attributes
    ----------
    users : Array
        Ids of the users, ascending.
    lists : ListBatch
        The recommendations.
    list_user, truth_user : (n_rows,) arrays of int
        Number of the user of each row; -1 for a user who is left out.
    hit, hit_truth : (n_hits,) arrays of int
        Index of each recommended item that has a judgement, by user and rank, and of that judgement
        in the truth.
    """

    users: pa.Array
    lists: ListBatch
    list_user: Ints
    truth_user: Ints
    hit: Ints
    hit_truth: Ints


def match_rows(block: Block, ranking: int, *, only_known: bool) -> MatchedRows:
    """Match the recommendations of a ranking with the ground truth."""
    lists, truth = block.lists_of(ranking), block.truth
    listed = [] if only_known else [lists.users]
    users = pc.unique(pa.chunked_array([block.known_users, *listed]))
    users = users.take(pc.array_sort_indices(users))
    list_user = np.repeat(positions(lists.users, users), lists.lengths)
    truth_user = np.repeat(positions(truth.users, users), truth.lengths)
    items, code = lists.items.dictionary, codes(lists.items)
    item = positions(truth.column("item"), items)
    judged = np.flatnonzero((truth_user >= 0) & (item >= 0))
    width = len(items) | 1  # an odd number, so that the lowest bits of pairs differ between users
    pair_of_list = list_user * width + code
    pair_of_truth = truth_user[judged] * width + item[judged]
    # Few rows are hits: one bit tells for most others that they are none.
    mask = (1 << max(20, 4 + len(judged).bit_length())) - 1
    may_match = np.zeros(mask + 1, dtype=bool)
    may_match[pair_of_truth & mask] = True
    is_candidate = may_match[pair_of_list & mask]
    if only_known or lists.items.null_count:
        is_candidate &= (list_user >= 0) & (code >= 0)
    rows = np.flatnonzero(is_candidate)
    match = positions(as_arrow(pair_of_list[rows]), as_arrow(pair_of_truth))
    rows, match = rows[match >= 0], match[match >= 0]
    order = _order(list_user[rows], lists.numbers("rank")[rows])
    hit, hit_truth = rows[order], judged[match[order]]
    return MatchedRows(users, lists, list_user, truth_user, hit, hit_truth)


def join_truth(block: Block, task: Task, number: int = 0) -> Judged:
    """Return the recommendations joined with the ground truth.

    Parameters
    ----------
    block : Block
        Lists and ground truth.
    task : Task
        Which users are evaluated, and which columns and equal scores its labels read.
    number : int
        Index of the ranking, if the lists have several.

    Raises
    ------
    ValueError
        If `item_columns` has no number for an item of the ground truth, or the ground truth has no
        subtopics and a label reads them.
    """
    ranking, propensity = task.conventions.rankings[number], task.conventions.propensity
    subtopics_for = next((str(x) for x in task.all_labels if x.metric.reads_subtopics), "")
    finds_equal = ranking in map(task.ranking_of, task.tie_labels)
    matched = match_rows(block, number, only_known=task.only_known)
    lists, truth, n_users = matched.lists, block.truth, len(matched.users)
    numbers: dict[str, Numbers] = {}
    if task.item_columns is not None:
        items = pl.Series(truth.column("item").cast(pa.string()))
        numbers = numbers_of_items(items, task.item_columns, propensity)
    if propensity and propensity.get("column") == "truth":
        numbers[PROPENSITY] = truth.numbers(PROPENSITY)
    grade = truth.numbers("grade").astype(np.float64, copy=False)
    hit, hit_truth = matched.hit, matched.hit_truth
    # Rows of one grade may differ in their numbers: a fixed order gives the same sums.
    place = truth.numbers("place") if "place" in truth.table.column_names else None
    order = _text_order(truth.column("item")) if numbers or subtopics_for else place
    keys = [matched.truth_user, -grade, *([] if order is None else [order])]
    rows = np.flatnonzero(matched.truth_user >= 0)
    rows = rows[_order(*(key[rows] for key in keys))]
    first = np.ones(len(hit), dtype=bool)
    if ranking.duplicates == "keep":
        first[:] = False
        first[np.unique(hit_truth, return_index=True)[1]] = True
    tied = None
    if ranking.ties == "average" and "tie_first" in lists.table.column_names:
        tied = np.column_stack([lists.numbers(name)[hit] for name in ("tie_first", "tie_last")])
    is_known = np.zeros(n_users, dtype=bool)
    is_known[positions(block.known_users, matched.users)] = True
    listed = matched.list_user[matched.list_user >= 0]
    columns = {name: (values[hit_truth], values[rows]) for name, values in numbers.items()}
    return Judged(
        users=ids_as_numpy(matched.users),
        known=is_known,
        n_listed=np.bincount(listed, minlength=n_users),
        hit_user=matched.list_user[hit],
        hit_rank=lists.numbers("rank")[hit],
        hit_grade=grade[hit_truth],
        hit_first=first,
        truth_user=matched.truth_user[rows],
        truth_grade=grade[rows],
        hit_tied=tied,
        hit_equal=_equal_ranks(lists, ranking, hit) if finds_equal else None,
        truth_position=None if place is None else place[rows],
        columns=columns,
        weights=_weights(*columns[PROPENSITY], clip=propensity["clip"]) if propensity else None,
        subtopics=_subtopics(matched, truth, rows, subtopics_for) if subtopics_for else None,
    )


def ids_as_numpy(ids: pa.Array) -> Numbers:
    """Return ids as integers, or as an array of text."""
    if pa.types.is_integer(ids.type):
        return as_numpy(ids)
    return np.array(pl.Series(ids).to_list(), dtype=object)


def _order(*keys: Numbers) -> Ints | slice:
    """Return the order of rows by their keys, the first key first."""
    in_order = keys[-1][1:] >= keys[-1][:-1]
    for key in reversed(keys[:-1]):
        in_order = (key[1:] > key[:-1]) | ((key[1:] == key[:-1]) & in_order)
    return slice(None) if in_order.all() else np.lexsort(keys[::-1])


def _text_order(items: pa.Array) -> Ints:
    """Return the position of each item in the order of the ids as text."""
    return ascending_codes(items.cast(pa.string()).dictionary_encode())


def numbers_of_items(
    items: pl.Series, item_columns: pa.Table, propensity: Mapping[str, Any] | None
) -> dict[str, Numbers]:
    """Return the numeric columns of items (text); NaN for an item that may lack a number.

    Raises
    ------
    ValueError
        If an item lacks a number that it has to have.
    """
    known = pl.DataFrame(item_columns)
    rows = items.alias("item").to_frame().join(known, on="item", how="left", maintain_order="left")
    numbers = {}
    for name in known.columns[1:]:
        missing = rows[name].is_null()
        may_lack = name == PROPENSITY and "popularity" in (propensity or {})
        if missing.any() and not may_lack:
            lacking = items.filter(missing).unique()
            msg = (
                f"{name}: the catalogue has no value for {format_count(len(lacking), 'item')} of "
                f"the ground truth, first {lacking.min()!r}; complete it"
            )
            raise ValueError(msg)
        numbers[name] = rows[name].to_numpy()
    return numbers


def _equal_ranks(lists: ListBatch, ranking: Ranking, hit: Ints) -> Ints | None:
    """Return (n_hits, 2) the ranks of each hit's score; None if no hit shares its score."""
    rank = lists.numbers("rank")
    starts = np.append(True, ~lists.equal_scores(ranking.score_dtype))
    group = np.cumsum(starts) - 1
    firsts = np.flatnonzero(starts)
    lasts = np.append(firsts[1:], len(rank)) - 1
    equal = np.column_stack([rank[firsts][group[hit]], rank[lasts][group[hit]]])
    return equal if np.any(equal[:, 0] < equal[:, 1]) else None


def _subtopics(
    matched: MatchedRows, truth: ListBatch, rows: Ints, label: str
) -> tuple[SubtopicRows, SubtopicRows]:
    """Return the subtopics of the hits and of the rows of the ground truth."""
    if "subtopics" not in truth.table.column_names:
        msg = (
            f"{label}: needs the subtopics of the ground truth; name their column in the columns "
            "of truth: {subtopic: …}, which is `iteration` in TREC qrels"
        )
        raise ValueError(msg)
    named = pl.DataFrame(
        {
            "truth_row": np.arange(len(matched.truth_user)),
            "user": matched.truth_user,
            "item": _text_order(truth.column("item")),
            "subtopics": pl.Series(truth.column("subtopics")),
        }
    ).filter(pl.col("user") >= 0)
    named = named.explode("subtopics").unnest("subtopics")
    number = pl.col("name").rank("dense").over("user").cast(pl.Int64) - 1

    def of_rows(truth_rows: Ints) -> SubtopicRows:
        numbered = pl.DataFrame({"row": np.arange(len(truth_rows)), "truth_row": truth_rows})
        rows = numbered.join(named.with_columns(subtopic=number), on="truth_row")
        rows = rows.sort("user", "item", "row", "name")
        names = np.array(rows["name"].to_list(), dtype=object)
        return SubtopicRows(
            rows["row"].to_numpy(), rows["subtopic"].to_numpy(), names, rows["grade"].to_numpy()
        )

    return of_rows(matched.hit_truth), of_rows(rows)


def _weights(hits: Floats, truth: Floats, *, clip: float) -> tuple[Floats, Floats]:
    """Return 1 / propensity of hits and rows of the truth; `clip` bounds it and replaces NaN."""
    hit_weights, truth_weights = (
        1.0 / np.fmax(np.asarray(p, dtype=np.float64), clip) for p in (hits, truth)
    )
    return hit_weights, truth_weights
