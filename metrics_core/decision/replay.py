"""Replay a decision: compute its comparison again from the stored values, or from its inputs."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import chain
from pathlib import Path
from textwrap import shorten
from typing import Any

import polars as pl
from polars.testing import assert_frame_equal

from concord.metrics_core.comparison.compute import (
    build_comparison,
    build_value_comparison,
    collect_conventions,
    compare_user_values,
)
from concord.metrics_core.comparison.described_inputs import DescribedInput, describe_inputs
from concord.metrics_core.comparison.gate import with_decimals, with_findings
from concord.metrics_core.comparison.gate_inputs import decide_against_baseline
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.leaderboard import compute_tradeoffs
from concord.metrics_core.comparison.replicates import compute_replicates
from concord.metrics_core.comparison.segments import compute_segments
from concord.metrics_core.decision.evaluate_again import evaluate_again, find_table
from concord.metrics_core.decision.read_decision import (
    CONCORD,
    DAMAGED,
    StoredDecision,
    read_columns,
    read_decision,
    unreadable,
)
from concord.metrics_core.decision.result import Outcome, Replay, ReplayedPart
from concord.metrics_core.decision.write_decision import (
    ANSWER,
    decision_entries,
    is_mean,
    without_ids,
)
from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.accumulator import program_versions
from concord.metrics_core.metrics.custom_metric import FAMILY
from concord.metrics_core.results.base import to_plain
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import OF_VALUES

TOLERANCE = 1e-9  # of numbers that other versions of programs give
_OF_LISTS = frozenset({"panel", "overlaps", "checks", "warnings", "checked", "references"})
# Descriptions of the inputs, whose hashes in decision.json are compared, and of choices.
_DESCRIPTIONS = frozenset({"quality", "provenance", "unit", "words", "chosen"})
_FINDINGS = ("warnings.", "gate.")  # their details name settings: keys of params.yaml, or arguments
_SETTINGS = {"setting", "column_setting"}
_WORDS = {ANSWER, "conventions"}  # what another version of Concord may write differently
_OF_METRICS = ("label", "k", "primary", "higher_is_better", "min_effect")  # and texts


def replay(path: str | Path, inputs: str | Path | None = None) -> Replay:
    """Compute a decision again, and return what is equal.

    Parameters
    ----------
    path : str or Path
        File of the decision.
    inputs : str or Path, optional
        Folder with the files that were compared, under their paths or names; a table that was in
        memory is `NAME.parquet`. Their hashes are compared, and values computed from them.

    Returns
    -------
    Replay
        Each part with its outcome. Under the versions of programs that wrote the decision, numbers
        must have the same bits, else they may differ by 1e-9.

    Raises
    ------
    InputError
        The file is damaged, is no decision, or is of a newer Concord; or an input is not valid.
    """
    decision, versions = read_decision(path), dict(program_versions())
    if inputs is not None and not Path(inputs).is_dir():
        raise refuse(str(inputs), "is not a folder", "name the folder with the inputs")
    tolerance = 0.0 if decision.index["versions"] == versions else TOLERANCE
    try:
        decision.inputs  # noqa: B018 - reads all entries
        described = [DescribedInput(**each) for each in decision.index["inputs"]]
    except (*DAMAGED, pl.exceptions.PolarsError) as error:
        raise unreadable(path, error) from None
    checked, again = _check_inputs(decision, described, None if inputs is None else Path(inputs))
    if again is None:
        parts = chain(
            _compare_parts(decision.comparison, _recompute(decision), _OF_LISTS, tolerance),
            (
                ReplayedPart("values", str(label), "not_checked")
                for label in decision.config.labels
                if not is_mean(label, decision.config)  # it follows from lists alone
            ),
        )
    else:
        recomputed = without_ids(_build(decision.comparison, again))
        parts = chain(
            _compare_parts(decision.comparison, recomputed, (), tolerance),
            _compare_values(decision, dict(decision_entries(recomputed, again)), tolerance),
        )
    written_with = decision.index["versions"]
    summary = f"{decision.comparison.summary}\n"
    answer = _compare(ANSWER, decision.entries[ANSWER].decode(), summary, tolerance)
    all_parts = [answer, *parts, *checked]
    # Another version may write other words, and know other conventions.
    if written_with[CONCORD] != versions[CONCORD]:
        all_parts = [
            replace(each, outcome="not_checked", difference=None) if each.name in _WORDS else each
            for each in all_parts
        ]
    return Replay(decision.comparison.headline, tuple(all_parts), written_with, versions)


def _check_inputs(
    decision: StoredDecision, inputs: Sequence[DescribedInput], folder: Path | None
) -> tuple[list[ReplayedPart], ComparisonInput | None]:
    """Return whether each input has its hash, and all inputs evaluated again; None if one lacks."""
    tables, hashes = zip(*(find_table(each, folder) for each in inputs), strict=True)
    of_files = [x in (None, each.sha256) for x, each in zip(hashes, inputs, strict=True)]
    again = None
    if None not in tables and all(of_files) and _can_evaluate(decision):
        again = evaluate_again(decision, [*zip(inputs, tables, strict=True)])
        of_columns = describe_inputs(again, hashes_files=False)
        hashes = tuple(known or x.sha256 for known, x in zip(hashes, of_columns, strict=True))
    outcomes: list[Outcome] = [
        "not_checked" if found is None else "equal" if found == each.sha256 else "different"
        for found, each in zip(hashes, inputs, strict=True)
    ]
    names = [f"{each.name or each.role} ({each.path})" for each in inputs]
    return [*map(partial(ReplayedPart, "input"), names, outcomes)], again


def _can_evaluate(decision: StoredDecision) -> bool:
    """False if a decision lacks what values need: own metrics, excluded pairs, values of tools."""
    families = {metric.family for metric in decision.comparison.metrics}
    has_pairs = (decision.config.conventions.exclude or "same_id") != "same_id"
    is_mixed = OF_VALUES in families and len(families) > 1
    return not (has_pairs or is_mixed or FAMILY in families)


def _build(stored: Comparison, inputs: ComparisonInput) -> Comparison:
    """Return the comparison of inputs with lists, or of values of another tool."""
    if stored.has_lists:
        return build_comparison(inputs)
    unclear = {x for w in stored.warnings for x in w.details.get("metrics", ())}
    return build_value_comparison(inputs, [x for x in stored.labels if x not in unclear])


def _recompute(decision: StoredDecision) -> Comparison:
    """Return what follows from the stored values; findings in lists are as stored."""
    inputs, stored = decision.inputs, decision.comparison
    if not stored.has_lists:
        return _build(stored, inputs)
    comparison = compare_user_values(inputs)
    replicates, _ = compute_replicates(inputs, comparison.scores, comparison.pairs)
    gate = decide_against_baseline(inputs, comparison.pairs)
    return replace(
        comparison,
        tradeoffs=tuple(compute_tradeoffs(inputs.config, inputs.models, comparison.pairs)),
        segments=tuple(compute_segments(inputs, comparison.pairs)),
        replicates=replicates,
        gate=gate
        and with_decimals(with_findings(gate, stored.checks, stored.warnings), comparison.decimals),
        conventions=collect_conventions(inputs.config),
    )


def _compare_parts(
    stored: Comparison, recomputed: Comparison, of_lists: Collection[str], tolerance: float
) -> Iterator[ReplayedPart]:
    """Yield the outcome of each part of a comparison that is not empty."""
    of_lists = of_lists if stored.has_lists else ()
    for name in [field.name for field in fields(Comparison) if field.name not in _DESCRIPTIONS]:
        before, after = (_part(each, name) for each in (stored, recomputed))
        if before in (None, []) and after in (None, []):
            continue
        if name in of_lists:
            yield ReplayedPart("comparison", name, "not_checked")
        else:
            yield _compare(name, before, after, tolerance)


def _compare(name: str, stored: Any, recomputed: Any, tolerance: float) -> ReplayedPart:
    """Return the outcome of a part of a comparison."""
    if difference := first_difference(name, stored, recomputed, tolerance):
        return ReplayedPart("comparison", name, "different", difference)
    is_close = first_difference(name, stored, recomputed, 0.0) is not None
    return ReplayedPart("comparison", name, "close" if is_close else "equal")


def _part(comparison: Comparison, name: str) -> Any:
    """Return a part as plain values; of metrics, what numbers and words depend on."""
    part = to_plain(getattr(comparison, name))
    return [{key: each[key] for key in _OF_METRICS} for each in part] if name == "metrics" else part


def first_difference(where: str, stored: Any, recomputed: Any, tolerance: float) -> str | None:
    """Return the place of the first difference, with both values; None if there is none."""
    if isinstance(stored, list) and isinstance(recomputed, list):
        stored, recomputed = dict(enumerate(stored)), dict(enumerate(recomputed))
    if isinstance(stored, dict) and isinstance(recomputed, dict):
        skipped = _SETTINGS if where.startswith(_FINDINGS) else ()
        names = [name for name in {**stored, **recomputed} if name not in skipped]
        each = ((f"{where}.{name}", stored.get(name), recomputed.get(name)) for name in names)
        return next(filter(None, (first_difference(*x, tolerance) for x in each)), None)
    are_numbers = isinstance(stored, float) and isinstance(recomputed, float)
    if are_numbers and math.isclose(stored, recomputed, rel_tol=tolerance, abs_tol=tolerance):
        return None
    before, after = (shorten(repr(each), 80, placeholder=" …") for each in (stored, recomputed))
    return None if stored == recomputed else f"{where} is {before}, and {after} recomputed"


def _compare_values(
    decision: StoredDecision, entries: Mapping[str, Any], tolerance: float
) -> Iterator[ReplayedPart]:
    """Yield the outcome of the values of each list."""
    for number, name in enumerate(decision.index["lists"]):
        stored, recomputed = (
            read_columns(each, f"values/{number}") for each in (decision.entries, entries)
        )
        try:
            assert_frame_equal(stored, recomputed, rel_tol=tolerance, abs_tol=tolerance)
            yield ReplayedPart("values", name, "equal" if stored.equals(recomputed) else "close")
        except AssertionError as error:
            difference = f"{name}: {str(error).splitlines()[0]}"
            yield ReplayedPart("values", name, "different", difference)
