"""Compare the recommendations of several models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from concord.metrics_core.comparison.arguments import parse_list_arguments
from concord.metrics_core.comparison.compute import build_comparison
from concord.metrics_core.comparison.config import (
    MAX_MISSING_LISTS,
    ComparisonOptions,
    Family,
)
from concord.metrics_core.comparison.gate_inputs import gate_models
from concord.metrics_core.comparison.inputs import ComparisonInput, evaluate_models
from concord.metrics_core.comparison.min_effect import Effects
from concord.metrics_core.comparison.replicates import with_replicates
from concord.metrics_core.comparison.values_of_models import split_values, with_values
from concord.metrics_core.conventions.presets import ConventionsLike
from concord.metrics_core.data.argument_types import Data, ModelColumns, PolicyOptions, Truth, Where
from concord.metrics_core.data.filters import split_models
from concord.metrics_core.data.model import Model
from concord.metrics_core.data.policies import parse_policies
from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.accumulator import build_panels
from concord.metrics_core.evaluation.reference import compute_references
from concord.metrics_core.metrics.metric import Bounds
from concord.metrics_core.results.comparison import Comparison


def compare(
    models: Mapping[str, Data | Model] | Data,
    truth: Truth,
    *,
    metrics: Sequence[str],
    baseline: str | None = None,
    conventions: ConventionsLike = "standard",
    higher_is_better: Mapping[str, bool] | None = None,
    bounds: Mapping[str, Bounds] | None = None,
    primary: Sequence[str] | None = None,
    min_effect: Effects = 0.0,
    train: Data | None = None,
    items: Data | None = None,
    users: Data | None = None,
    segments: Mapping[str, Mapping[str, Any]] | None = None,
    gate: Mapping[str, Any] | None = None,
    checks: Mapping[str, Mapping[str, Any]] | None = None,
    columns: ModelColumns | None = None,
    model: str | None = None,
    where: Where | None = None,
    input: PolicyOptions | None = None,
    title: str = "Comparison",
    confidence: float = 0.95,
    family: Family = "baseline",
    tried: int | None = None,
    wilcoxon: bool = False,
    resamples: int = 2000,
    seed: int = 1,
    max_missing_lists: float = MAX_MISSING_LISTS,
    panel: bool = True,
    paired_replicates: bool = False,
    unit: Sequence[str] = (),
    words: Mapping[str, str] | None = None,
    acknowledge: Mapping[str, Mapping[str, Any]] | None = None,
) -> Comparison:
    """Compare models on the same users, under the same conventions.

    Every model is compared with the baseline and, on primary metrics, with every other model.

    Parameters
    ----------
    models : dict
        Name -> recommendations as `evaluate` takes them: frames, paths or dicts.
        A model that was trained several times, with other seeds or on other folds, is
        {"replicates": {1: lists, 2: lists}}.
        `Model(lists, values)` has values per user next to its lists, such as latency or cost:
        each of their columns is one more metric.
        With `model`, one table of all models.
    truth : DataFrame, path or dict
        Ground truth as `evaluate` takes it; its column `time` is read if `columns` names it.
        For folds {"replicates": {1: truth, 2: truth}}: replicate 1 of every model is evaluated on
        the first ground truth, replicate 2 on the second.
    metrics : sequence of str
        Labels such as "nDCG@10".
    baseline : str
        The model that all others are compared with; required.
    conventions : str, Conventions or dict, default="standard"
        The name of a preset, `concord.preset(name)`, or a dict.
    higher_is_better : dict, optional
        Metric of the values -> True or False, such as {"latency_ms": False}; of each of them.
    bounds : dict, optional
        Metric of the values -> (lowest, highest) possible value. A value outside is refused.
    primary : sequence of str, optional
        The labels that decide, the most important first; by default the first of `metrics`.
        Their intervals hold together, see `family`.
    min_effect : float, str or dict, default=0
        Minimum relevant difference: a number, a share of the baseline's mean such as "2%",
        or one per label, with `default` for the others.
    train : DataFrame or path, optional
        Training data: `user`, `item` [, `time`].
    items : DataFrame or path, optional
        The catalogue: `item` [, `categories` | `vector`] [, `title`] [, `group` if `columns`
        names it].
    users : DataFrame or path, optional
        `user`, and columns that `segments` name.
        Under a propensity exactly these users are evaluated, see docs/how-to/exposure-bias.md.
    segments : dict, optional
        Name -> groups of users or items:

        - {"by": "activity", "edges": [0, 20]}: users by interactions in train;
        - {"by": "user", "column": "country"}: users by a column; with `edges`, by a number;
        - {"by": "truth_item", "shares": [0.5, 0.8]}: relevant items by popularity;
        - {"by": "recommended_item", "shares": [0.5, 0.8]}: recommended items by popularity.

        With "compare_gaps": True, the gap between the best and the worst group of users is tested
        against the baseline's.
    gate : dict, optional
        Metrics that must not get worse and metrics that must get better, as `gate:` of params.yaml:
        {"guardrails": {"nDCG@10": "2%"}, "segments": {"activity": {"nDCG@10": "5%"}},
        "success": ["R@20"]}. The decision is `gate` of the result.
    checks : dict, optional
        Name -> a condition that the lists must meet; in a gate, a model that fails one is worse:

        - {"never": {"items": {"group": "adult"}, "users": {"age_group": "minor"}}}: no list of
          these users holds one of these items, by columns of `users` and `items`;
        - {"overlap": {"with": "production", "at_least": 0.7}}: in the mean over users, a list
          keeps 70 % of the items of the other model's list.

        All models (but the named one) are checked, at the cutoff "k", by default the largest.
    columns : dict, optional
        Column names of all tables, and of single ones or the lists of a model:
        {"user": "userId", "truth": {"grade": "rating"}, "als": {"score": "prediction"}}.
    model : str, optional
        Column of the table `models` that names the model of each row.
    where : dict, optional
        Column -> value: only these rows of all lists are read, such as {"stage": "final"}. Of one
        model or another table {"als": {"stage": "ranked"}, "truth": {"split": "test"}}.
    input : dict, optional
        What tables may contain besides the usual, such as {"negative_grade": "zero"}.
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
        Number of bootstrap resamples and list swaps, and the seed that they start at.
    max_missing_lists : float
        Share of the evaluated users without a list, above which a model is not compared.
    panel : bool, default=True
        True to compute the primary labels under the definitions of all presets too.
    paired_replicates : bool, default=False
        True if replicate 1 of all models has the same seed or fold, and so on:
        replicates are compared in pairs.
    unit : sequence of str, optional
        Columns of lists and truth that name a request, the user's first, as `evaluate` takes them.
    words : dict, optional
        Words that texts show for user, item and request, such as {"user": "query", "item":
        "document"}, which is the default for ground truth of TREC or with columns of search.
    acknowledge : dict, optional
        Code of a warning -> why it is accepted, and up to which extent if it has one:
        {"truth_in_train": {"reason": "repeat purchases are wanted", "up_to": "25%"}}.
        It is not serious then, and comes last.

    Returns
    -------
    Comparison
        Leaderboard, differences, verdicts, segments, warnings and the gate's decision.
        The pipeline's stage `compare` computes the same from the same tables.

    Raises
    ------
    InputError
        The data or arguments are invalid; all problems at once, each with what to do.
        Nothing is dropped or filled silently.

    Examples
    --------
    >>> import concord as cc
    >>> demo = cc.datasets.load_demo()
    >>> models = {name: demo.models[name] for name in ("als", "ease")}
    >>> comparison = cc.compare(
    ...     models, demo.truth, metrics=["nDCG@10"], baseline="als", min_effect="2%", panel=False
    ... )
    >>> comparison.verdicts[0]
    'ease beats als on nDCG@10.'
    >>> comparison.leaderboard["model"].to_list()
    ['als', 'ease']
    """
    tables = {"train": train, "items": items, "users": users}
    of_models, filters = split_models(models, model, where)
    parsed = parse_list_arguments(
        of_models,
        truth,
        metrics=metrics,
        conventions=conventions,
        tables=tables,
        columns=columns,
        segments=segments,
        gate=gate,
        checks=checks,
        acknowledge=acknowledge,
        unit=unit,
        words=words,
    )
    values = split_values(parsed, higher_is_better, bounds, columns)
    config = parsed.config(
        ComparisonOptions(
            baseline="" if baseline is None else baseline,
            primary=primary,
            min_effect=min_effect,
            title=title,
            confidence=confidence,
            family=family,
            tried=tried,
            wilcoxon=wilcoxon,
            resamples=resamples,
            seed=seed,
            max_missing_lists=max_missing_lists,
            panel=panel,
            paired_replicates=paired_replicates,
            segments=parsed.segments,
            gate=parsed.gate,
            checks=parsed.checks,
            acknowledge=parsed.acknowledge,
        )
    )
    if config.gate is not None and not gate_models(config, of_models):
        problem = f"there is no model besides the baseline, {baseline}, to decide on"
        raise refuse("gate", problem, "name another model, or leave out `gate`")
    of_lists = config.of_lists
    panels = build_panels(of_lists.labels, config.primary if panel else (), config.conventions)
    results, data = evaluate_models(
        of_lists,
        parsed.lists,
        parsed.truths,
        tables,
        columns=columns,
        input=input,
        panels=panels,
        unit=unit,
        words=words,
        where=filters,
    )
    references = compute_references(
        of_lists.labels,
        config.conventions,
        data,
        lists_unknown_items=parse_policies(input or {}).unknown_items == "keep",
    )
    models_of_lists = with_replicates(with_values(results, values, config), config)
    return build_comparison(ComparisonInput(config, models_of_lists, data, references=references))
