"""What has changed since another revision, for whoever reviews a change: values, segments, conventions, data."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.replicated_models import with_replicates
from concord.metrics_core.comparison.segmentation import ByPopularity
from concord.metrics_core.comparison.segments import segment_cells
from concord.metrics_core.evaluation.model_result import EvaluationData, ModelResult
from concord.metrics_core.files import content_id_text
from concord.metrics_core.results.comparison_parts import SegmentCell
from concord.metrics_core.results.history import Change, RevisionChanges, Setting
from concord.pipeline.dvc.changes import (
    NOW,
    THEN,
    changes,
    find_mismatch,
    one_sided_notes,
    version_warnings,
)
from concord.pipeline.dvc.revision import RevisionResults, load_revision
from concord.pipeline.params.config import config_from_params
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.yaml_files import read_yaml
from concord.pipeline.stages.evaluations import ground_of, read_evaluations

_WORSE = {"worse", "worse_below_threshold", "worse_without_interval"}
_RULES = ("gate", "comparison", "segments")  # sections of params.yaml
_HASH = 12  # characters of a hash that are shown
Settings = dict[tuple[str, str, str], list[str]]  # name, then, now -> models


def changes_since(params: Params, revision: str) -> RevisionChanges:
    """Compare the project with an earlier revision.

    Raises
    ------
    InputError : there is no such revision, it holds no project, or results are missing here or there
    """
    config = config_from_params(params)
    every, config = read_evaluations(params, config, config.primary)
    evaluations = with_replicates(every, config)
    groups = config.segments.values()
    lists = any(isinstance(each, ByPopularity) for each in groups)
    with load_revision(revision, params, config, list(evaluations), lists=lists) as before:
        differing = find_mismatch(config, evaluations, before)
        mismatches = [problem.what for problem in differing.refusals(config.primary)]
        alike = config.without(differing.labels)
        worse: list[Change] = []
        if not mismatches:
            worse = list(_worse_segments(alike, evaluations, ground_of(params), before))
        return RevisionChanges(
            revision=before.name,
            mismatches=tuple(mismatches),
            notes=(
                *version_warnings(evaluations, before),
                *one_sided_notes(config, list(evaluations), before, every_model=True),
                *(() if mismatches else differing.notes()),
            ),
            changes=() if mismatches else changes(alike, evaluations, before),
            worse=worse,
            segmented=bool(config.segments) and not mismatches,
            conventions=_settings(before, every, _conventions),
            data=_settings(before, every, _data),
            rules=tuple(_rules(before.params, read_yaml(PARAMS).content)),
        )


def _rules(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Setting]:
    """Yield the settings of gate, comparison and segments that changed."""
    was, is_now = ({k: v for name in _RULES for k, v in _leaves(name, each.get(name))} for each in (then, now))  # fmt: skip
    for key in dict.fromkeys([*was, *is_now]):
        if was.get(key) != is_now.get(key):
            yield Setting(key, was.get(key, "none"), is_now.get(key, "none"), ())


def _leaves(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """`gate.guardrails.nDCG@10` and its value, for every value that is no dict."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(f"{key}.{name}", inner)
    elif value is not None:
        yield key, _plain(value)


def _worse_segments(
    config: ComparisonConfig,
    models: Mapping[str, ModelResult],
    ground: EvaluationData,
    before: RevisionResults,
) -> Iterator[Change]:
    """Yield every segment in which a model is significantly worse than it was."""
    for name in config.segments:
        for model, then in before.evaluations.items():
            sides = {NOW: models[model], THEN: then}
            cells = segment_cells(
                ComparisonInput(replace(config, baseline=THEN), sides, ground), name
            )
            means = {(c.label, c.segment): c.mean for c in cells if c.model == THEN}
            for cell in cells:
                if cell.verdict in _WORSE:
                    yield _segment_change(cell, model, name, means[cell.label, cell.segment])


def _segment_change(cell: SegmentCell, model: str, segmentation: str, then: float | None) -> Change:
    assert cell.verdict is not None
    return Change(
        label=cell.label,
        model=model,
        primary=False,
        then=then,
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
        segmentation=segmentation,
        segment=cell.segment,
    )


def _settings(
    before: RevisionResults,
    models: Mapping[str, ModelResult],
    known: Callable[[str, Mapping[str, Any]], Mapping[str, str]],
) -> tuple[Setting, ...]:
    """Return the changed entries of summaries, each once with its models."""
    found: Settings = {}
    for model, then in before.lists.items():
        if model not in models:
            continue
        was, is_now = (known(model, each.summary) for each in (then, models[model]))
        for name in dict.fromkeys([*was, *is_now]):
            if was.get(name) != is_now.get(name):
                key = (name, was.get(name, "none"), is_now.get(name, "none"))
                found.setdefault(key, []).append(model)
    return tuple(Setting(*key, tuple(names)) for key, names in found.items())


def _conventions(_: str, summary: Mapping[str, Any]) -> dict[str, str]:
    """Convention -> value as params.yaml has it; `gain of nDCG` for what single metrics have otherwise."""
    general = {k: v for k, v in summary["conventions"].items() if k not in {"preset", "overrides"}}
    special = {
        f"{knob} of {metric}": value
        for metric, changed in summary["conventions"].get("overrides", {}).items()
        for knob, value in changed.items()
    }
    return {name: _plain(value) for name, value in {**general, **special}.items()}


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str).replace('"', "")  # fmt: skip


def _data(model: str, summary: Mapping[str, Any]) -> dict[str, str]:
    """Table -> its hash and its users, where they are counted."""
    users = summary["users"]
    counted = {"truth": users["in_truth"], "lists": users["in_lists"]}
    return {
        f"lists of {model}" if role == "lists" else role: _table(table, counted.get(role))
        for role, table in summary["inputs"].items()
    }


def _table(table: Mapping[str, Any], users: int | None) -> str:
    known = "" if users is None else f", {users:,} users"
    return f"{table['path']}, {content_id_text(table, _HASH)}{known}"
