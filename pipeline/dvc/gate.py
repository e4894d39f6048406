"""The gate's decision on the models, against the baseline or an earlier revision."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.gate import (
    decide,
    decide_guardrail,
    join_decisions,
    with_decimals,
    with_findings,
    with_unmatched,
)
from concord.metrics_core.comparison.gate_inputs import (
    GateMetrics,
    compare_lists_of_gate,
    decide_against_baseline,
    measure_gate_metrics,
    measured_difference,
)
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.replicate_config import ReplicateNames
from concord.metrics_core.comparison.replicates import with_replicates
from concord.metrics_core.comparison.segmentation import ByPopularity
from concord.metrics_core.comparison.warnings.acknowledge import acknowledge_warnings
from concord.metrics_core.errors import InputError, Problem, raise_problems, refuse
from concord.metrics_core.evaluation.model_result import ModelResult, Models
from concord.metrics_core.files import content_id
from concord.metrics_core.metrics.label import parse
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import SUSPICIOUS, DataWarning
from concord.metrics_core.results.gate import (
    Decision,
    Gate,
    Margin,
    MeasuredDifference,
    UnmatchedModels,
)
from concord.metrics_core.stats.paired_difference import UNTESTED
from concord.pipeline.commands.parser import COMMAND_LINE
from concord.pipeline.dvc.changes import (
    NOW,
    THEN,
    RevisionMismatch,
    find_mismatch,
    one_sided_replicates,
    renaming_notes,
    version_warnings,
)
from concord.pipeline.dvc.revision import RevisionResults, comparison_at, load_revision
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.stages.evaluation_data import evaluation_data
from concord.pipeline.stages.evaluations import read_evaluations
from concord.reports.text.behaviour import changed_lists, failure

_SIDE_DATA = ("train", "items")  # read by metrics beyond accuracy


@dataclass(frozen=True)
class GateResult:
    """A decision, with notes on models that one side lacks and on versions of Concord."""

    decision: Decision
    notes: tuple[str, ...] = ()


def decide_gate(
    params: Params,
    comparison: Comparison,
    revision: str | None = None,
    *,
    undecided_passes: bool | None = None,
) -> GateResult:
    """Return the decision of the gate against the baseline or a revision.

    Parameters
    ----------
    params : Params
        The content of params.yaml.
    comparison : Comparison
        The stored comparison, whose warnings may make a decision suspicious.
    revision : str, optional
        The revision to compare with. Default: compare with the baseline.
    undecided_passes : bool, optional
        Overrides `gate.undecided` of params.yaml.

    Raises
    ------
    InputError
        If there is no gate or no model to decide on, or if results cannot be compared.
    """
    config = params.comparison_config
    gate = config.gate
    if gate is None or params.gate is None:
        problem, fix = "is missing", f"write `{_example(config)}`"
        if "gate" in params.content:
            problem, fix = "has no rules", f"{fix} instead of `gate: {{}}`"
        raise refuse(f"{PARAMS}: gate", problem, fix)
    if undecided_passes is not None:
        gate = replace(gate, undecided_passes=undecided_passes)
    lists, config = read_evaluations(params, config, gate.labels)
    config = replace(config, gate=gate)
    inputs = ComparisonInput(config, with_replicates(lists, config), evaluation_data(params))
    if revision is None:
        decision, warnings = _against_baseline(inputs, gate), [*comparison.warnings]
        notes = [*_replicate_notes(config, decision), *filter(None, [changed_lists(comparison)])]
    else:
        models = gate.models or tuple(inputs.models)
        with_lists = _reads_lists(config, gate)
        with load_revision(revision, params, config, models, with_lists=with_lists) as previous:
            decision, notes = _against_revision(inputs, gate, previous, params.gate.new_models)
        of_revision, unknown = _warnings_at(previous)
        warnings = [*comparison.warnings, *acknowledge_warnings(of_revision, config.acknowledge)]
        notes += unknown
    decision = with_findings(decision, comparison.checks, warnings)
    decision = with_decimals(decision, comparison.decimals)
    return GateResult(decision, (*notes, *_other_failures(comparison, decision)))


def _other_failures(comparison: Comparison, decision: Decision) -> Iterator[str]:
    """Yield failed checks of models that the gate does not decide on."""
    decided = {each.model for each in decision.models}
    for check in comparison.checks:
        if not (check.passed or check.model in decided):
            yield failure(check)


def _warnings_at(previous: RevisionResults) -> tuple[list[DataWarning], list[str]]:
    """Return the warnings of a revision by current names, and a note if they are unknown."""
    unknown = f"it is unknown whether the results of {previous.name} are suspicious"
    try:
        comparison = comparison_at(previous.name)
    except InputError:
        return [], [unknown]
    current = {was: name for name, was in previous.former_names.items()}
    warnings = [
        replace(
            each,
            models=tuple(current.get(name, name) for name in each.models),
            details={**each.details, "revision": previous.name},
        )
        for each in comparison.warnings
    ]
    return warnings, [] if SUSPICIOUS & {*comparison.checked} else [unknown]


def _example(config: ComparisonConfig) -> str:
    """Return the YAML of a gate in one line."""
    labels = [repr(label) if "," in label else label for label in config.primary]
    return f"gate: {{guardrails: {{{', '.join(f'{label}: 2%' for label in labels)}}}}}"


def _against_baseline(inputs: ComparisonInput, gate: Gate) -> Decision:
    decision = decide_against_baseline(inputs, compare_lists_of_gate(inputs, gate))
    if decision is None or not decision.models:
        baseline = inputs.config.baseline
        problem = f"there is no model besides the baseline, {baseline}, to decide on"
        fix = f"name a second model in {PARAMS}, or compare with a revision: `concord gate HEAD`"
        raise refuse(COMMAND_LINE, problem, fix)
    return decision


def _against_revision(
    inputs: ComparisonInput, gate: Gate, previous: RevisionResults, new_models: str | None
) -> tuple[Decision, list[str]]:
    """Return the decision against a revision, and notes; `new_models` is a rule of params.yaml."""
    config, models = inputs.config, gate.models or tuple(inputs.models)
    mismatch = find_mismatch(config, inputs.models, previous)
    raise_problems(_mismatch_problems(gate, mismatch, inputs.models, previous))
    new = [model for model in models if model not in previous.evaluations]
    vanished = previous.vanished_models(inputs.models)
    known = {*previous.models, *previous.former_names, *previous.evaluations}
    rules = ["baseline"] if config.baseline in known else []
    rules += ["ignore"] if previous.evaluations else []
    is_unmatched = bool(new and vanished) and new_models not in rules
    added: list[str] = []
    if new_models == "baseline" and not is_unmatched:
        added = [model for model in new if model != config.baseline]
    if gate.models and new and not is_unmatched and new_models is None:
        fix = (
            "remove them from `gate.models`, set `gate.new_models` to `baseline` (compare them "
            "with the baseline) or `ignore`, or compare all with the baseline: `concord gate`"
        )
        raise refuse(COMMAND_LINE, f"{previous.name} has no results of {', '.join(new)}", fix)
    if not (previous.evaluations or added or is_unmatched):
        problem = f"{previous.name} has none of the models {', '.join(models)}"
        fix = (
            "name a revision that has one of them, set `gate.new_models: baseline`, or compare "
            "with the baseline: `concord gate`"
        )
        raise refuse(COMMAND_LINE, problem, fix)
    checks = {
        model: _checks_against_revision(
            inputs, gate, {NOW: inputs.models[model], THEN: previous_result}, mismatch
        )
        for model, previous_result in previous.evaluations.items()
    }
    decision = decide(
        checks,
        against="revision",
        reference=previous.name,
        confidence=config.confidence,
        undecided_passes=gate.undecided_passes,
    )
    if added:
        decision = join_decisions(decision, _decide_new_models(inputs, gate, added))
    if is_unmatched:
        entry = _first_entry(new[0], config.replicates)
        previous_entry = _first_entry(vanished[0], previous.replicates)
        example = f"models.{entry}.was: {previous_entry}"
        unmatched = UnmatchedModels(tuple(vanished), tuple(new), example, tuple(rules))
        decision = with_unmatched(decision, unmatched)
    notes = [*version_warnings(inputs.models, previous), *renaming_notes(previous)]
    if ignored := [model for model in new if model not in added]:
        notes.append(f"not in {previous.name}, so not decided on: {', '.join(ignored)}")
    if vanished:
        notes.append(f"removed: {', '.join(vanished)}")
    notes += [*mismatch.notes(), *one_sided_replicates(config, previous)]
    return decision, [*notes, *_replicate_notes(config, decision)]


def _first_entry(model: str, replicates: ReplicateNames) -> str:
    """Return a model's first entry of `models`."""
    return next(iter(replicates.get(model, {"": model}).values()))


def _decide_new_models(inputs: ComparisonInput, gate: Gate, models: Sequence[str]) -> Decision:
    """Return the decision on models that a revision lacks, against the current baseline."""
    config = replace(inputs.config, gate=replace(gate, models=tuple(models)))
    compared = {model: inputs.models[model] for model in (config.baseline, *models)}
    return _against_baseline(ComparisonInput(config, compared, inputs.data), gate)


def _replicate_notes(config: ComparisonConfig, decision: Decision) -> Iterator[str]:
    models = [entry.model for entry in decision.models if entry.model in config.replicates]
    if models:
        names = ", ".join(models)
        yield f"decided over users: other replicates of {names} are not in the intervals"


def _checks_against_revision(
    inputs: ComparisonInput, gate: Gate, sides: Models, mismatch: RevisionMismatch
) -> GateMetrics:
    """Return guardrails and success metrics of a model; undecided if they are not comparable."""
    evaluated = sides[THEN].summary["metrics"]
    missing = {label for label in gate.labels if label in mismatch.labels or label not in evaluated}
    config = replace(inputs.config, baseline=THEN)
    inputs = ComparisonInput(config, sides, inputs.data)
    comparable = replace(
        gate,
        guardrails=_without(gate.guardrails, missing),
        segments={name: _without(margins, missing) for name, margins in gate.segments.items()},
        success=tuple(label for label in gate.success if label not in missing),
    )
    differences = compare_lists_of_gate(inputs, comparable)
    guardrails, success = measure_gate_metrics(inputs, comparable, [NOW], differences)[NOW]
    for name, margins in ((None, gate.guardrails), *gate.segments.items()):
        for label in filter(missing.__contains__, margins):
            guardrail = decide_guardrail(_not_measured(label, name, mismatch), margins[label], None)
            departure = mismatch.labels.get(label)
            guardrails.append(replace(guardrail, revision=mismatch.revision, departure=departure))
    success += [_not_measured(label, None, mismatch) for label in gate.success if label in missing]
    return guardrails, success


def _without(margins: Mapping[str, Margin], labels: Container[str]) -> dict[str, Margin]:
    return {label: margin for label, margin in margins.items() if label not in labels}


def _not_measured(
    label: str, segmentation: str | None, mismatch: RevisionMismatch
) -> MeasuredDifference:
    """Return the entry of a label that the revision lacks or evaluated in another way."""
    return replace(
        measured_difference(parse(label), UNTESTED),
        segmentation=segmentation,
        departed=label in mismatch.labels or None,
    )


def _reads_lists(config: ComparisonConfig, gate: Gate) -> bool:
    """True if the gate has a metric of all lists or a segmentation by popularity."""
    return any(parse(label).metric.is_aggregate for label in gate.labels) or any(
        isinstance(config.segments[name], ByPopularity) for name in gate.segments
    )


def _mismatch_problems(
    gate: Gate, mismatch: RevisionMismatch, models: Models, previous: RevisionResults
) -> Iterator[Problem]:
    """Yield reasons why the results of both sides are not comparable."""
    for refusal in mismatch.refusals(gate.labels):
        yield replace(refusal, fix="evaluate both in the same way: a gate needs comparable results")
    beyond_accuracy = [label for label in gate.labels if parse(label).metric.family == "beyond"]
    for role in _SIDE_DATA if beyond_accuracy else ():
        names = [
            model
            for model, previous_result in previous.evaluations.items()
            if _input_id(previous_result, role) != _input_id(models[model], role)
        ]
        if names:
            problem = (
                f"{', '.join(names)} had another {role}, which {beyond_accuracy[0]} may depend on"
            )
            fix = "evaluate both in the same way, or remove metrics beyond accuracy from the gate"
            yield Problem(f"{PARAMS} at {previous.name}", problem, fix)


def _input_id(result: ModelResult, role: str) -> str | None:
    return content_id(result.summary["inputs"].get(role, {}))
