"""Compare models by values per user that another tool computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from concord.metrics_core.comparison.compute import build_value_comparison
from concord.metrics_core.comparison.config import (
    ComparisonConfig,
    ComparisonOptions,
    is_list_of_text,
    model_problems,
)
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.min_effect import Effects
from concord.metrics_core.comparison.options import MAX_MISSING_LISTS, Family
from concord.metrics_core.comparison.remembered import RememberedValues, with_inputs
from concord.metrics_core.comparison.user_values import (
    ValueTables,
    label_values,
    load_values,
)
from concord.metrics_core.comparison.warnings.acknowledge import (
    VALUE_CODES,
    parse_acknowledgements,
)
from concord.metrics_core.conventions.display_words import changed_words, word_problems
from concord.metrics_core.errors import InputError, Problem, SettingNames, raise_problems
from concord.metrics_core.evaluation.model_result import (
    ModelResult,
    no_lists_data,
    summarise_values,
    with_missing_users,
)
from concord.metrics_core.metrics.label import VALUE_CONVENTIONS
from concord.metrics_core.metrics.metric import Bounds
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Acknowledgement


def compare_values(
    values: Mapping[str, Any],
    *,
    baseline: str | None = None,
    primary: Sequence[str] | None = None,
    min_effect: Effects = 0.0,
    higher_is_better: Mapping[str, bool] | None = None,
    bounds: Mapping[str, Bounds] | None = None,
    title: str = "Comparison",
    confidence: float = 0.95,
    family: Family = "baseline",
    tried: int | None = None,
    wilcoxon: bool = False,
    resamples: int = 2000,
    seed: int = 1,
    max_missing_lists: float = MAX_MISSING_LISTS,
    words: Mapping[str, str] | None = None,
    columns: Mapping[str, Any] | None = None,
    acknowledge: Mapping[str, Mapping[str, Any]] | None = None,
) -> Comparison:
    """Compare models by values per user that any tool computed.

    Differences, intervals, tests and verdicts are those of `compare`. With d the difference of two
    models for one user, over the n users whom both models have:

        t = mean(d) / (sd(d) / sqrt(n)), two-sided p by Student's t with n - 1 degrees of freedom

    The result has no other definitions, segments, gate and warnings on lists, which need the lists.
    If you have the lists, use `compare`: it knows which definition of a metric it computed.

    Parameters
    ----------
    values : dict
        Model -> a polars, pandas or pyarrow frame with a column `user` and a column of numbers for
        each metric, or a dict {metric: {user: value}}. A user may be a topic or a query.
        A user with NaN or None does not count. All models have the same metrics.
        Without a column `user`, `query_id`, `question` and similar names are read as the user.
    baseline : str
        The model that all others are compared with; required.
    primary : sequence of str, optional
        The metrics that decide, the most important first; required if there are several metrics.
        Their intervals hold together, see `family`.
    min_effect : float, str or dict, default=0
        Minimum relevant difference: a number, a share of the baseline's mean such as "2%",
        or one per metric, with `default` for the others.
    higher_is_better : dict, optional
        Metric -> False if the lowest value is the best, such as {"RMSE": False}.
    bounds : dict, optional
        Metric -> (lowest, highest) possible value, such as {"AP": (0, 1)}.
        A value outside is refused.
    title : str
        Title of the report.
    confidence : float, default=0.95
        Confidence level of intervals; jointly for those of a family.
    family : {"baseline", "all"}
        Comparisons of primary metrics whose intervals hold together: those with the baseline, or
        those of all pairs. With "baseline", pairs among the other models are a second family.
    tried : int, optional
        Number of models that were tried on these users, if more than are compared here.
    wilcoxon : bool, default=False
        True to compute p-values of Wilcoxon's test too; no verdict depends on them.
    resamples, seed : int
        Number of bootstrap resamples, and the seed that they start at.
    max_missing_lists : float
        Share of the users without a value, above which a model is not compared.
    words : dict, optional
        Words that texts show for user and item, such as {"user": "query"}.
    columns : dict, optional
        Names in the frames: {"user": "sample", "AP": "map"}, or by model {"bm25": {"user": "id"}}.
    acknowledge : dict, optional
        Code of a warning -> why it is accepted, and up to which extent if it has one:
        {"user_sets_differ": {"reason": "both timed out on some", "up_to": "5%"}}.
        It is not serious then, and comes last.

    Returns
    -------
    Comparison
        Leaderboard, differences, sentences and warnings, as `compare` returns them.
        A user whom a model lacks is left out of this model's means and differences,
        and a warning gives their number.

    Raises
    ------
    InputError
        A table or an argument is invalid; all problems at once, each with what to do.

    Examples
    --------
    >>> import concord
    >>> users = range(40)
    >>> bm25 = {"AP": {user: 0.2 + 0.01 * (user % 7) for user in users}}
    >>> dense = {"AP": {user: 0.3 + 0.01 * (user % 5) for user in users}}
    >>> comparison = concord.compare_values(
    ...     {"dense": dense, "bm25": bm25}, baseline="bm25", bounds={"AP": (0, 1)}
    ... )
    >>> comparison.difference("dense", "bm25", "AP").verdict
    'better'
    """
    raise_problems(model_problems(values, "values", "values"))
    tables = load_values(values, columns or {})
    labels, problems = label_values(tables, higher_is_better, bounds)
    problems += _primary_problems(tables, primary)
    problems += [Problem("words", *each) for each in word_problems(words or {})]
    acknowledgements: dict[str, Acknowledgement] = {}
    try:
        acknowledgements = parse_acknowledgements(acknowledge or {}, VALUE_CODES)
    except InputError as error:
        problems += error.problems
    options = ComparisonOptions(
        baseline="" if baseline is None else baseline,
        primary=tables.metrics[:1] if primary is None else primary,
        min_effect=min_effect,
        title=title,
        confidence=confidence,
        family=family,
        tried=tried,
        wilcoxon=wilcoxon,
        resamples=resamples,
        seed=seed,
        max_missing_lists=max_missing_lists,
        acknowledge=acknowledgements,
    )
    config = ComparisonConfig.of(
        labels,
        options,
        conventions=VALUE_CONVENTIONS,
        replicates={},
        settings=SettingNames(("arguments", "values"), metrics=("values",)),
    ).validated(list(values), problems=problems)
    models = with_missing_users(
        {model: _model_result(table, config) for model, table in tables.tables.items()}
    )
    inputs = ComparisonInput(config, models, no_lists_data())
    comparison = build_value_comparison(inputs, higher_is_better or {})
    return with_inputs(replace(comparison, words=changed_words(words)), RememberedValues(inputs))


def _model_result(table: pl.DataFrame, config: ComparisonConfig) -> ModelResult:
    """Return the result of a model without lists."""
    summary = summarise_values(table, config.labels, confidence=config.confidence)
    empty = pl.DataFrame()
    return ModelResult(values=table, panel=empty, lists=empty, summary=summary, quality={})


def _primary_problems(tables: ValueTables, primary: Any) -> Iterator[Problem]:
    if primary is None and len(tables.metrics) > 1:
        problem = f"is missing, and there are {len(tables.metrics)} metrics"
        fix = f"name those that decide, such as primary=[{tables.metrics[0]!r}]"
        yield Problem("primary", problem, fix)
    for name in primary if is_list_of_text(primary) else ():
        if name in tables.users and name not in tables.metrics:
            fix = "write {metric: {user: value}}, not {user: {metric: value}}"
            yield Problem("values", f"{name!r} is a user, not a metric", fix)
