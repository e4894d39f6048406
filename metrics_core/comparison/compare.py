"""Compare the recommendations of several models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Unpack

from concord.metrics_core.comparison.call import ComparisonCall
from concord.metrics_core.comparison.compute import build_comparison
from concord.metrics_core.comparison.min_effect import Effects
from concord.metrics_core.comparison.option_fields import OptionFields
from concord.metrics_core.comparison.options import Options, with_fields
from concord.metrics_core.comparison.remembered import remember
from concord.metrics_core.conventions.presets import ConventionsLike
from concord.metrics_core.data.argument_types import Data, ModelColumns, Truth
from concord.metrics_core.data.model import Model
from concord.metrics_core.results.comparison import Comparison


def compare(
    models: Mapping[str, Data | Model] | Data,
    truth: Truth,
    *,
    metrics: Sequence[str] | None = None,
    baseline: str | None = None,
    primary: Sequence[str] | None = None,
    min_effect: Effects | None = None,
    conventions: ConventionsLike | None = None,
    columns: ModelColumns | None = None,
    train: Data | None = None,
    items: Data | None = None,
    users: Data | None = None,
    options: Options | None = None,
    **fields: Unpack[OptionFields],
) -> Comparison:
    """Compare models on the same users, under the same conventions.

    Every model is compared with the baseline and, on primary metrics, with every other model.
    Without `metrics`, these and all that is not given are chosen as by `concord init`: cutoffs up
    to the length of the lists, the unit, ratings that count as liked, and a minimum relevant
    difference of 2 %. `chosen` of the result names these arguments.

    Parameters
    ----------
    models : dict
        Name -> recommendations as `evaluate` takes them: frames, paths or dicts.
        A model that was trained several times, with other seeds or on other folds, is
        {"replicates": {1: lists, 2: lists}}.
        `Model(lists, values)` has values per user next to its lists, such as latency or cost:
        each of their columns is one more metric.
        With the field `model`, one table of all models.
    truth : DataFrame, path or dict
        Ground truth as `evaluate` takes it; its column `time` is read if `columns` names it.
        For folds {"replicates": {1: truth, 2: truth}}: replicate 1 of every model is evaluated on
        the first ground truth, replicate 2 on the second.
    metrics : sequence of str, optional
        Labels such as "nDCG@10".
    baseline : str, optional
        The model that all others are compared with; by default the last of a dict.
    primary : sequence of str, optional
        The labels that decide, the most important first; by default the first of `metrics`.
        Their intervals hold together, see `family`.
    min_effect : float, str or dict, default=0
        Minimum relevant difference: a number, a share of the baseline's mean such as "2%",
        or one per label, with `default` for the others.
    conventions : str, Conventions or dict, default="standard"
        The name of a preset, `concord.preset(name)`, or a dict.
    columns : dict, optional
        Column names of all tables, and of single ones or the lists of a model:
        {"user": "userId", "truth": {"grade": "rating"}, "als": {"score": "prediction"}}.
    train : DataFrame or path, optional
        Training data: `user`, `item` [, `time`].
    items : DataFrame or path, optional
        The catalogue: `item` [, `categories` | `vector`] [, `title`] [, `group` if `columns`
        names it].
    users : DataFrame or path, optional
        `user`, and columns that `segments` name.
        Under a propensity exactly these users are evaluated, see docs/how-to/exposure-bias.md.
    options : Options, optional
        Confidence, families, segments, gate and others, see `concord.Options`.
    **fields
        Single fields of `concord.Options`, such as confidence=0.9.

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
    call = ComparisonCall(
        models=models,
        truth=truth,
        metrics=metrics,
        baseline=baseline,
        primary=primary,
        min_effect=min_effect,
        conventions=conventions,
        columns=columns,
        options=with_fields(options, fields, compare),
        train=train,
        items=items,
        users=users,
    ).completed()
    inputs = call.evaluate()
    return remember(build_comparison(inputs), call, inputs)
