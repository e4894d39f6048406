"""Content of a pull request's comment: comparison, changes since a revision, gate decision."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.replicates import with_replicates
from concord.metrics_core.comparison.segmentation import ByPopularity
from concord.metrics_core.comparison.segments import compute_segment_cells
from concord.metrics_core.errors import InputError
from concord.metrics_core.evaluation.model_result import EvaluationData, ModelResult
from concord.metrics_core.files import content_id_text
from concord.metrics_core.results.comparison_parts import DataWarning
from concord.metrics_core.results.history import Change, RevisionChanges, Setting
from concord.pipeline.dvc.changes import (
    NOW,
    THEN,
    changes,
    find_mismatch,
    one_sided_notes,
    version_warnings,
)
from concord.pipeline.dvc.current_results import load_comparison, warn_if_stale
from concord.pipeline.dvc.gate import decide_gate
from concord.pipeline.dvc.git import refuse_other_owner, run_git
from concord.pipeline.dvc.revision import RevisionResults, comparison_at, load_revision
from concord.pipeline.dvc.training import (
    Settings,
    as_text,
    flatten,
    group_by_change,
    setting_changes,
    training_changes_since,
)
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.running.messages import LOG
from concord.pipeline.stages.evaluation_data import evaluation_data
from concord.pipeline.stages.evaluations import read_evaluations
from concord.reports.comment import Comment

_HASH_LENGTH = 12  # displayed characters of a commit or a hash
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_WORSE = {"worse", "worse_below_threshold", "worse_without_interval"}
_EVALUATION = (str(PARAMS), "dvc.yaml")
_RULES = ("gate", "comparison", "segments", "checks", "acknowledge")  # sections of params.yaml


def comment_content(params: Params, revision: str | None, undecided: str | None) -> Comment:
    """Return the content of the comment; a revision that cannot be compared is a sentence in it."""
    if revision is not None:
        revision = short_hash(revision) if _has_evaluation(revision) else None
    comparison = load_comparison(params)
    stale = warn_if_stale(params)
    revision_changes = None
    if revision is not None:
        try:
            revision_changes = replace(
                changes_since(params, revision), warnings=_warnings_at(revision)
            )
        except InputError as error:  # a reviewer sees only the comment
            reasons = _reasons(error)
            revision_changes = RevisionChanges(revision, reasons, (), (), (), False, (), ())
    process = run_git("rev-parse", "--show-prefix")
    refuse_other_owner(process.stderr)  # the folder would be another evaluation's
    folder = process.stdout.strip().rstrip("/")  # empty at the root
    content = Comment(folder, comparison, None, since=revision_changes, stale=stale)
    if params.gate is None:
        return content
    undecided_passes = None if undecided is None else undecided == "pass"
    try:
        result = decide_gate(params, comparison, revision, undecided_passes=undecided_passes)
    except InputError as error:
        return replace(content, no_decision=_reasons(error))
    return replace(content, decision=result.decision)


def _warnings_at(revision: str) -> tuple[DataWarning, ...]:
    """Return the warnings of a revision; none if its comparison is of another version or lost."""
    try:
        return comparison_at(revision).warnings
    except InputError:
        return ()


def _reasons(error: InputError) -> tuple[str, ...]:
    return tuple(f"{problem.where}: {problem.message}; {problem.fix}" for problem in error.problems)


def _has_evaluation(revision: str) -> bool:
    """True if the revision has an evaluation of DVC in this folder, or git fails."""
    files = run_git("ls-tree", "--name-only", revision, *_EVALUATION)
    missing = [name for name in _EVALUATION if name not in files.stdout.splitlines()]
    if files.returncode or not missing:
        return True
    message = "%s has no %s in this folder: the models are compared with the baseline"
    LOG.warning(message, revision, " and no ".join(missing))
    return False


def short_hash(revision: str) -> str:
    """Return the revision; a full commit hash is shortened to 12 characters."""
    return revision[:_HASH_LENGTH] if _COMMIT.fullmatch(revision) else revision


def changes_since(params: Params, revision: str) -> RevisionChanges:
    """Compare values, segments, conventions and data with an earlier revision.

    Raises
    ------
    InputError
        If the revision is unknown or has no project, or if results are missing on either side.
    """
    config = params.comparison_config
    lists, config = read_evaluations(params, config, config.primary)
    models = with_replicates(lists, config)
    with_lists = any(isinstance(segment, ByPopularity) for segment in config.segments.values())
    with load_revision(revision, params, config, list(models), with_lists=with_lists) as previous:
        mismatch = find_mismatch(config, models, previous)
        refusals = tuple(problem.message for problem in mismatch.refusals(config.primary))
        comparable = config.without(mismatch.labels)
        worse: list[Change] = []
        if not refusals:
            worse = list(_worse_segments(comparable, models, evaluation_data(params), previous))
        return RevisionChanges(
            revision=previous.name,
            mismatches=refusals,
            notes=(
                *version_warnings(models, previous),
                *one_sided_notes(config, list(models), previous, include_models=True),
                *(() if refusals else mismatch.notes()),
            ),
            changes=() if refusals else changes(comparable, models, previous),
            worse=worse,
            segmented=bool(config.segments) and not refusals,
            conventions=_changed_settings(previous, lists, _conventions),
            data=_changed_settings(previous, lists, _data),
            rules=tuple(
                Setting(*change, ())
                for change in setting_changes(_rules(previous.params), _rules(params.content))
            ),
            training_params=training_changes_since(previous, params),
        )


def _worse_segments(
    config: ComparisonConfig,
    models: Mapping[str, ModelResult],
    data: EvaluationData,
    previous: RevisionResults,
) -> Iterator[Change]:
    """Yield the segments in which a model is significantly worse than at the revision."""
    for name in config.segments:
        for model, previous_result in previous.evaluations.items():
            sides = {NOW: models[model], THEN: previous_result}
            inputs = ComparisonInput(replace(config, baseline=THEN), sides, data)
            cells = compute_segment_cells(inputs, name)
            means = {(c.label, c.segment): c.mean for c in cells if c.model == THEN}
            for cell in cells:
                if cell.verdict in _WORSE:
                    yield Change(
                        label=cell.label,
                        model=model,
                        primary=False,
                        then=means[cell.label, cell.segment],
                        now=cell.mean,
                        difference=cell.difference,
                        ci_low=cell.diff_low,
                        ci_high=cell.diff_high,
                        level=cell.level,
                        n_users=cell.n_users,
                        n_nonzero=cell.n_nonzero or 0,
                        p_adjusted=cell.p_adjusted,
                        verdict=cell.verdict,
                        segmentation=name,
                        segment=cell.segment,
                    )


def _changed_settings(
    previous: RevisionResults,
    models: Mapping[str, ModelResult],
    read_settings: Callable[[str, Mapping[str, Any]], Settings],
) -> tuple[Setting, ...]:
    """Return the settings that changed, each once with its models."""
    return group_by_change(
        (model, change)
        for model, previous_result in previous.lists.items()
        if model in models
        for change in setting_changes(
            read_settings(model, previous_result.summary),
            read_settings(model, models[model].summary),
        )
    )


def _rules(params: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings of gate, comparison, segments, checks and acknowledged warnings."""
    return {key: text for name in _RULES for key, text in flatten(name, params.get(name))}


def _conventions(_: str, summary: Mapping[str, Any]) -> dict[str, str]:
    """Return convention -> value; `gain of nDCG` is the convention of a single metric."""
    conventions = {**summary["conventions"]}
    conventions.pop("preset", None)
    for metric, overrides in conventions.pop("overrides", {}).items():
        conventions |= {f"{name} of {metric}": value for name, value in overrides.items()}
    return {name: as_text(value) for name, value in conventions.items()}


def _data(model: str, summary: Mapping[str, Any]) -> dict[str, str]:
    """Return table -> its hash, and the number of users if it is counted."""
    users = summary["users"]
    counts = {
        "truth": users.get("in_truth"),
        "lists": users.get("in_lists"),
        "values": users["evaluated"],
    }
    rows: dict[str, str] = {}
    for role, table in summary["inputs"].items():
        n_users = "" if counts.get(role) is None else f", {counts[role]:,} users"
        text = f"{table['path']}, {content_id_text(table, _HASH_LENGTH)}{n_users}"
        rows[f"{role} of {model}" if role in {"lists", "values"} else role] = text
    return rows
