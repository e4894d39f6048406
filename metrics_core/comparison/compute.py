"""Compute a Comparison from the results of models, with its conventions and provenance."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from concord.metrics_core.comparison.behaviour import evaluate_checks
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.differences import compare_pairs
from concord.metrics_core.comparison.families import decide_differences, find_winners
from concord.metrics_core.comparison.gate import with_decimals, with_findings
from concord.metrics_core.comparison.gate_inputs import decide_against_baseline
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.leaderboard import (
    compute_best_shares,
    compute_distributions,
    compute_scores,
    compute_tradeoffs,
    describe_metrics,
)
from concord.metrics_core.comparison.panel import compute_panels
from concord.metrics_core.comparison.replicates import compute_replicates
from concord.metrics_core.comparison.segments import compute_segments
from concord.metrics_core.comparison.ties import compute_tie_ranges, settle_ties, tie_warnings
from concord.metrics_core.comparison.top_lists import compare_lists
from concord.metrics_core.comparison.user_values import value_warnings
from concord.metrics_core.comparison.values_of_models import values_of_models_warnings
from concord.metrics_core.comparison.warnings.acknowledge import acknowledge_warnings
from concord.metrics_core.comparison.warnings.sampling import sampling_warnings
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.registry import CONVENTIONS
from concord.metrics_core.data.quality import without_reading
from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.model_result import (
    EvaluationData,
    ModelResult,
    Models,
    results_by_list,
)
from concord.metrics_core.evaluation.score import is_weighted_sum, uses_user_table
from concord.metrics_core.evaluation.warnings.lists import (
    checked_codes,
    evaluation_warnings,
    unit_word,
)
from concord.metrics_core.evaluation.warnings.sanity import checked_sanity, sanity_warnings
from concord.metrics_core.files import NO_FOLD
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.metrics.scope import affected_metrics
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import (
    TRUTH,
    TRUTH_OF_FOLD,
    DataWarning,
    InputFile,
    PinnedConvention,
    PinnedConventions,
    Provenance,
    TieRange,
    Unit,
    most_serious_first,
)
from concord.metrics_core.results.text_format import join_names


def _refuse_different_users(inputs: ComparisonInput) -> None:
    """Raise an InputError if the lists of two models add different users to the ground truth.

    Only under a propensity, where sums count users of whom nothing was observed.
    """
    config, conventions = inputs.config, inputs.config.conventions
    labels = [str(label) for label in config.labels if _counts_unobserved(label, conventions)]
    has_users = inputs.data.users is not None and uses_user_table(conventions)
    if conventions.propensity is None or has_users or not labels:
        return
    models_by_fold: dict[str, dict[str, list[str]]] = {}  # fold -> fingerprint of added users
    for name, result in results_by_list(inputs.models).items():
        by_users = models_by_fold.setdefault(result.quality.get("fold", NO_FOLD), {})
        by_users.setdefault(result.summary["propensity"]["only_in_lists"], []).append(name)
    for by_users in models_by_fold.values():
        if len(by_users) > 1:
            (one, *_), (other, *_) = list(by_users.values())[:2]
            unit = unit_word(conventions)
            problem = (
                f"{one} and {other} have lists for different {unit}s without observations, which "
                f"count 0 in means of {join_names(labels)} under a propensity"
            )
            fix = f"give both models lists for the same {unit}s"
            if uses_user_table(conventions):
                fix = f"give {config.settings.name('background', 'users')}, or {fix}"
            raise refuse("conventions.propensity", problem, fix)


def _counts_unobserved(label: Label, conventions: Conventions) -> bool:
    """True if users without an observed item count in the mean, with or without a list."""
    label_conventions = label.conventions(conventions)
    return is_weighted_sum(label, label_conventions) and label_conventions.user_no_recs != "drop"


def build_comparison(inputs: ComparisonInput) -> Comparison:
    """Return the comparison of models with lists.

    Raises
    ------
    InputError
        The data do not allow a segmentation, or the models are evaluated on different users.
    """
    config, models, data = inputs.config, inputs.models, inputs.data
    of_lists = config.of_lists
    _refuse_different_users(inputs)
    comparison, lists = compare_user_values(inputs), results_by_list(models)
    overlap = data.train_overlap(of_requests=config.of_requests)
    over_replicates, replicate_warnings = compute_replicates(
        inputs, comparison.scores, comparison.pairs
    )
    doubts = [
        *sanity_warnings(of_lists, models, data, inputs.references, overlap),
        *tie_warnings(inputs, comparison.ties),
    ]
    evaluated = evaluation_warnings(of_lists, lists, data, overlap)
    overlaps, list_warnings = compare_lists(inputs)
    checks = evaluate_checks(inputs)
    all_warnings = [
        *doubts,
        *sampling_warnings(of_lists, models, data),
        *_warnings_that_hold(inputs, comparison.ties, doubts, evaluated),
        *list_warnings,
        *replicate_warnings,
        *values_of_models_warnings(models),
    ]
    checked = checked_codes(of_lists, lists, data)
    checked += checked_sanity(of_lists, models, data, inputs.references)
    warnings = acknowledge_warnings(most_serious_first(all_warnings), config.acknowledge)
    decision = decide_against_baseline(inputs, comparison.pairs)
    if decision is not None:
        decision = with_findings(decision, checks, warnings)
        decision = with_decimals(decision, comparison.decimals)
    return replace(
        comparison,
        panel=tuple(compute_panels(inputs, comparison.pairs)),
        tradeoffs=tuple(compute_tradeoffs(config, models, comparison.pairs)),
        segments=tuple(compute_segments(inputs, comparison.pairs)),
        overlaps=tuple(overlaps),
        checks=tuple(checks),
        warnings=tuple(warnings),
        checked=tuple(checked),
        quality=collect_quality(lists, data),
        gate=decision,
        conventions=collect_conventions(config),
        provenance=collect_provenance(config, lists),
        replicates=over_replicates,
        references=inputs.references,
        unit=_unit(config, data),
        words=data.words,
    )


_STRONGER = {"no_common_item": "foreign_ids", "ties_at_cutoff": "tie_range"}


def _warnings_that_hold(
    inputs: ComparisonInput,
    ties: Sequence[TieRange],
    doubts: Sequence[DataWarning],
    warnings: Iterable[DataWarning],
) -> Iterator[DataWarning]:
    """Yield the warnings that hold in a comparison.

    One is left out if a stronger doubt says the same of all its models. Constant scores count if
    their order changes a value, and are named by model.
    """
    named = {(each.code, model) for each in doubts for model in each.models}
    ordered = {each.model for each in ties}
    for warning in warnings:
        names, stronger = {*warning.models}, _STRONGER.get(warning.code)
        if warning.code == "constant_scores" and names & ordered:
            models = (m for m, x in inputs.models.items() if names & {m, *x.trainings})
            yield replace(warning, models=tuple(models))
        elif warning.code != "constant_scores" and not (
            stronger and all((stronger, name) in named for name in names)
        ):
            yield warning


def compare_user_values(inputs: ComparisonInput) -> Comparison:
    """Return the parts of a comparison that need only values per user."""
    config, tests = inputs.config, compare_pairs(inputs)
    pairs = decide_differences(config, tests, len(inputs.models))
    pairs = settle_ties(inputs, tests, pairs)
    return Comparison(
        title=config.title,
        baseline=config.baseline,
        primary=tuple(config.primary),
        confidence=config.confidence,
        models=tuple(inputs.models),
        metrics=tuple(describe_metrics(config)),
        ks=tuple(config.ks),
        scores=tuple(compute_scores(inputs, pairs)),
        pairs=tuple(pairs),
        distributions=tuple(compute_distributions(config, inputs.aligned)),
        best=tuple(compute_best_shares(inputs)),
        winners=tuple(find_winners(config, tests)),
        ties=tuple(compute_tie_ranges(inputs)),
        family=config.family,
        tried=config.tried,
    )


def _unit(config: ComparisonConfig, data: EvaluationData) -> Unit | None:
    """Return the unit with its columns in the ground truth; None if it is a user."""
    mean = config.conventions.unit_mean
    truth = next(iter(data.truth_qualities.values()))
    return None if mean is None else Unit(tuple(truth["unit"]), mean)


def build_value_comparison(
    inputs: ComparisonInput, directed_metrics: Collection[str]
) -> Comparison:
    """Return the comparison of models of which only values per user are known.

    It has no panel, trade-offs, segments, replicates and conventions, which need lists.

    Parameters
    ----------
    directed_metrics : collection of str
        Metrics for which the caller set whether higher or lower is better.
    """
    models, comparison = inputs.models, compare_user_values(inputs)
    warnings = value_warnings(inputs, directed_metrics)
    return replace(
        comparison,
        warnings=tuple(acknowledge_warnings(warnings, inputs.config.acknowledge)),
        checked=("user_sets_differ",) if len(models) > 1 else (),
        quality={
            model: {**without_reading(each.quality), "users": each.summary["users"]}
            for model, each in models.items()
        },
        gate=decide_against_baseline(inputs, comparison.pairs),
        provenance=collect_value_provenance(models),
    )


def collect_quality(models: Models, data: EvaluationData) -> dict[str, Any]:
    """Return the counts of every table, and the counts of evaluated users of every model."""
    by_model = {
        model: {
            **without_reading(result.quality),
            "users": result.summary["users"],
            "judged_share": result.summary["judged_share"],
        }
        for model, result in models.items()
    }
    return {**by_model, "truth": without_reading(data.truth_quality)}


def collect_conventions(config: ComparisonConfig) -> PinnedConventions:
    """Return every convention with its value and the evaluated metrics that it can change."""
    pinned, evaluated = config.conventions, {label.name for label in config.labels}
    stored = pinned.as_dict()
    values = tuple(
        PinnedConvention(
            each.name,
            getattr(pinned, each.name),
            tuple(name for name in affected_metrics(each.name) if name in evaluated),
        )
        for each in CONVENTIONS
        if each.name in stored
    )
    return PinnedConventions(pinned.preset, pinned.fingerprint, values, stored["overrides"])


def collect_provenance(config: ComparisonConfig, models: Models) -> Provenance:
    """Return the input tables, the versions of programs and the fingerprint of the conventions."""
    summaries = {model: result.summary for model, result in models.items()}
    truths = {_truth_role(each): each.summary["inputs"]["truth"] for each in models.values()}
    lists = {model: summary["inputs"]["lists"] for model, summary in summaries.items()}
    values = {f"{m}: values": each["inputs"].get("values") for m, each in summaries.items()}
    files = truths | lists | {role: file for role, file in values.items() if file}
    return Provenance(
        tuple(InputFile(role, file["path"], file["sha256"]) for role, file in files.items()),
        _versions([summary["versions"] for summary in summaries.values()]),
        config.conventions.fingerprint,
    )


def collect_value_provenance(models: Models) -> Provenance:
    """Return the files of values, or models without files, and the versions of programs."""
    files = {m: result.summary.get("inputs", {}).get("values", {}) for m, result in models.items()}
    return Provenance(
        tuple(InputFile(m, file.get("path", m), file.get("sha256")) for m, file in files.items()),
        _versions([result.summary["versions"] for result in models.values()]),
        "",
    )


def _truth_role(result: ModelResult) -> str:
    fold = result.quality.get("fold")
    return f"{TRUTH_OF_FOLD}{fold}" if fold else TRUTH


def _versions(by_model: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return program -> version; several versions if models were evaluated with different ones."""
    programs = list(dict.fromkeys(name for versions in by_model for name in versions))
    return {
        name: ", ".join(dict.fromkeys(v[name] for v in by_model if name in v)) for name in programs
    }
