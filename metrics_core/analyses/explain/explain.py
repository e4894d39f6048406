"""`explain`: derivation of one user's value, step by step, under one definition or two."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, overload

from concord.metrics_core.analyses.explain.result import (
    ConventionPath,
    Derivation,
    ExplanationDiff,
    ListedItem,
)
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.presets import (
    ConventionsLike,
    resolve_conventions,
    with_data_conventions,
)
from concord.metrics_core.data.argument_types import Data, PolicyOptions, TableColumns, Truth
from concord.metrics_core.data.relations import in_memory
from concord.metrics_core.data.units import unit_id
from concord.metrics_core.evaluation.derivation import read_user, steps
from concord.metrics_core.evaluation.evaluate_block import evaluate_block
from concord.metrics_core.evaluation.inputs import LoadedInputs, load_inputs
from concord.metrics_core.evaluation.item_lists import read_ranked_lists
from concord.metrics_core.evaluation.join_truth import join_truth
from concord.metrics_core.evaluation.side_data import (
    with_catalogue_size,
)
from concord.metrics_core.evaluation.task import Task
from concord.metrics_core.metrics.label import Label, parse_supported
from concord.metrics_core.metrics.metric import Steps
from concord.metrics_core.metrics.scope import depends_on

MAX_DECISIVE = 4  # largest number of conventions whose combinations are tried
_LIST_METRICS = ("AWRF", "EED", "EER", "EEL")  # metrics beyond accuracy with a value per user
_TOLERANCE = 1e-12


@overload
def explain(
    recs: Data,
    truth: Truth,
    *,
    user: Any,
    metric: str,
    conventions: ConventionsLike = "standard",
    train: Data | None = None,
    items: Data | None = None,
    columns: TableColumns | None = None,
    input: PolicyOptions | None = None,
    unit: Sequence[str] = (),
) -> Derivation: ...


@overload
def explain(
    recs: Data,
    truth: Truth,
    *,
    user: Any,
    metric: str,
    conventions: ConventionsLike = "standard",
    versus: ConventionsLike,
    train: Data | None = None,
    items: Data | None = None,
    columns: TableColumns | None = None,
    input: PolicyOptions | None = None,
    unit: Sequence[str] = (),
) -> ExplanationDiff: ...


def explain(
    recs: Data,
    truth: Truth,
    *,
    user: Any,
    metric: str,
    conventions: ConventionsLike = "standard",
    versus: ConventionsLike | None = None,
    train: Data | None = None,
    items: Data | None = None,
    columns: TableColumns | None = None,
    input: PolicyOptions | None = None,
    unit: Sequence[str] = (),
) -> Derivation | ExplanationDiff:
    """Return the derivation of one user's value, step by step.

    Parameters
    ----------
    recs, truth, conventions, train, items, columns, input, unit
        As for `evaluate`.
    user : str, int or tuple
        A user id; with `unit`, a session: `("u1", "s7")`, or its id `"u1/s7"`.
    metric : str
        A label such as "nDCG@10" that reads lists and ground truth, or AWRF, EED, EER or EEL.
    versus : str, Conventions or dict, optional
        A second definition. A preset takes the conventions of the data's scale
        (`relevance_threshold`, `err_max_grade`, `hlu_neutral`) from `conventions`; other
        conventions are used as they are.

    Returns
    -------
    Derivation or ExplanationDiff
        With `versus`, both derivations, and the conventions that make them differ.

    Raises
    ------
    ValueError
        If the user is neither in the lists nor in the ground truth; otherwise as `evaluate`.

    Examples
    --------
    >>> import concord as cc
    >>> derivation = cc.explain(
    ...     {"u1": ["a", "b"]}, {"u1": ["b"]}, user="u1", metric="RR"
    ... )
    >>> print(derivation)  # doctest: +ELLIPSIS
    RR of user 'u1', conventions standard ...
    relevant: grade >= 1; relevant items: 1 in the ground truth, 2 in the list
    rank  item  grade  judged  adds
    1     a
    2     b     1      hit     1/2
    RR = 1 / 2  (the first hit)
    RR = 0.5
    """
    label = parse_explained(metric)
    tables = {"train": train, "items": items}
    conventions = with_catalogue_size(resolve_conventions(conventions), tables, columns)
    other = None
    if versus is not None:
        other = with_catalogue_size(resolve_conventions(versus), tables, columns)
    if other is not None and isinstance(versus, str):
        other = with_data_conventions(other, conventions)
    with in_memory() as connection:
        inputs = load_inputs(
            connection,
            recs,
            truth,
            conventions,
            train=train,
            items=items,
            columns=columns,
            policies=input,
            unit=unit,
        )
        if unit and isinstance(user, tuple | list):
            user = unit_id(user)
        return explain_loaded(inputs, user, label, conventions, other)


def parse_explained(metric: str) -> Label:
    """Return the label of a metric that can be explained; raises as `parse_supported`."""
    return parse_supported(metric, feature="explain", also=_LIST_METRICS)


def explain_loaded(
    inputs: LoadedInputs,
    user: Any,
    label: Label,
    conventions: Conventions,
    versus: Conventions | None,
) -> Derivation | ExplanationDiff:
    """Return the derivation of one user's value from loaded lists; see `explain`."""
    inputs.keep_user(user)
    derivation = _derive(inputs, user, label, conventions)
    if versus is None:
        return derivation
    path = _path(
        label,
        label.conventions(conventions),
        label.conventions(versus),
        lambda definition: _value(inputs, label, label.conventions(definition)),
    )
    return ExplanationDiff(derivation, _derive(inputs, user, label, versus), path)


def _task(inputs: LoadedInputs, label: Label, label_conventions: Conventions) -> Task:
    """Rank the lists as the conventions say, and return the task of the label."""
    inputs.rank(label_conventions.rankings)
    return inputs.with_items(Task([label], label_conventions))


def _value(inputs: LoadedInputs, label: Label, label_conventions: Conventions) -> float | None:
    task = _task(inputs, label, label_conventions)
    part = evaluate_block(inputs.block(task), task)
    value: float | None = part.values[str(label)][0]
    return value


def _derive(inputs: LoadedInputs, user: Any, label: Label, conventions: Conventions) -> Derivation:
    label_conventions = label.conventions(conventions)
    value = _value(inputs, label, label_conventions)
    task = _task(inputs, label, label_conventions)
    block = inputs.block(task)
    judged = join_truth(block, task)
    rows = inputs.connection.execute(
        "SELECT rank, item, grade FROM lists LEFT JOIN truth USING (user, item) ORDER BY rank"
    ).fetchall()
    threshold = label_conventions.relevance_threshold
    one = read_user(judged, label, label_conventions)
    if task.items is not None:
        one = replace(one, ranked_lists=read_ranked_lists(block, task, 0, threshold))
    derived = steps(one, label)
    if label.judged_only:
        judged_rows = [row for row in rows if row[2] is not None and row[2] >= 0]
        rows = [(rank, item, grade) for rank, (_, item, grade) in enumerate(judged_rows, 1)]
    return Derivation(
        user=user,
        label=str(label),
        value=value,
        conventions=conventions,
        threshold=threshold,
        n_relevant=one.n_relevant,
        n_listed=int(one.lists.n_listed[0]),
        listed=_listed_items(rows, derived, label.k, threshold),
        sums=derived.lines,
        words=inputs.words,
    )


def _listed_items(
    rows: list[tuple[int, Any, float | None]],
    derived: Steps,
    k: int | None,
    threshold: float | None,
) -> tuple[ListedItem, ...]:
    return tuple(
        ListedItem(
            rank,
            item,
            grade,
            grade is not None and grade >= (threshold or 0.0),
            derived.terms.get(rank, ""),
        )
        for rank, item, grade in rows
        if k is None or rank <= k or rank in derived.terms
    )


Compute = Callable[[Conventions], float | None]


def _path(label: Label, start: Conventions, end: Conventions, compute: Compute) -> ConventionPath:
    """Return the path from one definition to another; `compute` returns the value under one."""
    values = {
        name: (getattr(start, name), getattr(end, name))
        for name in [*start.preset_values(), "candidates"]
        if depends_on(label.metric, name)
    }
    changed = {name: pair for name, pair in values.items() if pair[0] != pair[1]}
    before, after = compute(start), compute(end)

    def value_with(names: Iterable[str]) -> float | None:
        """Return the value under the first definition with some conventions of the second."""
        try:
            return compute(replace(start, **{name: changed[name][1] for name in names}))
        except ValueError:  # these conventions contradict each other
            return math.nan

    single = {name: value_with([name]) for name in changed}
    effective = [
        name
        for name in changed
        if not _is_same(single[name], before)
        or not _is_same(value_with(changed.keys() - {name}), after)
    ]
    decisive = () if _is_same(before, after) else _smallest_set(effective, after, value_with)
    return ConventionPath(before, after, changed, single, decisive)


def _smallest_set(
    names: list[str], target: float | None, value_with: Callable[[Iterable[str]], float | None]
) -> tuple[str, ...]:
    """Return the smallest set of conventions with the target value; all if no small one has it."""
    sizes = range(1, min(len(names), MAX_DECISIVE) + 1)
    sets = (each for size in sizes for each in combinations(names, size))
    return next((each for each in sets if _is_same(value_with(each), target)), tuple(names))


def _is_same(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is b
    both_undefined = math.isnan(a) and math.isnan(b)
    return both_undefined or math.isclose(a, b, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
