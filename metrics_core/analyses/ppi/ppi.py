"""`ppi`: means and differences from grades of people for a sample, and of a judge for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import polars as pl

from concord.metrics_core.analyses.ppi.estimates import (
    LabelValues,
    PoweredPair,
    with_verdicts,
)
from concord.metrics_core.analyses.ppi.labels import (
    judge_agreement,
    judged_depth,
    read_judge_labels,
    refuse_gaps,
    refuse_low_predictions,
    refuse_sample,
    refuse_several,
    refuse_size,
    refuse_undefined,
    unsupported_problems,
)
from concord.metrics_core.analyses.ppi.random_sample import sample_warnings
from concord.metrics_core.analyses.ppi.result import PoweredEstimate, PredictionPowered
from concord.metrics_core.comparison.arguments import parse_list_arguments
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.min_effect import Effects
from concord.metrics_core.comparison.options import Options
from concord.metrics_core.conventions.presets import ConventionsLike
from concord.metrics_core.data.argument_types import Data, ModelColumns, PolicyOptions
from concord.metrics_core.data.arguments import check_columns, open_table
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.policies import parse_policies
from concord.metrics_core.data.tables import read_frame
from concord.metrics_core.errors import raise_problems
from concord.metrics_core.evaluation.dataset import TableLoader, load_dataset
from concord.metrics_core.evaluation.model_result import ModelResult
from concord.metrics_core.files import NO_FOLD
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.stats.verdict import model_pairs


def ppi(
    models: Mapping[str, Data],
    truth: Data,
    *,
    metrics: Sequence[str],
    baseline: str | None = None,
    sample: Literal["random"] | None = None,
    conventions: ConventionsLike = "standard",
    primary: Sequence[str] | None = None,
    min_effect: Effects = 0.0,
    confidence: float = 0.95,
    columns: ModelColumns | None = None,
    input: PolicyOptions | None = None,
) -> PredictionPowered:
    """Estimate means and differences from grades of people for a sample and of a judge for all.

    A judge is a model that grades documents, such as an LLM. Its errors are measured on the queries
    that people judged too, and corrected (prediction-powered inference): the intervals hold for any
    judge, and a better judge makes them shorter.

    Parameters
    ----------
    models : dict
        Name -> recommendations (results of each query) as `evaluate` takes them.
    truth : DataFrame or path
        Ground truth: columns `user` (the query), `item` (the document), `grade` (of a person, null
        if no person judged the document) and `predicted` (of the judge, in every row).
        A query with a grade of a person belongs to the sample.
    metrics : sequence of str
        Labels such as "nDCG@10". People must have judged the sampled queries down to the largest
        cutoff, in the lists of all models.
    baseline : str
        The model that all others are compared with; required.
    sample : {"random"}
        "random" declares that the sampled queries were drawn at random from all queries; required.
    conventions : str, Conventions or dict, default="standard"
        The name of a preset, `concord.preset(name)`, or a dict.
    primary : sequence of str, optional
        The labels whose differences have intervals that hold together; by default the first.
    min_effect : float, str or dict, default=0
        Minimum relevant difference, as for `compare`.
    confidence : float, default=0.95
        Level of the intervals of means, and of a family of differences.
    columns : dict, optional
        Column names, such as {"truth": {"user": "query", "predicted": "judge_grade"}}.
    input : dict, optional
        Policies for unusual content, as for `evaluate`.

    Returns
    -------
    PredictionPowered
        Means and differences with intervals and verdicts, what the judge is worth in labels of
        people, its agreement with people, and a warning if the sample does not look random.

    Raises
    ------
    InputError
        If the sample is not declared as random, people or the judge graded a list in part, a
        query has no value, or an argument is invalid.

    References
    ----------
    Angelopoulos, Bates, Fannjiang, Jordan & Zrnic (2023), Science 382(6671), 669-674.
    doi:10.1126/science.adi6000
    Angelopoulos, Duchi & Zrnic (2023), PPI++: Efficient Prediction-Powered Inference.
    arXiv:2311.01453

    Examples
    --------
    >>> import concord as cc
    >>> import polars as pl
    >>> rows = [
    ...     (f"q{n:03}", item, int((n + m) % 3 == 0) if n < 60 else None, int((n + m) % 3 < 1))
    ...     for n in range(600)
    ...     for m, item in enumerate("abc")
    ... ]
    >>> truth = pl.DataFrame(rows, schema=["user", "item", "grade", "predicted"], orient="row")
    >>> models = {
    ...     "bm25": {f"q{n:03}": ["a", "b", "c"] for n in range(600)},
    ...     "dense": {f"q{n:03}": ["b", "a", "c"] for n in range(600)},
    ... }
    >>> result = cc.search.ppi(models, truth, metrics=["RR"], baseline="bm25", sample="random")
    >>> result.agreement.kappa
    1.0
    >>> result.differences[0].verdict
    'undecided'
    """
    refuse_sample(sample, "sample")
    refuse_several(truth, "truth")
    parsed = parse_list_arguments(
        models,
        truth,
        metrics=metrics,
        conventions=conventions,
        tables={},
        columns=columns,
        options=Options(confidence=confidence),
    )
    config = parsed.config(baseline, primary, min_effect)
    roles = {**dict.fromkeys(parsed.lists, "recs"), "truth": "truth"}
    names = check_columns(columns or {}, roles)
    loader = TableLoader(config, parse_policies(input or {}), names, is_hashed=False)
    return ppi_tables(config, loader, parsed.lists, open_table("truth", truth, names))


def ppi_tables(
    config: ComparisonConfig, loader: TableLoader, lists: Mapping[str, Data], truth: InputTable
) -> PredictionPowered:
    """Return the estimates of lists and of a ground truth that is not read yet; see `ppi`."""
    raise_problems(unsupported_problems(config))
    labels = read_judge_labels(truth, loader.policies, config.conventions.exclude)
    queries = labels.judge["user"].cast(pl.String).unique().sort()
    is_sampled = queries.is_in(labels.people["user"].cast(pl.String).unique().implode()).to_numpy()
    n_sampled = int(is_sampled.sum())
    refuse_size(n_sampled, len(queries) - n_sampled)
    refuse_low_predictions(labels, config.conventions, truth)
    # A sample may have no relevant document: the judge's grades of other queries prevent a refusal.
    others = labels.judge.join(labels.people, on="user", how="anti")
    graded = pl.concat([labels.people.drop("predicted"), others])
    by_people = _evaluate(loader, lists, graded, truth)
    refuse_gaps(by_people, labels, config)
    by_judge = _evaluate(loader, lists, labels.judge, truth)
    means: list[PoweredEstimate] = []
    pairs: list[PoweredPair] = []
    values_of: list[LabelValues] = []
    for label in config.labels:
        people = _values(by_people, label, config, queries.filter(is_sampled))
        judge = _values(by_judge, label, config, queries)
        values = LabelValues(label, config, is_sampled, people, judge)
        refuse_undefined(by_people, values, queries)
        sample = replace(values, judge={name: np.nan_to_num(each) for name, each in judge.items()})
        values_of.append(sample)
        of_label = {model: sample.mean(model) for model in lists}
        estimates = {model: mean.estimate for model, mean in of_label.items()}
        means += of_label.values()
        pairs += [sample.pair(a, b, estimates) for a, b in model_pairs([*lists], config.baseline)]
    return PredictionPowered(
        confidence=config.confidence,
        baseline=config.baseline,
        n_sampled=n_sampled,
        n_queries=len(queries),
        depth=judged_depth(config.labels, config.conventions),
        means=tuple(means),
        differences=tuple(with_verdicts(pairs, config)),
        agreement=judge_agreement(labels.people),
        warnings=tuple(sample_warnings(values_of)),
        words=labels.words,
    )


def _evaluate(
    loader: TableLoader, lists: Mapping[str, Data], judgements: pl.DataFrame, truth: InputTable
) -> dict[str, ModelResult]:
    """Return the results of each model with these grades."""
    table = open_table("truth", judgements, {})
    table = replace(table, name=truth.name, settings=truth.settings)
    dataset = load_dataset(loader, {NO_FOLD: table}, {})
    return {model: dataset.evaluate(model, recs) for model, recs in lists.items()}


def _values(
    results: Mapping[str, ModelResult], label: Label, config: ComparisonConfig, queries: pl.Series
) -> dict[str, Floats]:
    """Return model -> (queries,) values of a label; NaN for a query without a value."""
    is_zero = label.conventions(config.conventions).undefined == "zero"
    columns = {}
    for model, result in results.items():
        table = read_frame(result.values)
        frame = pl.DataFrame({"user": table["user"].cast(pl.String), "value": table[str(label)]})
        values = queries.to_frame("user").join(frame, on="user", how="left", maintain_order="left")
        column = values["value"]
        columns[model] = (column.fill_nan(0.0) if is_zero else column).to_numpy()
    return columns
