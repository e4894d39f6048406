"""Cases as text: for each user what the metrics saw, what was wanted, and both lists side by side."""

from collections.abc import Iterator

from concord.metrics_core.comparison.cases import Case, Cases, ListedItem
from concord.pipeline.terminal.table import console, print_table
from concord.reports.writing import cases as written
from concord.reports.writing import numbers


def print_cases(cases: Cases) -> None:
    """The users, worst for the first list first; then the items."""
    out = console()
    out.print(written.headline(cases), style="bold")
    for line in (written.overlap(cases), written.asked(cases), written.trainings(cases)):
        if line:
            out.print(line)
    if said := written.thresholds(cases):
        out.print(f"{written.HIT} relevant (from {said}), {written.UNDER} wanted, but below that")
    for number, case in enumerate(cases.cases, 1):
        out.print()
        _print_case(cases, number, case)
    if cases.item_cases:
        out.print()
        out.print(written.item_headline(cases), style="bold")
        head, *rows = _items(cases)
        print_table(head, rows)


def _print_case(cases: Cases, number: int, case: Case) -> None:
    out = console()
    gap = f"{cases.labels[0]} {written.difference(case.difference)}"
    out.print(f"{number}. {cases.one} {case.user}: {gap}", style="bold")
    out.print(written.about(cases, case))
    rows = [
        row
        for seen in case.seen
        for row in (
            (seen.label, cases.a, written.value(seen.value_a), seen.reason_a),
            ("", cases.b, written.value(seen.value_b), seen.reason_b),
        )
    ]
    print_table(("metric", "model", "value", "what it saw"), rows)
    wanted = [
        (_item(each.item, each.title), written.grade(cases, each), written.rank(each.rank_a), written.rank(each.rank_b))
        for each in written.found_first(case)[: written.SHOWN]
    ]  # fmt: skip
    if wanted:
        print_table(("wanted", "", f"rank by {cases.a}", f"rank by {cases.b}"), wanted)
        if more := len(case.judged) - len(wanted):
            out.print(f"… and {more:,} more")
    print_table(("rank", cases.a, cases.b), list(_side_by_side(case)))


def _side_by_side(case: Case) -> Iterator[tuple[str, str, str]]:
    a, b = ({each.rank: each for each in items} for items in (case.list_a, case.list_b))
    for rank in sorted({*a, *b}):
        yield str(rank), _listed(a.get(rank)), _listed(b.get(rank))


def _listed(item: ListedItem | None) -> str:
    return "" if item is None else f"{written.mark(item) or ' '} {_item(item.item, item.title)}"


def _item(item: str, title: str | None) -> str:
    return item if title is None else f"{title} ({item})"


def _items(cases: Cases) -> Iterator[tuple[str, ...]]:
    a, b = cases.a, cases.b
    yield "item", "wanted by", f"recall {a}", f"recall {b}", f"exposure {a}", f"exposure {b}"
    for each in cases.item_cases:
        yield (
            _item(each.item, each.title),
            numbers.count(each.n_wanted),
            numbers.share(each.recall_a),
            numbers.share(each.recall_b),
            numbers.share(each.exposure_a),
            numbers.share(each.exposure_b),
        )
