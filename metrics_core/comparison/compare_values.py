"""`compare_values`: users' values of any metric of any tool in, a Comparison out."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.comparison.compute import compared_values
from concord.metrics_core.comparison.config import (
    DEFAULT,
    MAX_MISSING_LISTS,
    Adjustment,
    ComparisonConfig,
    Effect,
    Effects,
    Finding,
    baseline_findings,
    effect_findings,
    label_findings,
    model_findings,
    number_findings,
    word_findings,
)
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.value_tables import (
    ValueTables,
    bound_problems,
    load_values,
    unknown_metric,
)
from concord.metrics_core.conventions.convention import shown
from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.data.relations import connect
from concord.metrics_core.errors import ArgumentNames, InputError, Problem
from concord.metrics_core.evaluation.accumulator import program_versions, summary_numbers
from concord.metrics_core.evaluation.model_result import EvaluationData, ModelResult
from concord.metrics_core.evaluation.summary import summarise
from concord.metrics_core.metrics.label import MAX_K, Label
from concord.metrics_core.metrics.metric import UNBOUNDED, Bounds, Metric
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import OF_VALUES

_CUTOFF = re.compile(r"(?P<stem>.+)@(?P<k>[1-9][0-9]{0,6})", re.DOTALL)
_CONVENTIONS = preset("standard")  # under which NaN is a user who does not count


def compare_values(
    values: Mapping[str, Any],
    *,
    baseline: str,
    primary: Sequence[str] | None = None,
    min_effect: Effects = 0.0,
    higher_is_better: Mapping[str, bool] | None = None,
    bounds: Mapping[str, Bounds] | None = None,
    title: str = "Comparison",
    confidence: float = 0.95,
    adjustment: Adjustment = "holm",
    wilcoxon: bool = False,
    resamples: int = 2000,
    seed: int = 1,
    max_missing_lists: float = MAX_MISSING_LISTS,
) -> Comparison:
    """Compare models by users' values that any tool computed.

    Differences, intervals, tests and verdicts are those of `compare`. With d the difference of two models for one
    user, over the n users whom both have:

        t = mean(d) / (sd(d) / sqrt(n)), two-sided p by Student's t with n - 1 degrees of freedom

    What needs lists is missing: other definitions, segments, gate, warnings on lists. If you have the lists, use
    `compare`: it knows which definition of a metric it computed.

    Parameters
    ----------
    values           : model -> a polars, pandas or pyarrow frame with a column `user` and a column of numbers for each
                       metric, or a dict {metric: {user: value}}. A user may be a topic or a query. NaN or None: the
                       user does not count. All models have the same metrics
    baseline         : the model that all others are compared with
    primary          : the metrics that decide, the most important first; needed where there are several metrics. Their
                       p values are adjusted together, over all pairs of models
    min_effect       : the smallest difference that matters: a number, a share of the baseline's mean such as "2%", or
                       one a metric with `default` for the others
    higher_is_better : metric -> False where the lowest value is the best, such as {"RMSE": False}; else True
    bounds           : metric -> (lowest, highest) value that it can have, where you know them, such as {"AP": (0, 1)};
                       a value outside is refused
    title            : of the report
    confidence       : of all intervals and tests
    adjustment       : of the primary p values: "holm", or "max_t": joint sign flips
    wilcoxon         : give its p values too; no verdict rests on them
    resamples        : of bootstrap and sign flips, which begin at `seed`
    max_missing_lists : share of the users without a value, above which a model is not compared

    Returns
    -------
    Comparison
        Leaderboard, differences, sentences and warnings, as `compare` returns them. A user whom a model lacks is left
        out of this model's means and differences, and a warning says how many there are.

    Raises
    ------
    InputError
        A table or an argument is invalid. The message says what is wrong, where, and what to do.

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
    _raise(_argument_findings(values, baseline, higher_is_better, bounds))
    tables = load_values(values)
    deciding = tables.metrics if primary is None else primary
    _raise(
        [
            *_primary_findings(tables, deciding, is_given=primary is not None),
            *effect_findings(min_effect),
            *number_findings(
                confidence=confidence,
                resamples=resamples,
                seed=seed,
                max_missing_lists=max_missing_lists,
            ),
            *word_findings(adjustment=adjustment, title=title, wilcoxon=wilcoxon),
        ]
    )
    ranges, directions = dict(bounds or {}), dict(higher_is_better or {})
    problems = [
        *bound_problems(tables, ranges),
        *_direction_problems(tables, directions),
        *_effect_problems(tables, min_effect, deciding, ranges),
    ]
    if problems:
        raise InputError(problems)
    labels = [
        _label(name, ranges.get(name, UNBOUNDED), directions.get(name, True))
        for name in tables.metrics
    ]
    config = ComparisonConfig(
        title=title,
        conventions=_CONVENTIONS,
        labels=labels,
        ks=sorted({label.k for label in labels if label.k is not None}),
        primary=[*deciding],
        min_effects=_effects_of(min_effect, tables.metrics),
        baseline=baseline,
        confidence=confidence,
        adjustment=adjustment,
        wilcoxon=wilcoxon,
        resamples=resamples,
        seed=seed,
        max_missing_lists=max_missing_lists,
        panel=False,
        settings=ArgumentNames("values"),
    )
    models = {model: _evaluated(tables, model, config) for model in tables.tables}
    return compared_values(ComparisonInput(config, models, _no_ground()), directions)


def values_as_given() -> None:
    """As given: the tool that computed the values defines the metric."""


def _label(name: str, bounds: Bounds, higher_is_better: bool) -> Label:
    """The label of a metric that need not be in the catalogue; `@10` at its end is a cutoff."""
    found = _CUTOFF.fullmatch(name)
    cut = found is not None and int(found["k"]) <= MAX_K
    low, high = bounds
    metric = Metric(
        found["stem"] if found and cut else name,
        values_as_given,
        "another tool",
        low=float(low),
        high=float(high),
        family=OF_VALUES,
        higher_is_better=higher_is_better,
    )
    return Label(metric, int(found["k"]) if found and cut else None, ())


def _evaluated(tables: ValueTables, model: str, config: ComparisonConfig) -> ModelResult:
    """The results of a model as `compare` reads them, without lists."""
    table, missing = tables.tables[model], tables.missing(model)
    summaries = {
        str(label): summarise(
            label, table[str(label)].to_numpy(), config.conventions, confidence=config.confidence
        )
        for label in config.labels
    }
    summary = {
        "metrics": {label: summary_numbers(each) for label, each in summaries.items()},
        "users": {"evaluated": len(tables.users), "missing": missing},
        "versions": dict(program_versions()),
    }
    nothing = pl.DataFrame()
    return ModelResult(values=table, panel=nothing, lists=nothing, summary=summary, quality={})


def _no_ground() -> EvaluationData:
    return EvaluationData(
        pl.DataFrame(), None, None, None, truth_quality={}, connecting=_connecting
    )


def _connecting(files: Iterable[Path]) -> AbstractContextManager[DuckDBPyConnection]:
    return connect(reads=files)


def _argument_findings(
    values: Any, baseline: Any, higher_is_better: Any, bounds: Any
) -> Iterator[Finding]:
    if not isinstance(values, Mapping) or not values:
        what = "must be a dict that maps a model's name to its users' values"
        yield "values", what, "write {'bm25': values, 'dense': values}"
        return
    yield from model_findings(values)
    yield from baseline_findings(baseline, values)
    for name, given in (("higher_is_better", higher_is_better), ("bounds", bounds)):
        if given is not None and not isinstance(given, Mapping):
            example = {"RMSE": False} if name == "higher_is_better" else {"AP": (0, 1)}
            yield name, f"is {shown(given)}, which is no dict", f"write {example}"


def _primary_findings(tables: ValueTables, primary: Any, *, is_given: bool) -> Iterator[Finding]:
    if not is_given:
        if len(tables.metrics) > 1:
            what = f"is missing, and there are {len(tables.metrics)} metrics"
            yield (
                "primary",
                what,
                f"name those that decide, such as primary=[{tables.metrics[0]!r}]",
            )
        return
    invalid = list(label_findings((), primary))
    yield from invalid
    for name in () if invalid else dict.fromkeys(primary):
        if name not in tables.metrics:
            problem = unknown_metric("primary", name, tables.metrics)
            is_user = name in tables.users
            turned = "the dict maps users to metrics: turn it round, as {metric: {user: value}}"
            yield "primary", problem.what, turned if is_user else problem.fix
        if list(primary).count(name) > 1:
            yield "primary", f"names {name} more than once", "name each metric once"


def _direction_problems(tables: ValueTables, directions: Mapping[str, bool]) -> Iterator[Problem]:
    for name, higher in directions.items():
        if name not in tables.metrics:
            yield unknown_metric("higher_is_better", name, tables.metrics)
        elif not isinstance(higher, bool):
            yield Problem(
                f"higher_is_better[{name!r}]", f"is {shown(higher)}", "write True or False"
            )


def _effect_problems(
    tables: ValueTables, effects: Effects, primary: Sequence[str], ranges: Mapping[str, Bounds]
) -> Iterator[Problem]:
    """Effects of unknown metrics, metrics without an effect, and effects that no difference reaches."""
    if isinstance(effects, Mapping):
        for name in effects:
            if name not in {DEFAULT, *tables.metrics}:
                yield unknown_metric("min_effect", name, tables.metrics)
        missing = [name for name in tables.metrics if name not in effects]
        if missing and DEFAULT not in effects:
            fix = f"add {DEFAULT!r} for the metrics that it does not name"
            yield Problem("min_effect", f"says nothing for {missing[0]}", fix)
            return
    for name, effect in _effects_of(effects, primary).items():
        low, high = ranges.get(name, UNBOUNDED)
        if not isinstance(effect, str) and effect >= high - low:
            what = (
                f"is {effect:g}, and no two values of {name} are further apart than {high - low:g}"
            )
            fix = f"write '{effect:g}%' for a share of the baseline, or a smaller number"
            yield Problem("min_effect", what, fix)


def _effects_of(effects: Effects, metrics: Iterable[str]) -> dict[str, Effect]:
    named = effects if isinstance(effects, Mapping) else {DEFAULT: effects}
    chosen = {name: named[name] if name in named else named[DEFAULT] for name in metrics}
    return {name: e if isinstance(e, str) else float(e) for name, e in chosen.items()}


def _raise(found: Iterable[Finding]) -> None:
    if problems := [Problem(*each) for each in found]:
        raise InputError(problems)
