"""Replay a decision: compute its comparison again from the stored values, or from its inputs."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from concord.metrics_core.comparison.compute import (
    build_comparison,
    build_value_comparison,
    compare_user_values,
)
from concord.metrics_core.comparison.gate import with_findings
from concord.metrics_core.comparison.gate_inputs import decide_against_baseline
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.leaderboard import compute_tradeoffs
from concord.metrics_core.comparison.replicates import compute_replicates
from concord.metrics_core.comparison.segments import compute_segments
from concord.metrics_core.data.hashes import hash_content
from concord.metrics_core.decision.described_inputs import DescribedInput, describe_inputs
from concord.metrics_core.decision.evaluate_again import evaluate_again, find_table
from concord.metrics_core.decision.read_decision import StoredDecision, read_decision
from concord.metrics_core.decision.result import Replay, ReplayedPart
from concord.metrics_core.decision.write_decision import decision_entries, is_mean, without_ids
from concord.metrics_core.evaluation.accumulator import program_versions
from concord.metrics_core.metrics.custom_metric import FAMILY
from concord.metrics_core.results.base import to_plain
from concord.metrics_core.results.comparison import Comparison

TOLERANCE = 1e-9  # of numbers that other versions of programs give
_OF_LISTS = frozenset({"panel", "overlaps", "checks", "warnings", "checked", "references"})
# Parts that describe settings, and inputs whose hashes are compared.
_DESCRIPTIONS = frozenset(
    {"title", "metrics", "quality", "conventions", "provenance", "unit", "words"}
)


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
    tolerance = 0.0 if decision.index["versions"] == versions else TOLERANCE
    checked, again = _check_inputs(decision, None if inputs is None else Path(inputs))
    if again is None:
        parts = chain(
            _compare_parts(decision.comparison, _recompute(decision), _OF_LISTS, tolerance),
            _taken_as_stored(decision),
        )
    else:
        recomputed = without_ids(_build(decision.comparison, again))
        parts = chain(
            _compare_parts(decision.comparison, recomputed, (), tolerance),
            _compare_values(decision, dict(decision_entries(recomputed, again)), tolerance),
        )
    written_with = decision.index["versions"]
    return Replay(decision.comparison.verdicts[0], (*parts, *checked), written_with, versions)


def _check_inputs(
    decision: StoredDecision, folder: Path | None
) -> tuple[list[ReplayedPart], ComparisonInput | None]:
    """Return whether each input has its hash, and all inputs evaluated again; None if one lacks."""
    inputs = [DescribedInput(**each) for each in decision.index["inputs"]]
    tables = [None if folder is None else find_table(each, folder) for each in inputs]
    hashes = [
        hash_content(table.path).of_rows(table.where).sha256
        if table is not None and each.hash_of == "file"
        else None
        for each, table in zip(inputs, tables, strict=True)
    ]
    found = [
        (each, table)
        for each, table, sha256 in zip(inputs, tables, hashes, strict=True)
        if table is not None and sha256 in {None, each.sha256}
    ]
    again = None
    if len(found) == len(inputs) and _can_evaluate(decision):
        again = evaluate_again(decision, found)
        of_columns = describe_inputs(again, hashes_files=False)
        hashes = [known or x.sha256 for known, x in zip(hashes, of_columns, strict=True)]
    parts = [
        ReplayedPart(
            "input",
            f"{each.name or each.role} ({each.path})",
            "not_checked" if sha256 is None else "equal" if sha256 == each.sha256 else "different",
        )
        for each, sha256 in zip(inputs, hashes, strict=True)
    ]
    return parts, again


def _can_evaluate(decision: StoredDecision) -> bool:
    """False if values need code of own metrics or excluded pairs, which a decision lacks."""
    has_pairs = (decision.config.conventions.exclude or "same_id") != "same_id"
    return not has_pairs and all(x.family != FAMILY for x in decision.comparison.metrics)


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
        gate=gate and with_findings(gate, stored.checks, stored.warnings),
    )


def _compare_parts(
    stored: Comparison, recomputed: Comparison, of_lists: Collection[str], tolerance: float
) -> Iterator[ReplayedPart]:
    """Yield the outcome of each part of a comparison that is not empty."""
    of_lists = of_lists if stored.has_lists else ()
    for name in [field.name for field in fields(Comparison) if field.name not in _DESCRIPTIONS]:
        before, after = (to_plain(getattr(each, name)) for each in (stored, recomputed))
        if before in (None, []) and after in (None, []):
            continue
        if name in of_lists:
            yield ReplayedPart("comparison", name, "not_checked")
        elif difference := first_difference(name, before, after, tolerance):
            yield ReplayedPart("comparison", name, "different", difference)
        else:
            yield ReplayedPart("comparison", name, "equal" if before == after else "close")


def _taken_as_stored(decision: StoredDecision) -> Iterator[ReplayedPart]:
    """Yield labels whose means, and tests over all users, follow from lists alone."""
    for label in decision.config.labels:
        if not is_mean(label, decision.config):
            yield ReplayedPart("values", str(label), "not_checked")


def first_difference(where: str, stored: Any, recomputed: Any, tolerance: float) -> str | None:
    """Return the place of the first difference, with both values; None if there is none."""
    pairs: Iterable[tuple[str, Any, Any]] = ()
    if isinstance(stored, dict) and isinstance(recomputed, dict):
        names = {**stored, **recomputed}
        pairs = [(f"{where}.{name}", stored.get(name), recomputed.get(name)) for name in names]
    elif isinstance(stored, list) and isinstance(recomputed, list):
        rows = enumerate(zip_longest(stored, recomputed))
        pairs = [(f"{where}[{number}]", *both) for number, both in rows]
    elif not _is_same(stored, recomputed, tolerance):
        return f"{where} is {stored!r}, and {recomputed!r} recomputed"
    return next(filter(None, (first_difference(*each, tolerance) for each in pairs)), None)


def _is_same(stored: Any, recomputed: Any, tolerance: float) -> bool:
    are_numbers = isinstance(stored, float) and isinstance(recomputed, float)
    is_close = are_numbers and math.isclose(
        stored, recomputed, rel_tol=tolerance, abs_tol=tolerance
    )
    return is_close or stored == recomputed


def _compare_values(
    decision: StoredDecision, entries: Mapping[str, Any], tolerance: float
) -> Iterator[ReplayedPart]:
    """Yield the outcome of the values of each list."""
    for number, name in enumerate(decision.index["lists"]):
        stored, recomputed = (
            pl.read_parquet(each[f"values/{number}.parquet"]).to_dict()
            for each in (decision.entries, entries)
        )
        yield next(
            (
                ReplayedPart("values", name, "different", f"values of {label} differ")
                for label in {**stored, **recomputed}
                if label not in stored
                or label not in recomputed
                or not _are_close(stored[label], recomputed[label], tolerance)
            ),
            ReplayedPart("values", name, "equal"),
        )


def _are_close(stored: pl.Series, recomputed: pl.Series, tolerance: float) -> bool:
    if not tolerance or len(stored) != len(recomputed):
        return stored.equals(recomputed)
    both = stored.to_numpy(), recomputed.to_numpy()
    return np.allclose(*both, rtol=tolerance, atol=tolerance, equal_nan=True)
