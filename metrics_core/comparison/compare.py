"""`compare`: the lists of several models and one truth in, a Comparison out."""

from collections.abc import Mapping, Sequence
from typing import Any

from concord.metrics_core.comparison.arguments import parse_list_arguments
from concord.metrics_core.comparison.compute import build_comparison
from concord.metrics_core.comparison.config import (
    MAX_MISSING_LISTS,
    Adjustment,
    ComparisonConfig,
)
from concord.metrics_core.comparison.gate_evidence import challengers_of
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.min_effect import Effects
from concord.metrics_core.comparison.model_tables import evaluate_models
from concord.metrics_core.comparison.replicated_models import with_replicates
from concord.metrics_core.conventions.presets import ConventionsLike
from concord.metrics_core.data.arguments import Columns
from concord.metrics_core.data.frames import Data
from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.accumulator import panels_of
from concord.metrics_core.results.comparison import Comparison


def compare(
    models: Mapping[str, Data | Mapping[str, Mapping[Any, Data]]],
    truth: Data | Mapping[str, Mapping[Any, Data]],
    *,
    metrics: Sequence[str],
    baseline: str,
    conventions: ConventionsLike,
    primary: Sequence[str] | None = None,
    min_effect: Effects = 0.0,
    train: Data | None = None,
    items: Data | None = None,
    users: Data | None = None,
    segments: Mapping[str, Mapping[str, Any]] | None = None,
    gate: Mapping[str, Any] | None = None,
    columns: Columns | None = None,
    input: Mapping[str, Any] | None = None,
    title: str = "Comparison",
    confidence: float = 0.95,
    adjustment: Adjustment = "holm",
    wilcoxon: bool = False,
    resamples: int = 2000,
    seed: int = 1,
    max_missing_lists: float = MAX_MISSING_LISTS,
    panel: bool = True,
    paired_replicates: bool = False,
    unit: Sequence[str] = (),
) -> Comparison:
    """Every model against every other, on the same users, under the same conventions.

    The stage `compare` of the pipeline computes the same: the same tables give the same Comparison.

    Parameters
    ----------
    models      : name -> lists, as `evaluate` takes them: frames, paths or dicts; {"replicates": {1: lists, 2: lists}}
                  of a model that was trained several times, with other seeds or on other folds
    truth       : as `evaluate` takes it; its column `time` is read where `columns` names it.
                  {"replicates": {1: truth, 2: truth}}: of folds, by which replicate 1, 2 … of every model is judged
    metrics     : labels such as "nDCG@10"
    baseline    : the model that all others are compared with
    conventions : `concord.preset(name)`, the name of a preset, or a dict
    primary     : the labels that decide, the most important first; else the first of `metrics`. Their p values are
                  adjusted together, over all pairs of models
    min_effect  : the smallest difference that matters: a number, a share of the baseline's mean such as "2%", or one
                  a label with `default` for the others
    train       : `user`, `item` [, `time`]: what the models learned from
    items       : the catalogue: `item` [, `categories` | `vector`] [, `title`] [, `group` where `columns` names it]
    users       : `user`, and columns that `segments` name. Under a propensity its users are evaluated, all of them and
                  no others: see docs/how-to/exposure-bias.md
    segments    : name -> {"by": "activity", "edges": [0, 20]}: users by interactions in train;
                  {"by": "user", "column": "country"}: users by a column, with `edges` a number that is cut there;
                  of both, "compare_gaps": True tests the gap between best and worst group against the baseline's;
                  {"by": "truth_item", "shares": [0.5, 0.8]} or {"by": "recommended_item", …}: items by popularity
    gate        : what must not get worse and what must get better, as `gate:` of params.yaml has it:
                  {"guardrails": {"nDCG@10": "2%"}, "segments": {"activity": {"nDCG@10": "5%"}}, "success": ["R@20"]};
                  the decision is `gate` of the result
    columns     : what tables call their columns: {"truth": {"user": "user_id"}, "als": {"score": "prediction"}}
    input       : what tables may hold beside the usual, such as {"negative_grade": "zero"}
    confidence  : of all intervals and tests
    adjustment  : of the primary p values: "holm", or "max_t": joint sign flips
    wilcoxon    : give its p values too; no verdict rests on them
    resamples   : of bootstrap, sign flips and list swaps, which begin at `seed`
    max_missing_lists : share of the evaluated users without a list, above which a model is not compared
    panel       : tell the primary labels under the definitions of all presets too
    paired_replicates : is replicate 1 of all models the same seed or fold, so that they are compared one by one?
    unit        : of requests: the columns of lists and truth that name one, the user's first, as `evaluate` takes them

    Raises
    ------
    ValueError : what is wrong, where, and what to do; nothing is dropped or filled silently
    """
    tables = {"train": train, "items": items, "users": users}
    parsed = parse_list_arguments(
        models,
        truth,
        metrics=metrics,
        conventions=conventions,
        tables=tables,
        columns=columns,
        segments=segments,
        gate=gate,
        unit=unit,
    )
    config = ComparisonConfig(
        labels=parsed.report_labels,
        ks=parsed.ks,
        conventions=parsed.conventions,
        baseline=baseline,
        primary=parsed.names[:1] if primary is None else primary,
        min_effect=min_effect,
        title=title,
        confidence=confidence,
        adjustment=adjustment,
        wilcoxon=wilcoxon,
        resamples=resamples,
        seed=seed,
        max_missing_lists=max_missing_lists,
        panel=panel,
        segments=parsed.segments,
        gate=parsed.gate,
        replicates=parsed.replicates,
        paired_replicates=paired_replicates,
    ).validated(
        parsed.models,
        lists=parsed.lists,
        folds=parsed.folds,
        tables=parsed.given_tables,
        problems=parsed.problems,
    )
    if config.gate is not None and not challengers_of(config, models):
        problem = f"there is no model beside the baseline, {baseline}, to decide on"
        raise refuse("gate", problem, "name another model, or leave out `gate`")
    panels = panels_of(config.labels, config.primary if panel else (), config.conventions)
    results, ground = evaluate_models(
        config,
        parsed.lists,
        parsed.truths,
        tables,
        columns=columns,
        input=input,
        panels=panels,
        unit=unit,
    )
    return build_comparison(ComparisonInput(config, with_replicates(results, config), ground))
