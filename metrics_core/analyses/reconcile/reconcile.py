"""`reconcile`: search the definitions of a metric that reproduce a published number.

Presets are tried first, then the given conventions with one of them changed, then with two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from concord.metrics_core.analyses.reconcile.result import Reconciliation
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.presets import ConventionsLike, resolve_conventions
from concord.metrics_core.data.argument_types import Data, PolicyOptions, TableColumns, Truth
from concord.metrics_core.data.relations import in_memory
from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.definition_search import (
    ComputeMeans,
    ConventionMatch,
    PrintedNumber,
    compute_matches,
    definition_rounds,
    loaded_grades,
    means_of_loaded,
    refuse_other_tables,
    sort_key,
    without_idle_null,
)
from concord.metrics_core.evaluation.inputs import load_inputs
from concord.metrics_core.metrics.label import Label, parse_supported

MAX_NEAREST = 5  # definitions that do not match


def reconcile(
    recs: Data,
    truth: Truth,
    *,
    value: str,
    metric: str,
    conventions: ConventionsLike = "standard",
    columns: TableColumns | None = None,
    input: PolicyOptions | None = None,
    unit: Sequence[str] = (),
) -> Reconciliation:
    """Search the definitions of a metric that reproduce a published number on these lists.

    Parameters
    ----------
    recs, truth, columns, input, unit
        As for `evaluate`.
    value : str
        The number as printed, such as "0.330"; its last digit defines how exact a match must be.
    metric : str
        A label such as "nDCG@10" that reads lists and ground truth only.
    conventions : Conventions, str or dict, default="standard"
        The conventions to vary. They rank the lists under every definition.

    Returns
    -------
    Reconciliation
        Matching definitions, best first, then the nearest of the others.

    Raises
    ------
    ValueError
        If the value is not a number, or the metric reads more than lists and ground truth;
        otherwise as `evaluate`.

    Examples
    --------
    >>> import concord as cc
    >>> lists, truth = {"u1": ["a", "b"]}, {"u1": ["b"]}
    >>> result = cc.reconcile(lists, truth, value="0.5", metric="P@2")
    >>> result.matches[0].mean
    0.5
    """
    label = parse_supported(metric, feature="reconcile")
    conventions = resolve_conventions(conventions)
    try:
        PrintedNumber.parse(value)
    except ValueError:
        fix = "write a text such as '0.330' or '33.0%'"
        raise refuse("value", f"{value!r} is not a number as printed", fix) from None
    refuse_other_tables(conventions, "reconcile")
    with in_memory() as connection:
        load_inputs(
            connection,
            recs,
            truth,
            conventions,
            columns=columns,
            policies=input,
            unit=unit,
        )
        compute_means = means_of_loaded(connection, conventions)
        return search(value, label, conventions, compute_means, loaded_grades(connection))


def search(
    value: str,
    label: Label,
    conventions: Conventions,
    compute_means: ComputeMeans,
    grades: Sequence[float],
) -> Reconciliation:
    """Search definitions with any function that computes means; see `reconcile`.

    Parameters
    ----------
    value : str
        The number as printed.
    label : Label
        Label of the metric.
    conventions : Conventions
        The conventions to vary.
    compute_means : callable
        Return the mean of each definition.
    grades : sequence of float
        Grades of the ground truth, used as relevance thresholds unless there are more than
        `MAX_THRESHOLDS`.

    Returns
    -------
    Reconciliation
        Matching definitions, best first, then the nearest of the others.
    """
    number = PrintedNumber.parse(value)
    tried: list[ConventionMatch] = []
    for n_changes, definitions in enumerate(definition_rounds(label, conventions, grades)):
        matches = compute_matches(definitions, conventions, compute_means, number)
        tried += [each for (each,) in without_idle_null([(each,) for each in matches])]
        if n_changes > 0 and any(each.matches for each in tried):
            break
    matching = sorted((each for each in tried if each.matches), key=lambda x: sort_key(x, number))
    nearest = [each for each in tried if not each.matches and not math.isnan(each.mean)]
    nearest.sort(key=lambda each: abs(each.mean - number.value))
    return Reconciliation(value, str(label), (*matching, *nearest[:MAX_NEAREST]))
