"""`judge`: what unjudged items can change, and which to judge next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from concord.metrics_core.analyses.judge.items import QueryLists, read_queries
from concord.metrics_core.analyses.judge.means import MeanBounds, mean_bounds
from concord.metrics_core.analyses.judge.result import Judging, ScoreBounds
from concord.metrics_core.comparison.arguments import parse_list_arguments
from concord.metrics_core.comparison.config import ComparisonConfig, baseline_problems
from concord.metrics_core.comparison.inputs import evaluate_models
from concord.metrics_core.comparison.options import Options
from concord.metrics_core.conventions.convention import format_value, is_number
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.presets import ConventionsLike
from concord.metrics_core.data.argument_types import Data, ModelColumns, PolicyOptions, Truth
from concord.metrics_core.data.tables import read_column, read_frame, schema_of
from concord.metrics_core.errors import Problem, raise_problems, refuse
from concord.metrics_core.evaluation.config import err_grade_problems
from concord.metrics_core.evaluation.evaluate_block import HIGHEST_EXPONENT
from concord.metrics_core.evaluation.model_result import EvaluationData, Models
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.metrics.scope import depends_on
from concord.metrics_core.stats.floating_point import difference

NEXT = 50
SUPPORTED = ("P", "R", "F1", "Hit", "AP", "RR", "CG", "DCG", "nDCG", "RBP", "ERR")
# Convention -> True for values under which a value depends on more than the grades of a query.
_UNSUPPORTED: Mapping[str, Callable[[Any], bool]] = {
    "relevance_threshold": lambda value: value is None or value <= 0,
    "truth_visible": lambda value: value != "all",
    "ties": lambda value: value == "average",
    "precision_aggregate": lambda value: value != "macro",
    "f1_aggregate": lambda value: value != "per_user",
    "ideal": lambda value: value.startswith("retrieved") or value == "truth_given_order_at_k",
    **dict.fromkeys(("unit_mean", "candidates", "propensity"), lambda value: value is not None),
}


def judge(
    models: Mapping[str, Data],
    truth: Truth,
    *,
    metrics: Sequence[str],
    baseline: str | None = None,
    next: int = NEXT,
    max_grade: float | None = None,
    conventions: ConventionsLike = "standard",
    items: Data | None = None,
    columns: ModelColumns | None = None,
    input: PolicyOptions | None = None,
) -> Judging:
    """Return the bounds of all means over the judgements still to be made, and what to judge next.

    An item of a top k that the ground truth of its query does not judge counts as not relevant.
    Here it may get 0, each grade of the ground truth up to `max_grade`, and `max_grade`; if the
    grades are whole numbers, also those between; with a gain map the grades of the map up to
    `max_grade`. Items that no model recommends stay as they are.

    Parameters
    ----------
    models, truth, conventions, items, columns, input
        As for `compare`; one list per user and model.
    metrics : list of str
        Labels of P, R, F1, Hit, AP, RR, CG, DCG, nDCG, RBP or ERR; the first one decides what to
        judge next.
    baseline : str, optional
        The model that the others are compared with. By default all pairs are compared.
    next : int, default=50
        Number of items to judge next.
    max_grade : float, optional
        Highest grade that an item can get. Default: the highest grade of the ground truth.

    Returns
    -------
    Judging
        Bounds of means and differences, and the items to judge next.

    Raises
    ------
    InputError
        If an argument is invalid, or the conventions allow no bounds.

    References
    ----------
    Moffat & Zobel (2008), TOIS 27(1), 2.  doi:10.1145/1416950.1416952
    Carterette, Allan & Sitaraman (2006), SIGIR, 268-275.  doi:10.1145/1148170.1148219

    Examples
    --------
    >>> import concord as cc
    >>> models = {"bm25": {"q1": ["a", "b"]}, "dense": {"q1": ["c", "b"]}}
    >>> result = cc.search.judge(models, {"q1": ["a", "d"]}, metrics=["P@2"])
    >>> [(each.model, each.low, each.high) for each in result.scores]
    [('bm25', 0.5, 1.0), ('dense', 0.0, 1.0)]
    >>> result.differences[0].low, result.differences[0].high
    (0.0, 0.5)
    """
    parsed = parse_list_arguments(
        models,
        truth,
        metrics=metrics,
        conventions=conventions,
        tables={"items": items},
        columns=columns,
        options=Options(input=input),
    )
    parsed.problems += _problems(parsed.replicates, next, max_grade)
    config = ComparisonConfig(
        labels=parsed.labels,
        conventions=parsed.conventions,
        baseline=baseline or (parsed.models[0] if parsed.models else ""),
        primary=parsed.names,
        paired_replicates=bool(parsed.folds),
    )
    config = parsed.validated(config, parsed.models, parsed.folds, {"primary": "metrics"})
    results, data = evaluate_models(config, parsed)
    return judge_results(config, results, data, baseline=baseline, next=next, max_grade=max_grade)


def judge_results(
    config: ComparisonConfig,
    results: Models,
    data: EvaluationData,
    *,
    baseline: str | None = None,
    next: int = NEXT,
    max_grade: float | None = None,
) -> Judging:
    """Return the bounds for evaluated models; see `judge`."""
    raise_problems(
        [
            *_problems(config.replicates, next, max_grade),
            *(() if baseline is None else baseline_problems(baseline, results)),
            *_label_problems(config.labels, config.conventions),
        ]
    )
    highest = data.highest_grade() if max_grade is None else float(max_grade)
    assert highest is not None, "refused before"
    conventions, settings = config.conventions, config.settings
    name = "a judgement up to max_grade"
    raise_problems(err_grade_problems(highest, config.labels, conventions, name, settings))
    judged = read_column(data.truth, "grade").cast(pl.Float64).unique().to_numpy()
    models = list(results)
    contrasts = _contrasts(models, baseline)
    queries: dict[int, list[QueryLists]] = {}  # by ranking
    rows: list[ScoreBounds] = []
    for label in config.labels:
        ranking = label.ranking_number(conventions)
        if ranking not in queries:
            queries[ranking] = _read_queries(results, data, label, conventions)
        grades = _possible_grades(judged, highest, label, conventions)
        bounds = mean_bounds(label, conventions, queries[ranking], contrasts, grades)
        rows += _score_bounds(bounds, results)
        if label == config.primary_labels[0]:
            primary = bounds
    return Judging(
        highest,
        len(primary.lists),
        sum(len(lists.items) for lists in primary.lists),
        tuple(row for row in rows if row.versus is None),
        tuple(row for row in rows if row.versus is not None),
        tuple(primary.next_items(models, _titles(data), next)),
        data.words,
    )


def _possible_grades(
    judged: Floats, highest: float, label: Label, conventions: Conventions
) -> Floats:
    """Return the relevant grades that an unjudged item may get and that bounds need, ascending.

    Without a gain map these are the lowest, the judged and the highest grades.

    Raises
    ------
    InputError
        If no grade up to the highest one is relevant, or an exponential gain would overflow.
    """
    own = label.conventions(conventions)
    threshold = own.relevance_threshold or 0.0  # a number, see _UNSUPPORTED
    gain = own.gain if depends_on(label.metric, "gain") else "binary"
    if isinstance(gain, str) and gain.startswith("exp2") and highest > HIGHEST_EXPONENT:
        limit = f"the gain {gain} of {label} allows grades up to {HIGHEST_EXPONENT}"
        fix = "give a lower one, or set the convention gain to linear"
        raise refuse("max_grade", f"is {highest:g}, and {limit}", fix)
    if isinstance(gain, Mapping):
        grades = np.unique([*gain["map"]])
    else:
        are_whole = (judged[judged > 0] % 1 == 0).all()
        grades = np.unique([*judged, *([np.ceil(threshold)] if are_whole else []), highest])
    grades = grades[(grades >= threshold) & (grades <= highest)]
    if not len(grades):
        problem = f"is {highest:g}, and {label} counts no grade up to it"
        fix = "give a higher one, lower relevance_threshold, or add grades to the gain map"
        raise refuse("max_grade", problem, fix)
    return grades


def _contrasts(models: Sequence[str], baseline: str | None) -> Floats:
    """Return the models, then all their pairs or each model minus the baseline."""
    rows = np.eye(len(models))
    pairs = [*combinations(rows, 2)]
    if baseline is not None:
        reference = models.index(baseline)
        pairs = [(row, rows[reference]) for row in np.delete(rows, reference, axis=0)]
    return np.array([*rows, *(a - b for a, b in pairs)])


def _read_queries(
    results: Models, data: EvaluationData, label: Label, conventions: Conventions
) -> list[QueryLists]:
    """Return the lists of each query of the ground truth, as the label ranks them.

    Raises
    ------
    InputError
        If a list holds an item twice, or users of the lists count who have no ground truth.
    """
    label_conventions = label.conventions(conventions)
    keeps = label_conventions.duplicates == "keep"
    lists = {}
    for model, result in results.items():
        frame = read_frame(result.lists)
        if "ranking" in frame.columns:
            frame = frame.filter(pl.col("ranking") == label.ranking_number(conventions))
        if keeps and frame.select("user", "item").is_duplicated().any():
            fix = "set the convention duplicates to first or drop"
            raise refuse(model, "has lists that hold an item twice", fix)
        lists[model] = frame
    truth = read_frame(data.truth)
    evaluated = [read_column(result.values, "user").cast(pl.String) for result in results.values()]
    users = pl.concat(evaluated).unique()
    is_known = users.is_in(truth["user"].cast(pl.String).implode())
    if label_conventions.user_recs_only != "drop" and not is_known.all():
        problem = "counts users who are not in the ground truth"
        raise refuse("conventions.user_recs_only", problem, "write drop")
    return read_queries(lists, truth, users)


def _score_bounds(bounds: MeanBounds, results: Models) -> Iterator[ScoreBounds]:
    label, models = str(bounds.rule.label), list(results)
    means = [result.mean(label) for result in results.values()]
    n_users = min(x.summary["metrics"][label]["n_users"] for x in results.values())
    judged, residual = bounds.judged, bounds.residual
    for number, contrast in enumerate(bounds.contrasts):
        model, versus = int(contrast.argmax()), int(contrast.argmin())
        is_mean = contrast.sum() == 1.0
        current, other = means[model], 0.0 if is_mean else means[versus]
        value, low, high = None, float(bounds.low[number]), float(bounds.high[number])
        if current is not None and other is not None:
            value = difference(current, other, bounds.rule.scale)
            low, high = min(low, value), max(high, value)  # these are rounded differently
        yield ScoreBounds(
            label,
            models[model],
            None if is_mean else models[versus],
            value,
            n_users,
            low,
            high,
            bool(bounds.is_exact[number]),
            float(judged[model]) if is_mean else None,
            None if residual is None or not is_mean else float(residual[model]),
        )


def _titles(data: EvaluationData) -> dict[str, str]:
    """Return item -> title of the catalogue; empty without titles."""
    if data.items is None or "title" not in schema_of(data.items):
        return {}
    items = read_frame(data.items).select(pl.col("item").cast(pl.String), "title").drop_nulls()
    return dict(items.iter_rows())


def _problems(replicates: Any, next: Any, max_grade: Any) -> Iterator[Problem]:
    if type(next) is not int or next < 0:
        yield Problem("next", f"is {next!r}", "write a whole number, 0 or more")
    if max_grade is not None and not (is_number(max_grade) and max_grade > 0):
        yield Problem("max_grade", f"is {format_value(max_grade)}", "write a number above 0")
    if replicates:
        problem = "are replicates of a model, which have no bounds"
        yield Problem("models", problem, "name one list of each model")


def _has_zero_gain(conventions: Conventions) -> bool:
    """True if a relevant grade has gain 0."""
    gain, threshold = conventions.gain, conventions.relevance_threshold
    table = gain["map"] if isinstance(gain, Mapping) else {}
    return threshold is not None and any(table[each] == 0 for each in table if each >= threshold)


def _label_problems(labels: Sequence[Label], conventions: Conventions) -> Iterator[Problem]:
    """Yield the labels whose values depend on more than the grades of a query's items."""
    for label in labels:
        if label.name not in SUPPORTED or label.judged_only:
            fix = f"choose {', '.join(SUPPORTED)}, without judged_only"
            yield Problem(f"metrics: {label}", "has no bounds", fix)
            continue
        own = label.conventions(conventions)
        if label.name == "nDCG" and _has_zero_gain(own):
            problem = "has no bounds with a gain of 0 for a relevant grade"
            yield Problem(f"metrics: {label}", problem, "set the convention gain differently")
        for name, is_unsupported in _UNSUPPORTED.items():
            value = getattr(own, name)
            if depends_on(label.metric, name) and is_unsupported(value):
                problem = f"has no bounds with {name}: {'null' if value is None else value}"
                yield Problem(
                    f"metrics: {label}", problem, f"set the convention {name} differently"
                )
