"""Evaluate one block of users, from rows to values; all executors call this."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
import polars as pl

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.errors import Refusal, ScoringError, escape_template
from concord.metrics_core.evaluation.block import Block
from concord.metrics_core.evaluation.diagnostics import (
    KNOWN,
    LISTED,
    N_HITS,
    RELEVANT,
    ListCounts,
    count_list_issues,
    list_kinds,
    weight_columns,
)
from concord.metrics_core.evaluation.item_lists import read_ranked_lists
from concord.metrics_core.evaluation.join_truth import join_truth
from concord.metrics_core.evaluation.sanity_counts import (
    PERFECT_TOP,
    count_hits,
    hits_at,
    perfect_tops,
)
from concord.metrics_core.evaluation.score import Column, label_problem, score
from concord.metrics_core.evaluation.task import Task
from concord.metrics_core.evaluation.ties import score_ties
from concord.metrics_core.metrics.exposure import Exposure, count_exposure
from concord.metrics_core.metrics.judged import Judged
from concord.metrics_core.metrics.label import Label

HIGHEST_EXPONENT = 30  # 2^30 is a billion: a higher grade is a rating or a count


@dataclass(frozen=True)
class Part:
    """Results of a block.

    Attributes
    ----------
    values : DataFrame
        Values of its users; see `evaluate_block`.
    exposures : Mapping[str, Exposure]
        Exposure of the items, by label of an aggregate metric.
    counts : Mapping[str, int]
        Counts of its users and lists by name; see `count_users` and `count_list_issues`.
    lists : ListCounts
        Counts of its lists.
    """

    values: pl.DataFrame
    exposures: Mapping[str, Exposure]
    counts: Mapping[str, int]
    lists: ListCounts


def evaluate_block(block: Block, task: Task) -> Part:
    """Return the values and exposures of a block, whose rows are those that the task reads.

    `values` has one row per user, sorted by user, with these columns:

    - each label and each definition: NaN where undefined, null where the user is left out
    - `#known`: True if the user is in the ground truth or requested
    - `#listed`, `#relevant`, `#found`: length of the list, number of relevant items, and of those
      in the list
    - `#judged@k`, `#hits@k`: number of judged, and of relevant items in the top k
    - `#perfect_top`: see `perfect_tops`
    - `#weight…`: see `weight_columns`
    - `#counts…`: see `mean_weight`
    - `#name#0`, `#name#1`: addends of a pooled mean
    - `#average:name`, `#low:name`, `#high:name`: see `score_ties`
    """
    ranked = _judge(block, task)
    columns, exposures, ties = _score_rankings(block, ranked, task)
    judged = ranked[0].relevant(0.0, "all")  # without pooled items that have no judgement
    relevant = judged.relevant(task.conventions.relevance_threshold, "all")
    same = pl.repeat(None, judged.n_users, dtype=pl.Float64, eager=True)
    series = [
        pl.Series("user", judged.users, dtype=pl.String)
        if judged.users.dtype == object
        else pl.Series("user", judged.users),
        *(_values(name, column) for name, column in columns.items()),
        pl.Series(KNOWN, judged.known),
        pl.Series(LISTED, judged.n_listed),
        pl.Series(RELEVANT, relevant.n_relevant),
        pl.Series(N_HITS, np.bincount(relevant.hit_user, minlength=judged.n_users)),
        *(pl.Series(judged_at(k), replace(judged, weights=None).count(k)) for k in task.cutoffs),
        *(pl.Series(hits_at(k), count_hits(relevant, k)) for k in task.cutoffs),
        pl.Series(PERFECT_TOP, perfect_tops(judged, relevant)),
        *_weights(relevant, task.conventions),
        *(
            pl.Series(name, judged.relevant(least, "all").relevant_weight.astype(np.float64))
            for name, least in task.mean_weights.items()
        ),
        *(series for name, column in columns.items() for series in _parts(name, column)),
        *(ties.get(name, same).alias(name) for name in task.tie_columns),
    ]
    values = pl.DataFrame(series)
    score_dtype = task.conventions.score_dtype
    issues = count_list_issues(block.lists_of(0), block.truth, score_dtype, task.cutoffs)
    counts = count_users(values, task) | issues
    return Part(values, exposures, counts, ListCounts(list_kinds(values)))


def _judge(block: Block, task: Task) -> dict[int, Judged]:
    """Return the judged lists by index of the ranking: the first, and those that labels need."""
    needed = {task.ranking_of(label) for label in task.all_labels}
    return {
        number: join_truth(block, task, number)
        for number, ranking in enumerate(task.conventions.rankings)
        if not number or ranking in needed
    }


def _weights(relevant: Judged, conventions: Conventions) -> Iterator[pl.Series]:
    if conventions.propensity is not None:
        columns = weight_columns(relevant, conventions.propensity["clip"])
        yield from (pl.Series(name, values) for name, values in columns.items())


def _score_rankings(
    block: Block, ranked: Mapping[int, Judged], task: Task
) -> tuple[dict[str, Column], dict[str, Exposure], dict[str, pl.Series]]:
    """Return the columns by name, labels first, the exposures by label, and columns of ties."""
    columns: dict[str, Column] = {}
    exposures: dict[str, Exposure] = {}
    ties: dict[str, pl.Series] = {}
    tie_labels = task.tie_labels
    for number, judged in ranked.items():
        ranking = task.conventions.rankings[number]
        labels = [label for label in task.labels if task.ranking_of(label) == ranking]
        definitions = [d for d in task.definitions if task.ranking_of(d.label) == ranking]
        read_lists = cache(partial(read_ranked_lists, block, task, number))
        per_user = [label for label in labels if not label.metric.is_aggregate]
        _refuse_high_grades(judged, per_user, task.conventions, number)
        try:
            for column in score(judged, per_user, task.conventions, read_lists):
                columns[str(column.label)] = column
        except ScoringError as error:
            raise error.nested_in(number, 1) from error
        with_ties = [columns[str(label)] for label in per_user if label in tie_labels]
        ties |= {each.name: each for each in score_ties(judged, with_ties, task.conventions)}
        for position, definition in enumerate(definitions):
            try:
                (column,) = score(judged, [definition.label], definition.conventions, read_lists)
            except ScoringError as error:
                raise error.nested_in(number, 2, position) from error
            columns[definition.column] = column
        for label in labels:
            if label.metric.is_aggregate:
                if why := label_problem(label, task.conventions):
                    raise ScoringError(Refusal(escape_template(f"{label}: {why}"), (number, 3)))
                exposures[str(label)] = count_exposure(read_lists(None), label.k)
    return {name: columns[name] for name in task.columns}, exposures, ties


def _refuse_high_grades(
    judged: Judged, labels: Sequence[Label], conventions: Conventions, number: int
) -> None:
    """Raise if a grade is too high for an exponential gain: its item would outweigh all others."""
    highest = judged.truth_grade.max(initial=0.0)
    for position, label in enumerate(labels):
        if "gain" not in label.metric.conventions:
            continue
        gain = label.conventions(conventions).gain
        if isinstance(gain, str) and gain.startswith("exp2") and highest > HIGHEST_EXPONENT:
            message = (
                f"{label.name}: gain {gain}: grade {{highest:g}} is above {HIGHEST_EXPONENT}; "
                "take the gain linear, or a map"
            )
            raise ScoringError(Refusal(message, (number, 0, position), highest=float(highest)))


def judged_at(k: int) -> str:
    """Return the name of the column with the number of judged items in the top k."""
    return f"#judged@{k}"


def part_names(name: str) -> tuple[str, str]:
    """Return the names of the columns with the addends of a pooled mean."""
    return f"#{name}#0", f"#{name}#1"


def _values(name: str, column: Column) -> pl.Series:
    values = pl.Series(name, column.values)
    return values.set(pl.Series(column.excluded), None) if column.excluded.any() else values


def _parts(name: str, column: Column) -> list[pl.Series]:
    return [
        pl.Series(part, values)
        for part, values in zip(part_names(name), column.parts, strict=False)
    ]


# Units of a judged item: averaged ties give fractions of items, which add up exactly in them.
JUDGED_UNITS = 2**20


def count_users(values: pl.DataFrame, task: Task) -> dict[str, int]:
    """Return the counts of a block's users and lists; counts of blocks can be added.

    `judged@k` is in units of 1 / JUDGED_UNITS of an item.
    """
    known, listed, relevant = (values[name].to_numpy() for name in (KNOWN, LISTED, RELEVANT))
    tops = np.bincount(values[PERFECT_TOP].to_numpy() + 1, minlength=5)[1:]  # -1 does not count
    counts = {
        "in_truth": known.sum(),
        "in_lists": (listed > 0).sum(),
        "without_list": (known & (listed == 0)).sum(),
        "without_relevant": (known & (relevant == 0)).sum(),
        "only_in_lists": (~known & (listed > 0)).sum(),
        **{f"tops@{kind}": tops[kind] for kind in range(4)},
    }
    for k in task.cutoffs:
        counts[f"shorter_than@{k}"] = (known & (listed > 0) & (listed < k)).sum()
        counts[f"listed@{k}"] = np.minimum(listed[known], k).sum()
        counts[f"hits@{k}"] = values[hits_at(k)].to_numpy()[known].sum()
        counts[f"judged@{k}"] = np.rint(values[judged_at(k)].to_numpy() * JUDGED_UNITS).sum()
    return {name: int(count) for name, count in counts.items()}


def select_evaluated(values: pl.DataFrame, task: Task) -> pl.DataFrame:
    """Return user, labels, ties and mean weights of the known users and those with any value."""
    names = [str(label) for label in task.per_user]
    has_value = values[KNOWN].to_numpy()
    if not has_value.all():
        has_value = np.logical_or.reduce(
            [has_value, *(values[name].is_not_null().to_numpy() for name in names)]
        )
        values = values.filter(has_value)
    return values[["user", *names, *task.tie_columns, *task.mean_weights]]
