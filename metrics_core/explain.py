"""`explain`: how one user's number came about, line by line, under one or two definitions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import duckdb
import polars as pl

from concord.metrics_core.checking.id_types import share_id_types
from concord.metrics_core.checking.locked import in_memory
from concord.metrics_core.checking.relations import view
from concord.metrics_core.checking.units import unit_id
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.presets import Chosen, beside, conventions_of
from concord.metrics_core.explaining.derivation import Steps, one_of, steps
from concord.metrics_core.explaining.versus import Path, path_between
from concord.metrics_core.inputs import Opened, nobody, open_inputs
from concord.metrics_core.metrics.catalogue import Label, of_lists_and_truth
from concord.metrics_core.reading.formats.frames import Data
from concord.metrics_core.reading.given import Columns
from concord.metrics_core.scoring.background import NONE, Background, refuse_missing
from concord.metrics_core.scoring.judge import judge
from concord.metrics_core.scoring.listing import listed, number_items
from concord.metrics_core.scoring.partition import Task, evaluate_partition

SHOWN = 20  # ranks of the list that are printed
_OF_ITEMS = ("AWRF", "EED", "EER", "EEL")  # of the metrics beyond accuracy


@dataclass(frozen=True)
class Listed:
    """One rank of the list: its item, the item's grade (None: not judged) and what it adds."""

    rank: int
    item: Any
    grade: float | None
    relevant: bool
    term: str


@dataclass(frozen=True)
class Derivation:
    """One user's value of one label: `value` as `evaluate` gives it, and what leads to it.

    head, listed, sums : what counts as relevant, the list up to k, and the lines that follow it
    """

    user: Any
    label: str
    value: float | None
    conventions: Conventions
    head: str
    listed: tuple[Listed, ...]
    sums: tuple[str, ...]

    @property
    def result(self) -> str:
        """The last line."""
        value = "left out of the mean" if self.value is None else format(self.value, ".6g")
        return f"{self.label} = {value}"

    @property
    def lines(self) -> tuple[str, ...]:
        """The derivation as plain text."""
        return (
            f"{self.label} of user {self.user!r}",
            self.head,
            *(_line(row) for row in self.listed[:SHOWN]),
            *_more(self.listed),
            *self.sums,
            self.result,
        )

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def to_markdown(self) -> str:
        """The derivation as Markdown."""
        rows = [
            f"| {row.rank} | {_cell(row.item)} | {_grade(row)} | {_mark(row)} | {row.term} |"
            for row in self.listed[:SHOWN]
        ]
        table = ["| rank | item | grade | relevant | adds |", "|---:|---|---:|---|---|", *rows]
        more = [f"\n{line.strip()}" for line in _more(self.listed)]
        title = f"**{self.label}** of user `{self.user}`, {self.conventions.preset}: {self.head}"
        sums = [f"- {line}" for line in (*self.sums, f"**{self.result}**")]
        return "\n".join([title, "", *table, *more, "", *sums])


@dataclass(frozen=True)
class Versus:
    """Two derivations of the same number, and the conventions that make them differ."""

    ours: Derivation
    theirs: Derivation
    path: Path

    def __str__(self) -> str:
        both = (f"--- {each.conventions.preset}\n{each}" for each in (self.ours, self.theirs))
        return "\n".join([*both, "--- what makes them differ", *self.path.lines])

    def to_markdown(self) -> str:
        """Both derivations and the conventions between them, as Markdown."""
        between = [f"- {line}" for line in self.path.lines]
        parts = [self.ours.to_markdown(), self.theirs.to_markdown()]
        return "\n\n".join([*parts, "**What makes them differ**", "\n".join(between)])


@overload
def explain(
    recs: Data,
    truth: Data,
    *,
    user: Any,
    metric: str,
    conventions: Chosen,
    train: Data | None = None,
    items: Data | None = None,
    columns: Columns | None = None,
    input: Mapping[str, Any] | None = None,
    unit: Sequence[str] = (),
) -> Derivation: ...


@overload
def explain(
    recs: Data,
    truth: Data,
    *,
    user: Any,
    metric: str,
    conventions: Chosen,
    versus: Chosen,
    train: Data | None = None,
    items: Data | None = None,
    columns: Columns | None = None,
    input: Mapping[str, Any] | None = None,
    unit: Sequence[str] = (),
) -> Versus: ...


def explain(
    recs: Data,
    truth: Data,
    *,
    user: Any,
    metric: str,
    conventions: Chosen,
    versus: Chosen | None = None,
    train: Data | None = None,
    items: Data | None = None,
    columns: Columns | None = None,
    input: Mapping[str, Any] | None = None,  # as params.yaml calls it
    unit: Sequence[str] = (),
) -> Derivation | Versus:
    """Prints and returns the derivation of one user's value.

    `value` is NaN where the metric is undefined and None where the conventions leave the user out.
    With `versus`: both derivations, and the knobs that make them differ. A preset's name takes the scale of the data
    (`relevance_threshold`, `err_max_grade`, `hlu_neutral`) from `conventions`; other conventions count as they are.
    The other arguments are those of `evaluate`; with `unit`, `user` is a request: `("u1", "s7")`, or its id `"u1/s7"`.

    Raises
    ------
    ValueError : the user is neither in the lists nor in the truth; else as `evaluate`
    """
    label = of_lists_and_truth(metric, asks="explain", beside=_OF_ITEMS)
    pinned = conventions_of(conventions)
    other = None if versus is None else conventions_of(versus)
    if other is not None and isinstance(versus, str):
        other = beside(other, pinned)
    with in_memory() as connection:
        how: dict[str, Any] = {
            "train": train,
            "items": items,
            "columns": columns,
            "policies": input,
            "unit": unit,
        }
        opened = open_inputs(connection, recs, truth, pinned, again=True, **how)
        if unit and isinstance(user, tuple | list):
            user = unit_id(user)
        opened.keep_user(user)
        data = _One(user, connection, lambda own: opened.rank(own.rankings), pinned, opened)
        found = _explained(data, label, pinned, other)
    print(found)
    return found


def explain_ranked(
    lists: pl.DataFrame,
    truth: pl.DataFrame,
    *,
    user: Any,
    metric: str,
    conventions: Conventions,
    versus: Conventions | None = None,
    background: Background = NONE,
) -> Derivation | Versus:
    """`explain` of lists that are ranked already, as the pipeline keeps them; prints nothing.

    With `versus` both definitions read the same ranked lists.
    """
    label = of_lists_and_truth(metric, asks="explain", beside=_OF_ITEMS)
    if "ranking" in lists.columns:
        number = label.ranking_number(conventions)
        lists = lists.filter(pl.col("ranking") == number).drop("ranking")
    if versus is not None:
        ranking = label.conventions(conventions).ranking
        versus = replace(label.conventions(versus), **ranking._asdict())
    frames = [frame.filter(frame["user"].cast(str) == str(user)) for frame in (lists, truth)]
    if not any(len(frame) for frame in frames):
        raise nobody(user)
    with in_memory() as connection:
        for name, frame in zip(("ranked", "judgements"), frames, strict=True):
            connection.register(name, frame.to_arrow())
        views = {"lists": "ranked", "truth": "judgements", "known": "judgements"}
        share_id_types(connection, views)
        if label.name in _OF_ITEMS:
            shelf = background.catalogue
            nobody_had = pl.DataFrame(schema={"user": pl.String, "item": pl.String})
            view(connection, "train", nobody_had)
            view(connection, "items", nobody_had.select("item") if shelf is None else shelf.items)
        data = _One(user, connection, lambda _: None, conventions, background)
        return _explained(data, label, conventions, versus)


@dataclass(frozen=True)
class _One:
    """One user's relations in a connection; `rank` makes the lists anew, as conventions order them."""

    user: Any
    connection: duckdb.DuckDBPyConnection
    rank: Callable[[Conventions], None]
    pinned: Conventions
    background: Background | Opened

    def task(self, label: Label, own: Conventions) -> Task:
        """The label under these conventions, with what it reads of the catalogue; the lists must be ranked."""
        known = self.background
        task = known.shelved(Task([label], self.pinned))
        if label.name in _OF_ITEMS:
            catalogue = known.catalogue
            refuse_missing(task, has_train=known.train is not None, catalogue=catalogue)
            if catalogue is not None:
                task = replace(task, items=number_items(self.connection, None, catalogue.groups))
        return replace(task, conventions=own)


def _explained(
    data: _One, label: Label, conventions: Conventions, versus: Conventions | None
) -> Derivation | Versus:
    ours = _derive(data, label, conventions)
    if versus is None:
        return ours

    def value(own: Conventions) -> float | None:
        return _value(data, label, own)

    path = path_between(label, conventions, versus, value)
    return Versus(ours, _derive(data, label, versus), path)


def _value(data: _One, label: Label, conventions: Conventions) -> float | None:
    own = label.conventions(conventions)
    data.rank(own)
    part = evaluate_partition(data.connection, data.task(label, own))
    found: float | None = part.values[str(label)][0]
    return found


def _derive(data: _One, label: Label, conventions: Conventions) -> Derivation:
    own, value = label.conventions(conventions), _value(data, label, conventions)  # it ranks
    task = data.task(label, own)
    judged = judge(
        data.connection,
        only_known=False,
        ranking=own.ranking,
        shelf=task.shelf,
        propensity=own.propensity,
    )
    rows = data.connection.execute(
        "SELECT rank, item, grade FROM lists LEFT JOIN truth USING (user, item) ORDER BY rank"
    ).fetchall()
    one, least = one_of(judged, label, own), own.relevance_threshold
    if task.items is not None:
        whole = listed(data.connection, judged, task.items, number=0, threshold=least)
        one = replace(one, listed=whole)
    how = steps(one)
    head = (
        f"relevant: {'any grade' if least is None else f'grade >= {least:g}'}; "
        f"{one.n_relevant} relevant item(s) in the truth, {int(one.lists.n_listed[0])} in the list"
    )
    if label.judged_only:
        known = [row for row in rows if row[2] is not None]
        rows = [(place, item, grade) for place, (_, item, grade) in enumerate(known, 1)]
    shown = _listed(rows, how, label.k, least)
    return Derivation(data.user, str(label), value, conventions, head, shown, how.lines)


def _listed(
    rows: list[tuple[int, Any, float | None]], how: Steps, k: int | None, least: float | None
) -> tuple[Listed, ...]:
    return tuple(
        Listed(
            rank,
            item,
            grade,
            grade is not None and (least is None or grade >= least),
            how.terms.get(rank, ""),
        )
        for rank, item, grade in rows
        if k is None or rank <= k or rank in how.terms
    )


def _line(row: Listed) -> str:
    judged = f", grade {_grade(row)}" if row.grade is not None else ""
    hit = "" if row.grade is None else ": hit" if row.relevant else ": not relevant"
    term = f"  [{row.term}]" if row.term and row.term != "hit" else ""
    return f"  rank {row.rank}: {'(a later copy)' if row.item is None else row.item}{judged}{hit}{term}"


def _more(listed: tuple[Listed, ...]) -> list[str]:
    return [f"  … {len(listed) - SHOWN} more ranks"] if len(listed) > SHOWN else []


def _grade(row: Listed) -> str:
    return "" if row.grade is None else f"{row.grade:g}"


def _mark(row: Listed) -> str:
    return "hit" if row.relevant else ""


def _cell(item: Any) -> str:
    return "(a later copy)" if item is None else str(item).replace("|", "\\|")
