"""`compare`: the lists of several models and one truth in, a Comparison out."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from concord.metrics_core.comparison.compute import compared
from concord.metrics_core.comparison.config import (
    MAX_MISSING_LISTS,
    Adjustment,
    ComparisonConfig,
    Effects,
    baseline_findings,
    choice_findings,
    effect_findings,
    effects_of,
    in_report_order,
    label_findings,
    model_findings,
    number_findings,
    word_findings,
)
from concord.metrics_core.comparison.gate_config import gate_findings, gate_of
from concord.metrics_core.comparison.gate_evidence import challengers_of
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.model_tables import evaluate_models, given_tables
from concord.metrics_core.comparison.replicate_config import (
    fold_findings,
    replicate_findings,
    truths_of,
    unfolded,
    unpaired_folds,
)
from concord.metrics_core.comparison.replicated_models import with_replicates
from concord.metrics_core.comparison.segmentation import segment_findings, segmentations_of
from concord.metrics_core.conventions.presets import ConventionsLike
from concord.metrics_core.data.arguments import Columns
from concord.metrics_core.data.frames import Data
from concord.metrics_core.errors import ArgumentNames, InputError, Problem, refuse
from concord.metrics_core.evaluation.accumulator import panels_of
from concord.metrics_core.evaluation.evaluate import (
    parse_conventions,
    parse_labels,
    refuse_unread_columns,
)
from concord.metrics_core.evaluation.inputs import refuse_unit
from concord.metrics_core.files import NO_FOLD
from concord.metrics_core.metrics.label import canonical_label, with_own_metrics
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
    labels = parse_labels(metrics)
    pinned = with_own_metrics(parse_conventions(conventions), (label.name for label in labels))
    refuse_unit(unit, pinned)
    refuse_unread_columns(columns, labels, pinned)
    deciding = [str(labels[0])] if primary is None else primary
    settings, names = ArgumentNames("truth"), [str(label) for label in labels]
    background = {"train": train, "items": items, "users": users}
    segmentations = segmentations_of(segments or {})
    _refuse(
        [*model_findings(models), *label_findings(names, deciding), *effect_findings(min_effect)]
    )
    lists, replicates = unfolded(models)
    truths = truths_of(truth)
    folds = truths.keys() - {NO_FOLD}
    _refuse(
        number_findings(
            confidence=confidence,
            resamples=resamples,
            seed=seed,
            max_missing_lists=max_missing_lists,
        )
    )
    _refuse(
        word_findings(
            adjustment=adjustment,
            title=title,
            wilcoxon=wilcoxon,
            panel=panel,
            paired_replicates=paired_replicates,
        )
    )
    _refuse(
        [
            *replicate_findings(replicates, lists, paired=paired_replicates),
            *fold_findings(folds, list(models), replicates),
            *unpaired_folds(folds, paired=paired_replicates),
            *baseline_findings(baseline, models),
            *choice_findings(deciding, min_effect, names, settings),
            *segment_findings(segmentations, given_tables(background), settings),
        ]
    )
    config = ComparisonConfig(
        title=title,
        conventions=pinned,
        labels=in_report_order(labels),
        ks=sorted({label.k for label in labels if label.k is not None}),
        primary=[canonical_label(text) for text in deciding],
        min_effects=effects_of(min_effect, names),
        baseline=baseline,
        confidence=confidence,
        adjustment=adjustment,
        wilcoxon=wilcoxon,
        resamples=resamples,
        seed=seed,
        max_missing_lists=max_missing_lists,
        panel=panel,
        settings=settings,
        segments=segmentations,
        gate=None if gate is None else gate_of(gate),
        replicates=replicates,
        paired_replicates=paired_replicates,
    )
    if config.gate is not None:
        _refuse(gate_findings(config.gate, config, list(models)))
        if not challengers_of(config, models):
            what = f"there is no model beside the baseline, {baseline}, to decide on"
            raise refuse("gate", what, "name another model, or leave out `gate`")
    panels = panels_of(config.labels, config.primary if panel else (), pinned)
    results, ground = evaluate_models(
        config, lists, truths, background, columns=columns, input=input, panels=panels, unit=unit
    )
    return compared(ComparisonInput(config, with_replicates(results, config), ground))


def _refuse(found: Iterable[tuple[str, str, str]]) -> None:
    if problems := [Problem(*each) for each in found]:
        raise InputError(problems)
