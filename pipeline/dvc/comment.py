"""The content of a pull request's comment: the comparison, the changes since a revision and the gate's decision."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.replicated_models import with_replicates
from concord.metrics_core.comparison.segmentation import ByPopularity
from concord.metrics_core.comparison.segments import segment_cells
from concord.metrics_core.errors import InputError
from concord.metrics_core.evaluation.model_result import EvaluationData, ModelResult
from concord.metrics_core.files import content_id_text
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
from concord.pipeline.dvc.git import run_git
from concord.pipeline.dvc.revision import RevisionResults, load_revision
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.yaml_files import read_yaml
from concord.pipeline.running.messages import LOG
from concord.pipeline.stages.evaluations import evaluation_data, read_evaluations
from concord.reports.comment import Comment

_HASH_LENGTH = 12  # characters of a commit or a hash that are shown
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_WORSE = {"worse", "worse_below_threshold", "worse_without_interval"}
_RULES = ("gate", "comparison", "segments")  # sections of params.yaml


def comment_content(params: Params, revision: str | None, undecided: str | None) -> Comment:
    """Return all that the comment is rendered from; a revision that cannot be compared is a sentence of it."""
    if revision is not None:
        revision = short_hash(revision) if _has_params(revision) else None
    comparison = load_comparison(params)
    stale = warn_if_stale(params)
    since = None
    if revision is not None:
        try:
            since = changes_since(params, revision)
        except InputError as error:  # a reviewer sees the comment alone
            since = RevisionChanges(revision, _reasons(error), (), (), (), False, (), ())
    folder = run_git("rev-parse", "--show-prefix").stdout.strip().rstrip("/")  # empty at the root
    content = Comment(folder, comparison, None, since=since, stale=stale)
    if params.gate is None:
        return content
    undecided_passes = None if undecided is None else undecided == "pass"
    try:
        result = decide_gate(params, revision, undecided_passes=undecided_passes)
    except InputError as error:
        return replace(content, no_decision=_reasons(error))
    return replace(content, decision=result.decision)


def _reasons(error: InputError) -> tuple[str, ...]:
    return tuple(f"{each.where}: {each.message}; {each.fix}" for each in error.problems)


def _has_params(revision: str) -> bool:
    """True if the revision has a params.yaml in this folder, or git cannot tell."""
    files = run_git("ls-tree", "--name-only", revision, str(PARAMS))
    if files.returncode or files.stdout:
        return True
    message = "%s has no %s in this folder: the models are compared with the baseline"
    LOG.warning(message, revision, PARAMS)
    return False


def short_hash(revision: str) -> str:
    """Return the revision, a full commit hash cut to 12 characters."""
    return revision[:_HASH_LENGTH] if _COMMIT.fullmatch(revision) else revision


def changes_since(params: Params, revision: str) -> RevisionChanges:
    """Compare values, segments, conventions and data of the project with an earlier revision.

    Raises
    ------
    InputError
        There is no such revision, it holds no project, or results are missing here or there.
    """
    config = params.comparison_config
    lists, config = read_evaluations(params, config, config.primary)
    models = with_replicates(lists, config)
    with_lists = any(isinstance(each, ByPopularity) for each in config.segments.values())
    with load_revision(revision, params, config, list(models), with_lists=with_lists) as before:
        mismatch = find_mismatch(config, models, before)
        refusals = tuple(problem.message for problem in mismatch.refusals(config.primary))
        comparable = config.without(mismatch.labels)
        worse: list[Change] = []
        if not refusals:
            worse = list(_worse_segments(comparable, models, evaluation_data(params), before))
        return RevisionChanges(
            revision=before.name,
            mismatches=refusals,
            notes=(
                *version_warnings(models, before),
                *one_sided_notes(config, list(models), before, every_model=True),
                *(() if refusals else mismatch.notes()),
            ),
            changes=() if refusals else changes(comparable, models, before),
            worse=worse,
            segmented=bool(config.segments) and not refusals,
            conventions=_changed_settings(before, lists, _conventions),
            data=_changed_settings(before, lists, _data),
            rules=tuple(
                Setting(*change, ())
                for change in _differences(_rules(before.params), _rules(read_yaml(PARAMS).content))
            ),
        )


def _worse_segments(
    config: ComparisonConfig,
    models: Mapping[str, ModelResult],
    data: EvaluationData,
    before: RevisionResults,
) -> Iterator[Change]:
    """Yield every segment in which a model is significantly worse than it was."""
    for name in config.segments:
        for model, then in before.evaluations.items():
            sides = {NOW: models[model], THEN: then}
            cells = segment_cells(
                ComparisonInput(replace(config, baseline=THEN), sides, data), name
            )
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
                        relative=None,
                        n_users=cell.n_users,
                        n_nonzero=cell.n_nonzero or 0,
                        p=None,
                        p_adjusted=cell.p_adjusted,
                        min_effect=None,
                        verdict=cell.verdict,
                        segmentation=name,
                        segment=cell.segment,
                    )


def _changed_settings(
    before: RevisionResults,
    models: Mapping[str, ModelResult],
    settings_of: Callable[[str, Mapping[str, Any]], Mapping[str, str]],
) -> tuple[Setting, ...]:
    """Return the changed entries of summaries, each once with its models."""
    models_by_change: dict[tuple[str, str, str], list[str]] = {}
    for model, then in before.lists.items():
        if model in models:
            was, is_now = (settings_of(model, each.summary) for each in (then, models[model]))
            for change in _differences(was, is_now):
                models_by_change.setdefault(change, []).append(model)
    return tuple(Setting(*change, tuple(names)) for change, names in models_by_change.items())


def _differences(then: Mapping[str, str], now: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the name and both values of settings that changed."""
    for name in dict.fromkeys([*then, *now]):
        if then.get(name) != now.get(name):
            yield name, then.get(name, "none"), now.get(name, "none")


def _rules(params: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings of gate, comparison and segments."""
    return {key: text for name in _RULES for key, text in _leaves(name, params.get(name))}


def _leaves(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield `gate.guardrails.nDCG@10` and its value, for every value that is no mapping."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(f"{key}.{name}", inner)
    elif value is not None:
        yield key, _plain(value)


def _conventions(_: str, summary: Mapping[str, Any]) -> dict[str, str]:
    """Return convention -> value as params.yaml has it; `gain of nDCG` for a convention of a single metric."""
    conventions = {**summary["conventions"]}
    conventions.pop("preset", None)
    for metric, changed in conventions.pop("overrides", {}).items():
        conventions |= {f"{name} of {metric}": value for name, value in changed.items()}
    return {name: _plain(value) for name, value in conventions.items()}


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str).replace('"', "")


def _data(model: str, summary: Mapping[str, Any]) -> dict[str, str]:
    """Return table -> its hash, and its number of users if they are counted."""
    users = summary["users"]
    counts = {"truth": users["in_truth"], "lists": users["in_lists"]}
    rows: dict[str, str] = {}
    for role, table in summary["inputs"].items():
        n_users = "" if counts.get(role) is None else f", {counts[role]:,} users"
        text = f"{table['path']}, {content_id_text(table, _HASH_LENGTH)}{n_users}"
        rows[f"lists of {model}" if role == "lists" else role] = text
    return rows
