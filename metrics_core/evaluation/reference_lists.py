"""Values of labels on lists that need no model: random, most popular and best possible."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.evaluation.listable_items import NO_ROWS, TruthBlock
from concord.metrics_core.evaluation.score import CASES_OF_USERS, Column, label_problem, score
from concord.metrics_core.metrics.judged import Ints, Judged, position_in_user
from concord.metrics_core.metrics.label import Label, is_pooled

N_DRAWS = 20
Labels = Mapping[Label, Conventions]  # with their own conventions
Columns = dict[Label, Column]
_OF_SAMPLES = ("AUC", "Judged")  # they say nothing of lists without a relevant item


def is_supported(label: Label, conventions: Conventions) -> bool:
    """True for accuracy metrics with a cutoff, whose mean is one of users' values."""
    metric = label.metric
    return (
        metric.family == "accuracy"
        and metric.higher_is_better
        and metric.name not in _OF_SAMPLES
        and label.k is not None
        and not metric.reads_subtopics
        and not metric.reads_pooled
        and not is_pooled(label, conventions)
    )


def conventions_of_full_rankings(label: Label, conventions: Conventions) -> Conventions:
    """Return the conventions of a label for full rankings, which refuse no user.

    Values that are corrected for sampled candidates estimate those of full rankings.
    """
    own = replace(label.conventions(conventions), candidates=None)
    policies: dict[str, Any] = {c: "nan" for c in CASES_OF_USERS if getattr(own, c) == "error"}
    return replace(own, **policies)


def group_by_threshold(labels: Labels) -> dict[float | None, dict[Label, Conventions]]:
    """Return the labels by the lowest relevant grade; under None those that read grades."""
    groups: dict[float | None, dict[Label, Conventions]] = {}
    for label, own in labels.items():
        read = label.metric.arguments(own)
        is_graded = not read.keys().isdisjoint({"err_max_grade", "hlu_neutral"})
        is_graded |= any(read.get(name, "binary") != "binary" for name in ("gain", "rbp_gain"))
        groups.setdefault(None if is_graded else lowest_relevant(own), {})[label] = own
    return groups


def lowest_relevant(conventions: Conventions) -> float:
    """Return the lowest relevant grade; a lower one than 0 means that there is no judgement."""
    return max(conventions.relevance_threshold or 0.0, 0.0)


def with_two_grades(block: TruthBlock, lowest: float | None) -> TruthBlock:
    """Return the block with one grade of relevant and one of other items; None changes nothing."""
    if lowest is None:
        return block
    others = np.minimum(np.sign(block.grade), 0.0)
    grade = np.where(block.grade >= lowest, max(lowest, 1.0), others)
    return replace(block, grade=grade)


def distinct_users(block: TruthBlock) -> tuple[TruthBlock, Ints]:
    """Return one user of each kind, and (n_users,) the number of each user's kind.

    Users of a kind have as many items of each grade, listable or not, and as many items to list: in
    random and in best possible lists they have the same values.
    """
    numbers = np.arange(block.n_users)
    if block.place is not None:
        return block, numbers
    rows = pl.DataFrame({"user": block.user, "grade": block.grade, "listable": block.listable})
    digests = rows.group_by("user").agg(digest=pl.struct("grade", "listable").hash().sum())
    users = pl.DataFrame({"user": numbers, "n_items": block.n_items})
    users = users.join(digests, on="user", how="left", maintain_order="left")
    first = users.select(pl.col("user").min().over("n_items", "digest"))["user"].to_numpy()
    return block.select(first == numbers), (np.cumsum(first == numbers) - 1)[first]


def random_columns(block: TruthBlock, labels: Labels) -> Columns:
    """Return the expected values in random order: all items tie.

    Left out are labels without an expected value of ties.
    """
    rows = np.flatnonzero(block.listable)
    user = block.user[rows]
    tied = np.column_stack([np.ones_like(user), block.n_items[user]])
    lists = block.judge(rows, position_in_user(user, block.n_users), block.n_items, tied)
    averaged = {label: replace(own, ties="average") for label, own in labels.items()}
    return {
        label: score(lists, [label], own)[0]
        for label, own in averaged.items()
        if not label_problem(label, own)
    }


def drawn_columns(block: TruthBlock, labels: Labels, seed: int) -> Columns:
    """Return the mean values of random orders.

    Left out are labels that read more of a list than its top k.
    """
    labels = {
        label: own
        for label, own in labels.items()
        if own.truth_visible == "all" and not label.judged_only
    }
    columns = _columns(block.judge(NO_ROWS, NO_ROWS, block.n_items), labels)
    totals = {label: np.zeros(block.n_users) for label in labels}
    depth = max((label.k or 0 for label in labels), default=0)
    for rows, rank in _draws(block, depth, seed) if labels else ():
        has_hit = np.bincount(block.user[rows], minlength=block.n_users) > 0
        users = block.select(has_hit)
        kept = np.cumsum(has_hit[block.user])[rows] - 1
        of_draw = _columns(users.judge(kept, rank, users.n_items), labels)
        for label, column in columns.items():
            values = column.values.copy()
            values[has_hit] = of_draw[label].values
            totals[label] += values
    return {
        label: replace(column, values=totals[label] / N_DRAWS) for label, column in columns.items()
    }


def _draws(block: TruthBlock, depth: int, seed: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield rows in the top of random lists, and their ranks, by user and rank.

    The n-th item of a user is one of the free ranks with equal chances. Items in the top then get
    its ranks in random order, so that no rank below is ever drawn.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    listable = np.flatnonzero(block.listable)
    number = position_in_user(block.user[listable], block.n_users)
    order = np.argsort(number, kind="stable")
    by_number = np.split(listable[order], np.cumsum(np.bincount(number)[1:])[:-1])
    n_ranks = np.minimum(block.n_items, depth)
    for _ in range(N_DRAWS):
        n_top = np.zeros(block.n_users, dtype=np.int64)
        in_top = []
        for n, rows in enumerate(by_number):
            user = block.user[rows]
            free = block.n_items[user] - n
            is_top = random.random(len(rows)) * free < n_ranks[user] - n_top[user]
            n_top[user[is_top]] += 1
            in_top.append(rows[is_top])
        rows = np.sort(np.concatenate([*in_top, NO_ROWS]))
        users, user = np.unique(block.user[rows], return_inverse=True)
        keys = random.random((len(users), depth))
        keys[np.arange(depth) >= n_ranks[users][:, None]] = 2.0  # such lists are shorter
        position = position_in_user(user, len(users))
        rank = keys.argsort(axis=1)[user, position - 1] + 1
        by_rank = np.lexsort((rank, user))
        yield rows[by_rank], rank[by_rank]


def popular_columns(block: TruthBlock, labels: Labels) -> Columns:
    """Return the values of lists of the most popular items."""
    rows = np.flatnonzero(block.popular_rank)
    rows = rows[np.lexsort((block.popular_rank[rows], block.user[rows]))]
    lists = block.judge(rows, block.popular_rank[rows], block.n_popular)
    return _columns(lists, labels)


def best_columns(block: TruthBlock, labels: Labels) -> Columns:
    """Return the highest values that lists can reach; left out if no such list is known.

    The best items come first. A list may end after the relevant items, which is better if a metric
    divides by its length.
    """
    columns: Columns = {}
    lists = _best_lists(block)
    for label, own in labels.items():
        if _has_best_lists(block, label, own):
            whole, short = (score(x, [label], own)[0] for x in (lists, _relevant_only(lists, own)))
            columns[label] = replace(short, values=np.fmax(whole.values, short.values))
    return columns


def _has_best_lists(block: TruthBlock, label: Label, conventions: Conventions) -> bool:
    """True if the best items first, in a list of all or of the relevant items, are the best list.

    A map may give a lower gain to a higher grade. The mean over fewer hits can be higher, and so
    can values that ignore what the list lacks.
    """
    own = label.metric.arguments(conventions)
    gain = own.get("gain")
    by_grade = [y for _, y in sorted(gain["map"].items())] if isinstance(gain, Mapping) else []
    by_hits = own.get("ap_denominator") in {"hits", "min_len_relevant"}
    return (
        conventions.truth_visible == "all"
        and by_grade == sorted(by_grade)
        and not (by_hits and own["ap_sum_over"] == "all_ranks")
        and not (own.get("ideal") == "truth_at_min_k_len" and not block.listable.all())
    )


def _best_lists(block: TruthBlock) -> Judged:
    rows = np.flatnonzero(block.listable)  # by user, best grade first
    n_rows = np.bincount(block.user[rows], minlength=block.n_users)
    n_listed = np.where(block.n_items > 0, block.n_items, n_rows + 1)
    return block.judge(rows, position_in_user(block.user[rows], block.n_users), n_listed)


def _relevant_only(lists: Judged, own: Conventions) -> Judged:
    """Return lists that end after the relevant items."""
    relevant = lists.hit_grade >= lowest_relevant(own)
    n_relevant = np.bincount(lists.hit_user[relevant], minlength=lists.n_users)
    kept = lists.keep(relevant, np.ones(len(lists.truth_grade), dtype=bool))
    return replace(kept, n_listed=np.maximum(n_relevant, 1))


def _columns(lists: Judged, labels: Labels) -> Columns:
    return {label: score(lists, [label], own)[0] for label, own in labels.items()}
