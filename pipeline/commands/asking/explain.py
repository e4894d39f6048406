"""`concord explain`: how one user's number came about, under one definition or two."""

from pathlib import Path

import polars as pl
from rich.table import Table

from concord.metrics_core.conventions.presets import beside
from concord.metrics_core.explain import SHOWN, Derivation, Versus, explain_ranked
from concord.metrics_core.scoring.background import Background
from concord.pipeline.params.model import Params
from concord.pipeline.params.read import read_params
from concord.pipeline.terminal.arguments import label_named, model_files, preset_named, refused
from concord.pipeline.terminal.table import console


def explain(user: str, metric: str, model: str, versus: str | None, *, markdown: bool) -> None:
    """Prints the derivation; as Markdown if asked."""
    params = read_params()
    label = str(label_named(metric))
    other = None if versus is None else beside(preset_named(versus), params.pinned)
    lists, truth = (pl.read_parquet(path, glob=False) for path in model_files(params, model))
    try:
        found = explain_ranked(
            lists,
            truth,
            user=user,
            metric=label,
            conventions=params.pinned,
            versus=other,
            background=_background(params),
        )
    except ValueError as error:
        raise refused(error, "name a user of the data and a metric of lists and truth") from None
    if markdown:
        print(found.to_markdown())
    elif isinstance(found, Versus):
        _print_versus(found)
    else:
        _print_one(found)


def _background(params: Params) -> Background:
    """Read where the metric asks for it alone."""
    kept = Path(params.results.data)
    return Background(
        **{
            name: kept / f"{name}.parquet"
            for name in ("train", "items")
            if name in params.background
        }
    )


def _print_one(found: Derivation) -> None:
    out = console()
    out.print(f"{found.label} of user {found.user}, {found.conventions.preset}", style="bold")
    out.print(found.head)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, side in (("rank", "right"), ("item", "left"), ("grade", "right"), ("", "left")):
        table.add_column(name, justify=side)  # type: ignore[arg-type]
    table.add_column("adds")
    for row in found.listed[:SHOWN]:
        grade = "" if row.grade is None else f"{row.grade:g}"
        table.add_row(
            str(row.rank), _item(row.item), grade, "hit" if row.relevant else "", row.term
        )
    out.print(table)
    _print_rest(found)


def _print_rest(found: Derivation) -> None:
    out = console()
    if len(found.listed) > SHOWN:
        out.print(f"… {len(found.listed) - SHOWN} more ranks")
    for line in found.sums:
        out.print(line)
    out.print(found.result, style="bold")


def _print_versus(found: Versus) -> None:
    out = console()
    ours, theirs = found.ours, found.theirs
    names = (ours.conventions.preset, theirs.conventions.preset)
    out.print(f"{ours.label} of user {ours.user}: {names[0]} and {names[1]}", style="bold")
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("rank", justify="right")
    for name in names:
        table.add_column("item")
        table.add_column("grade", justify="right")
        table.add_column(f"{name} adds")
    left, right = ({row.rank: row for row in side.listed} for side in (ours, theirs))
    for rank in sorted({*left, *right})[:SHOWN]:
        cells = []
        for side in (left, right):
            row = side.get(rank)
            grade = "" if row is None or row.grade is None else f"{row.grade:g}"
            cells += [
                "" if row is None else _item(row.item),
                grade,
                "" if row is None else row.term,
            ]
        table.add_row(str(rank), *cells)
    out.print(table)
    for name, each in zip(names, (ours, theirs), strict=True):
        out.print(f"\n{name}: {each.head}", style="bold")
        _print_rest(each)
    out.print("\nwhat makes them differ", style="bold")
    for line in found.path.lines:
        out.print(f"  {line}")


def _item(item: object) -> str:
    return "(a later copy)" if item is None else str(item)
