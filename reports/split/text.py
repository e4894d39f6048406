"""A split as text: a table of its sides, the rows that are left out, and notes."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from concord.metrics_core.analyses.split.result import Split, is_in_seconds
from concord.metrics_core.errors import format_count
from concord.reports.text.blocks import Block, TextTable
from concord.reports.text.numbers import PERCENT

_HEADER = ("side", "rows", "users", "items", "from", "to")
_REASONS = {
    "duplicate": "user, item and time of another row",
    "repeat": "the user interacted with the item before",
    "gap": "in the gap between training set and ground truth",
    "repeat_in_truth": "the user interacted with the item before, within the ground truth",
}


def describe(split: Split) -> Iterator[Block]:
    """Yield the table of sides and the sentences."""
    yield from describe_manifest(split.manifest)


def describe_manifest(manifest: Mapping[str, Any]) -> Iterator[Block]:
    """Yield the table of sides, the rows that are left out by reason, and the notes."""
    yield TextTable(_HEADER, [_row(file, each) for file, each in manifest["files"].items()])
    lines = [
        f"{format_count(rows, 'row')} left out: {_REASONS[reason]}"
        for reason, rows in manifest["excluded"].items()
        if rows
    ]
    lines += _notes(manifest)
    if lines:
        yield ""
    yield from lines


def _row(file: str, counts: Mapping[str, Any]) -> tuple[str, ...]:
    numbers = (f"{counts[name]:,}" for name in ("rows", "users", "items"))
    side = file.removesuffix(".parquet")
    return side, *numbers, _time(counts["first"]), _time(counts["last"])


def _time(time: float | None) -> str:
    if time is None:
        return ""
    if not is_in_seconds(time):
        return f"{time:,.15g}"
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M")


def _notes(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield ties, leaks, cold users and items, and repeats."""
    counts = manifest["counts"]
    if few := counts.get("users_with_too_few"):
        users = format_count(few, "user")
        yield f"{users} without ground truth: too few interactions, all in the training set"
    if tied := counts.get("users_tied_at_the_cut"):
        yield (
            f"{format_count(tied, 'user')} have interactions with the same time on both sides of "
            "the cut: their order is unknown"
        )
    if late := counts["train_rows_from_the_first_of_truth_on"]:
        percent = 100 * late / manifest["files"]["train.parquet"]["rows"]
        yield (
            f"{percent:.3g}{PERCENT} of the training set is as late as the ground truth or later: "
            "models learn from the future (Ji et al. 2023); `--how global-time` does not leak"
        )
    if users := counts["truth_users_without_history"]:
        rows = format_count(counts["truth_rows_of_these_users"], "row")
        n_users = format_count(users, "user")
        yield f"{n_users} of the ground truth ({rows}) are not in the training set: kept"
    if items := counts["truth_items_unknown_to_train"]:
        rows = format_count(counts["truth_rows_of_these_items"], "row")
        n_items = format_count(items, "item")
        yield f"{n_items} of the ground truth ({rows}) are not in the training set: kept"
    if pairs := counts["truth_pairs_taken_before"]:
        yield (
            f"{format_count(pairs, 'row')} of the ground truth repeat an earlier interaction: "
            "models that never recommend known items cannot find them; acknowledge the warning "
            "`truth_in_train` if that is intended, or set `--repeats first`"
        )
