"""Options of a comparison: keyword arguments of `compare`, and keys of params.yaml."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from inspect import signature
from typing import Any, Literal

from concord.metrics_core.conventions.registry import suggest
from concord.metrics_core.data.argument_types import PolicyOptions, Where
from concord.metrics_core.errors import Problem, raise_problems
from concord.metrics_core.metrics.metric import Bounds

Family = Literal["baseline", "all"]
MAX_MISSING_LISTS = 0.5  # share of the evaluated users


@dataclass(frozen=True, kw_only=True)
class StatisticsOptions:
    """Options whose values are the same in arguments, params.yaml and a configuration."""

    title: str = "Comparison"
    confidence: float = 0.95
    family: Family = "baseline"
    tried: int | None = None
    wilcoxon: bool = False
    resamples: int = 2000
    seed: int = 1
    max_missing_lists: float = MAX_MISSING_LISTS
    panel: bool = True
    paired_replicates: bool = False


@dataclass(frozen=True, kw_only=True)
class Options(StatisticsOptions):
    """Options of `compare` and `compare_values` that most comparisons leave as they are.

    The blocks of params.yaml have the same fields and the same defaults. `compare` takes each field
    as a keyword argument, too; `compare_values` those that need no lists.

    Attributes
    ----------
    higher_is_better : dict, optional
        Metric of the values next to lists -> True or False, such as {"latency_ms": False}; of each.
        Of values alone, only metrics whose lowest value is the best.
    bounds : dict, optional
        Metric of such values -> (lowest, highest) possible value. A value outside is rejected.
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
    acknowledge : dict, optional
        Code of a warning -> why it is accepted, and up to which extent if it has one:
        {"truth_in_train": {"reason": "repeat purchases are wanted", "up_to": "25%"}}.
        It is not serious then, and comes last.
    input : dict, optional
        What tables may contain besides the usual, such as {"negative_grade": "zero"}.
    unit : sequence of str, optional
        Columns of lists and truth that name a request, the user's first, as `evaluate` takes them.
    words : dict, optional
        Words that texts show for user, item and request, such as {"user": "query", "item":
        "document"}, which is the default for ground truth of TREC or with columns of search.
    model : str, optional
        Column of the table `models` that names the model of each row.
    where : dict, optional
        Column -> value: only these rows of all lists are read, such as {"stage": "final"}. Of one
        model or another table {"als": {"stage": "ranked"}, "truth": {"split": "test"}}.

    Examples
    --------
    >>> import concord as cc
    >>> demo = cc.datasets.load_demo()
    >>> options = cc.Options(confidence=0.9, panel=False)
    >>> models = {name: demo.models[name] for name in ("ease", "als")}
    >>> cc.compare(models, demo.truth, metrics=["nDCG@10"], options=options).confidence
    0.9
    """

    higher_is_better: Mapping[str, bool] | None = None
    bounds: Mapping[str, Bounds] | None = None
    segments: Mapping[str, Mapping[str, Any]] | None = None
    gate: Mapping[str, Any] | None = None
    checks: Mapping[str, Mapping[str, Any]] | None = None
    acknowledge: Mapping[str, Mapping[str, Any]] | None = None
    input: PolicyOptions | None = None
    unit: Sequence[str] = ()
    words: Mapping[str, str] | None = None
    model: str | None = None
    where: Where | None = None

    @property
    def statistics(self) -> dict[str, Any]:
        """The options whose values need no parsing."""
        return {each.name: getattr(self, each.name) for each in fields(StatisticsOptions)}


def with_fields(
    options: Options | None, given: Mapping[str, Any], function: Callable[..., Any]
) -> Options:
    """Return the options with the fields that are given to a function as keyword arguments.

    Raises
    ------
    InputError
        A keyword argument is unknown, or `options` are none.
    """
    known = [each.name for each in fields(Options)]
    arguments = {*known, *signature(function).parameters} - {"fields"}
    problems = [
        Problem(name, f"is not an argument of `{function.__name__}`", suggest(name, arguments))
        for name in given
        if name not in known
    ]
    if options is not None and not isinstance(options, Options):
        fix = "write `options=concord.Options(confidence=0.9)`"
        problems.append(Problem("options", "is not `concord.Options`", fix))
    raise_problems(problems)
    return replace(options or Options(), **given)
