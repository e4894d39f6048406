"""Replay a decision: compute its comparison again from the stored values, or from its inputs."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from concord.metrics_core.comparison.compute import collect_conventions, compare_user_values
from concord.metrics_core.comparison.gate import with_findings
from concord.metrics_core.comparison.gate_inputs import decide_against_baseline
from concord.metrics_core.comparison.leaderboard import compute_tradeoffs
from concord.metrics_core.comparison.replicates import compute_replicates
from concord.metrics_core.comparison.segments import compute_segments
from concord.metrics_core.decision.read_decision import StoredDecision, read_decision
from concord.metrics_core.decision.result import Outcome, Replay, ReplayedInput, ReplayedPart
from concord.metrics_core.evaluation.accumulator import program_versions
from concord.metrics_core.results.base import to_plain
from concord.metrics_core.results.comparison import Comparison

TOLERANCE = 1e-9  # of numbers that other versions of programs give
# Parts that need lists; `quality` and `provenance` describe the inputs, whose hashes are checked.
OF_LISTS = ("panel", "overlaps", "checks", "warnings", "checked", "references", "unit", "words")
_DESCRIBE_INPUTS = ("quality", "provenance")
_TEXTS = {"formula", "source"}  # of a metric


def replay(path: str | Path, inputs: str | Path | None = None) -> Replay:
    """Compute a decision again, and return what is equal.

    Parameters
    ----------
    path : str or Path
        File of the decision.
    inputs : str or Path, optional
        Folder with the files that were compared, under their paths or names; a table that was in
        memory is `NAME.parquet`. Their hashes are checked, and the values computed from them.

    Returns
    -------
    Replay
        Each part with its outcome. Under the versions of programs that wrote the decision, numbers
        must be the same bits, else they may differ by 1e-9.

    Raises
    ------
    InputError
        The file is damaged, is no decision, or is of a newer Concord.

    Examples
    --------
    >>> import concord as cc
    """
    decision = read_decision(path)
    versions = decision.index["versions"]
    tolerance = 0.0 if versions == program_versions() else TOLERANCE
    recomputed = _recompute(decision)
    labels = decision.config.labels
    return Replay(
        answer=decision.comparison.verdicts[0],
        parts=tuple(compare_parts(decision.comparison, recomputed, OF_LISTS, tolerance)),
        inputs=tuple(
            ReplayedInput(each["name"], each["path"], each["sha256"], "not_checked")
            for each in decision.index["inputs"]
        ),
        taken=tuple(str(label) for label in labels if label.metric.is_aggregate),
        written_with=versions,
        replayed_with=dict(program_versions()),
    )


def _recompute(decision: StoredDecision) -> Comparison:
    """Return the comparison that follows from the stored values; findings in lists are as stored."""
    inputs, stored = decision.inputs, decision.comparison
    comparison = compare_user_values(inputs)
    gate = decide_against_baseline(inputs, comparison.pairs)
    if not stored.has_lists:
        return replace(comparison, gate=gate)
    replicates, _ = compute_replicates(inputs, comparison.scores, comparison.pairs)
    return replace(
        comparison,
        tradeoffs=tuple(compute_tradeoffs(inputs.config, inputs.models, comparison.pairs)),
        segments=tuple(compute_segments(inputs, comparison.pairs)),
        replicates=replicates,
        gate=gate and with_findings(gate, stored.checks, stored.warnings),
        conventions=collect_conventions(inputs.config),
    )


def compare_parts(
    stored: Comparison, recomputed: Comparison, not_checked: tuple[str, ...], tolerance: float
) -> Iterator[ReplayedPart]:
    """Yield the outcome of each part of a comparison that is not empty."""
    for field in fields(Comparison):
        name = field.name
        before, after = (to_plain(getattr(each, name)) for each in (stored, recomputed))
        if name in _DESCRIBE_INPUTS or (name in not_checked and before in (None, [], {})):
            continue
        if name in not_checked:
            yield ReplayedPart(name, "not_checked")
        elif before not in (None, []) or after not in (None, []):
            yield compared_part(name, before, after, tolerance)


def compared_part(name: str, stored: Any, recomputed: Any, tolerance: float) -> ReplayedPart:
    """Return the outcome of a part: equal, close or different."""
    difference = first_difference(name, stored, recomputed, 0.0)
    outcome: Outcome = "different" if difference else "equal"
    if difference and tolerance:
        difference = first_difference(name, stored, recomputed, tolerance)
        outcome = "different" if difference else "close"
    return ReplayedPart(name, outcome, difference)


def first_difference(where: str, stored: Any, recomputed: Any, tolerance: float) -> str | None:
    """Return the place of the first difference, with both values; None if there is none."""
    pairs: Iterator[tuple[str, Any, Any]] = iter(())
    if isinstance(stored, Mapping) and isinstance(recomputed, Mapping):
        names = (name for name in {**stored, **recomputed} if name not in _TEXTS)
        pairs = ((f"{where}.{n}", stored.get(n), recomputed.get(n)) for n in names)
    elif isinstance(stored, list) and isinstance(recomputed, list):
        if len(stored) != len(recomputed):
            return f"{where}: {len(stored)} stored, {len(recomputed)} recomputed"
        numbered = enumerate(zip(stored, recomputed, strict=True))
        pairs = ((f"{where}[{number}]", *both) for number, both in numbered)
    elif not _is_same(stored, recomputed, tolerance):
        return f"{where}: {stored!r} stored, {recomputed!r} recomputed"
    return next(filter(None, (first_difference(*each, tolerance) for each in pairs)), None)


def _is_same(stored: Any, recomputed: Any, tolerance: float) -> bool:
    if isinstance(stored, float) and isinstance(recomputed, float) and tolerance:
        return math.isclose(stored, recomputed, rel_tol=tolerance, abs_tol=tolerance)
    return bool(stored == recomputed)
