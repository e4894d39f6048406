"""Compare models by values per user that another tool computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from concord.metrics_core.comparison.compute import build_value_comparison
from concord.metrics_core.comparison.config import (
    ComparisonConfig,
    ComparisonOptions,
    is_list_of_text,
    model_problems,
)
from concord.metrics_core.comparison.min_effect import Effects
from concord.metrics_core.comparison.option_fields import OptionFields
from concord.metrics_core.comparison.options import Options, with_fields
from concord.metrics_core.comparison.remembered import RememberedValues, with_inputs
from concord.metrics_core.comparison.user_values import (
    ValueTables,
    label_values,
    load_values,
    value_inputs,
)
from concord.metrics_core.comparison.warnings.acknowledge import (
    VALUE_CODES,
    parse_acknowledgements,
)
from concord.metrics_core.conventions.display_words import changed_words, word_problems
from concord.metrics_core.errors import InputError, Problem, SettingNames, raise_problems
from concord.metrics_core.metrics.label import VALUE_CONVENTIONS
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Acknowledgement

# Options that have no effect on values.
_OF_LISTS = (
    *("panel", "paired_replicates", "segments", "gate", "checks"),
    *("input", "unit", "model", "where"),
)


def compare_values(
    values: Mapping[str, Any],
    *,
    baseline: str | None = None,
    primary: Sequence[str] | None = None,
    min_effect: Effects = 0.0,
    columns: Mapping[str, Any] | None = None,
    options: Options | None = None,
    **fields: Unpack[OptionFields],
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
    columns : dict, optional
        Names in the frames: {"user": "sample", "AP": "map"}, or by model {"bm25": {"user": "id"}}.
    options : Options, optional
        Confidence, families and others, see `concord.Options`. Metrics that `higher_is_better` does
        not name are better if higher. Options of lists, such as `segments`, are refused.
    **fields
        Single fields of `concord.Options`, such as bounds={"AP": (0, 1)}, title, confidence,
        family, tried, wilcoxon, resamples, seed, max_missing_lists, words and acknowledge.

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
    options = with_fields(options, fields, compare_values)
    raise_problems(model_problems(values, "values", "values"))
    tables = load_values(values, columns or {})
    higher_is_better, words = options.higher_is_better, options.words
    labels, problems = label_values(tables, higher_is_better, options.bounds)
    problems += _primary_problems(tables, primary)
    problems += _list_option_problems(options)
    problems += [Problem("words", *each) for each in word_problems(words or {})]
    acknowledgements: dict[str, Acknowledgement] = {}
    try:
        acknowledgements = parse_acknowledgements(options.acknowledge or {}, VALUE_CODES)
    except InputError as error:
        problems += error.problems
    config = ComparisonConfig.of(
        labels,
        ComparisonOptions(
            **options.statistics,
            baseline="" if baseline is None else baseline,
            primary=tables.metrics[:1] if primary is None else primary,
            min_effect=min_effect,
            acknowledge=acknowledgements,
        ),
        conventions=VALUE_CONVENTIONS,
        replicates={},
        settings=SettingNames(("arguments", "values"), metrics=("values",)),
    ).validated(list(values), problems=problems)
    inputs = value_inputs(config, tables.tables)
    comparison = build_value_comparison(inputs, higher_is_better or {})
    return with_inputs(replace(comparison, words=changed_words(words)), RememberedValues(inputs))


def _list_option_problems(options: Options) -> Iterator[Problem]:
    for name in _OF_LISTS:
        if getattr(options, name) != getattr(Options, name):
            yield Problem(name, "needs lists, and there are values only", "leave it out")


def _primary_problems(tables: ValueTables, primary: Any) -> Iterator[Problem]:
    if primary is None and len(tables.metrics) > 1:
        problem = f"is missing, and there are {len(tables.metrics)} metrics"
        fix = f"name those that decide, such as primary=[{tables.metrics[0]!r}]"
        yield Problem("primary", problem, fix)
    for name in primary if is_list_of_text(primary) else ():
        if name in tables.users and name not in tables.metrics:
            fix = "write {metric: {user: value}}, not {user: {metric: value}}"
            yield Problem("values", f"{name!r} is a user, not a metric", fix)
