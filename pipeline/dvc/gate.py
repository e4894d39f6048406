"""The gate's decision: each compared model against the baseline, or each model against an earlier revision."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.gate import decide, guarded, joined, with_unmatched
from concord.metrics_core.comparison.gate_evidence import (
    Checked,
    checked,
    decided,
    gate_differences,
)
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.replicate_config import ReplicateNames
from concord.metrics_core.comparison.replicated_models import with_replicates
from concord.metrics_core.comparison.segmentation import ByPopularity
from concord.metrics_core.errors import InputError, Problem, refuse
from concord.metrics_core.evaluation.model_result import EvaluationData, ModelResult, Models
from concord.metrics_core.files import content_id
from concord.metrics_core.metrics.label import parse
from concord.metrics_core.results.gate import Decision, Gate, Measured, UnmatchedModels
from concord.pipeline.dvc.changes import (
    NOW,
    THEN,
    RevisionMismatch,
    find_mismatch,
    one_sided_replicates,
    renamed_note,
    version_warnings,
)
from concord.pipeline.dvc.revision import PLACE, RevisionResults, load_revision
from concord.pipeline.params.config import config_from_params
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.stages.evaluations import ground_of, read_evaluations

_BACKGROUND = ("train", "items")  # what metrics beyond accuracy read


@dataclass(frozen=True)
class GateResult:
    """The decision, and notes on models that only one side has and on other versions of Concord."""

    decision: Decision
    notes: tuple[str, ...] = ()


def decide_gate(
    params: Params, revision: str | None = None, *, undecided_passes: bool | None = None
) -> GateResult:
    """The decision of the gate against the baseline, or against the results of a revision.

    undecided_passes : in place of what params.yaml says

    Raises
    ------
    InputError : there is no gate, nobody to decide on, or results that cannot be compared
    """
    config = config_from_params(params)
    if config.gate is None:
        raise refuse(
            f"{PARAMS}: gate", "asks nothing", f"write what it asks, such as `{_example(config)}`"
        )
    gate = config.gate
    if undecided_passes is not None:
        gate = replace(gate, undecided_passes=undecided_passes)
    lists, config = read_evaluations(params, config, gate.labels)
    evaluations = with_replicates(lists, config)
    ground = ground_of(params)
    if revision is None:
        found = _against_baseline(
            ComparisonInput(replace(config, gate=gate), evaluations, ground), gate
        )
        return replace(found, notes=tuple(_over_users(config, found.decision)))
    named = gate.models or tuple(evaluations)
    with load_revision(revision, params, config, named, lists=_reads_lists(config, gate)) as before:
        rule = params.gate.new_models if params.gate else None
        return _against_revision(config, gate, evaluations, ground, before, rule=rule)


def _example(config: ComparisonConfig) -> str:
    """A gate in one line, which YAML reads."""
    margins = ", ".join(f"{label!r}: 2%" if "," in label else f"{label}: 2%" for label in config.primary)  # fmt: skip
    return f"gate: {{guardrails: {{{margins}}}}}"


def _against_baseline(evidence: ComparisonInput, gate: Gate) -> GateResult:
    found = decided(evidence, gate_differences(evidence, gate))
    if found is None or not found.models:
        what = f"there is no model beside the baseline, {evidence.config.baseline}, to decide on"
        fix = f"name a second model in {PARAMS}, or compare with a revision: `concord gate HEAD`"
        raise refuse(PLACE, what, fix)
    return GateResult(found)


def _against_revision(
    config: ComparisonConfig,
    gate: Gate,
    evaluations: Mapping[str, ModelResult],
    ground: EvaluationData,
    before: RevisionResults,
    *,
    rule: str | None,
) -> GateResult:
    differing = find_mismatch(config, evaluations, before)
    _refuse_mismatch(gate, differing, evaluations, before)
    named = gate.models or tuple(evaluations)
    new = [model for model in named if model not in before.evaluations]
    vanished = before.vanished(evaluations)
    known = {*before.models, *before.former_names, *before.evaluations}
    rules = [
        *(["baseline"] if config.baseline in known else []),
        *(["ignore"] if before.evaluations else []),
    ]
    unmatched = bool(new and vanished) and rule not in rules
    others = [model for model in new if model != config.baseline]
    added = others if rule == "baseline" and not unmatched else []
    if gate.models and new and not unmatched and rule is None:
        fix = (
            "leave them out of `gate.models`, set `gate.new_models` to `baseline` (compare them with "
            "the baseline) or `ignore`, or compare all with the baseline: `concord gate`"
        )
        raise refuse(PLACE, f"{before.name} has no results of {', '.join(new)}", fix)
    if not (before.evaluations or added or unmatched):
        fix = (
            "name a revision that has one of them, set `gate.new_models: baseline`, or compare with "
            "the baseline: `concord gate`"
        )
        raise refuse(PLACE, f"{before.name} has none of the models {', '.join(named)}", fix)
    found = {
        model: _checks_against_revision(
            config, gate, {NOW: evaluations[model], THEN: then}, ground, differing
        )
        for model, then in before.evaluations.items()
    }
    decision = decide(
        found,
        against="revision",
        reference=before.name,
        confidence=config.confidence,
        undecided_passes=gate.undecided_passes,
    )
    if added:
        decision = joined(decision, _of_new_models(config, gate, evaluations, ground, added))
    if unmatched:
        now, then = _first(new[0], config.replicates), _first(vanished[0], before.replicates)
        unmatched_models = UnmatchedModels(
            tuple(vanished), tuple(new), f"models.{now}.was: {then}", tuple(rules)
        )
        decision = with_unmatched(decision, unmatched_models)
    left_out = [model for model in new if model not in added]
    trainings = [f"{what}: {', '.join(names)}" for names, what in one_sided_replicates(config, before) if names]  # fmt: skip
    over_users = _over_users(config, decision)
    versions = version_warnings(evaluations, before)
    notes = (*versions, *_notes(left_out, vanished, before), *differing.notes())
    return GateResult(decision, (*notes, *trainings, *over_users))


def _first(model: str, replicates: ReplicateNames) -> str:
    """Return the first entry of `models` of a model."""
    return next(iter(replicates.get(model, {"": model}).values()))


def _of_new_models(
    config: ComparisonConfig,
    gate: Gate,
    evaluations: Mapping[str, ModelResult],
    ground: EvaluationData,
    models: Sequence[str],
) -> Decision:
    """The decision on models that a revision lacks, against the baseline of now."""
    compared = {model: evaluations[model] for model in (config.baseline, *models)}
    evidence = ComparisonInput(config, compared, ground)
    return decide(
        checked(evidence, gate, models, gate_differences(evidence, gate)),
        against="baseline",
        reference=config.baseline,
        confidence=config.confidence,
        undecided_passes=gate.undecided_passes,
    )


def _over_users(config: ComparisonConfig, decision: Decision) -> Iterator[str]:
    trained = [each.model for each in decision.models if each.model in config.replicates]
    if trained:
        yield f"decided over users: other trainings of {', '.join(trained)} are not in the intervals"


def _notes(new: Sequence[str], vanished: Sequence[str], before: RevisionResults) -> Iterator[str]:
    if before.former_names:
        yield renamed_note(before)
    if new:
        yield f"not in {before.name}, so not decided on: {', '.join(new)}"
    if vanished:
        yield f"removed: {', '.join(vanished)}"


def _checks_against_revision(
    config: ComparisonConfig,
    gate: Gate,
    models: Models,
    ground: EvaluationData,
    differing: RevisionMismatch,
) -> Checked:
    """The guardrails and success metrics of one model; those that were not evaluated then, or otherwise, stay undecided."""
    revision, evaluated = differing.revision, models[THEN].summary["metrics"]
    lacking = {
        label for label in gate.labels if label in differing.labels or label not in evaluated
    }
    evidence = ComparisonInput(replace(config, baseline=THEN), models, ground)
    known = _without(gate, lacking)
    guardrails, success = checked(evidence, known, [NOW], gate_differences(evidence, known))[NOW]
    for name, margins in ((None, gate.guardrails), *gate.segments.items()):
        for label in filter(lacking.__contains__, margins):
            measured = _not_measured(label, name, departed=label in differing.labels)
            guardrail = guarded(measured, margins[label], None)
            departure = differing.labels.get(label)
            guardrails.append(replace(guardrail, revision=revision, departure=departure))
    success += [
        _not_measured(label, None, departed=label in differing.labels)
        for label in gate.success
        if label in lacking
    ]
    return guardrails, success


def _without(gate: Gate, labels: Container[str]) -> Gate:
    return replace(
        gate,
        guardrails={k: v for k, v in gate.guardrails.items() if k not in labels},
        segments={
            name: {k: v for k, v in margins.items() if k not in labels}
            for name, margins in gate.segments.items()
        },
        success=tuple(label for label in gate.success if label not in labels),
    )


def _not_measured(label: str, segmentation: str | None, *, departed: bool) -> Measured:
    """Return a label that has no value at the revision, or one under other conventions or code."""
    return Measured(
        label=label,
        higher_is_better=parse(label).metric.higher_is_better,
        segmentation=segmentation,
        segment=None,
        mean=None,
        reference=None,
        difference=None,
        ci_low=None,
        ci_high=None,
        n_users=0,
        n_nonzero=0,
        n_lost=0,
        test="none",
        p=None,
        departed=departed or None,
    )


def _reads_lists(config: ComparisonConfig, gate: Gate) -> bool:
    over_all = any(parse(label).metric.of_catalogue for label in gate.labels)
    return over_all or any(
        isinstance(config.segments[name], ByPopularity) for name in gate.segments
    )


def _refuse_mismatch(
    gate: Gate,
    differing: RevisionMismatch,
    evaluations: Mapping[str, ModelResult],
    before: RevisionResults,
) -> None:
    """Raise an InputError if the numbers of the two revisions are not comparable."""
    problems = [
        replace(each, fix="evaluate both alike: a gate decides on nothing else")
        for each in differing.refusals(gate.labels)
    ]
    beyond = [label for label in gate.labels if parse(label).metric.family == "beyond"]
    for role in _BACKGROUND if beyond else ():
        if other := [m for m, then in before.evaluations.items() if _other(role, then, evaluations[m])]:  # fmt: skip
            what = f"{', '.join(other)} had another {role}, which {beyond[0]} may depend on"
            fix = "evaluate both alike, or leave metrics beyond accuracy out of the gate"
            problems.append(Problem(f"{PARAMS} at {before.name}", what, fix))
    if problems:
        raise InputError(problems)


def _other(role: str, then: ModelResult, now: ModelResult) -> bool:
    was, is_now = (each.summary["inputs"].get(role, {}) for each in (then, now))
    return content_id(was) != content_id(is_now)
