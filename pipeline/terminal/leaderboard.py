"""The leaderboard as text: a block a metric, one line a model; two where names are long. Numbers are never cut."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from concord.metrics_core.comparison.comparison import Comparison
from concord.metrics_core.comparison.parts import Difference
from concord.pipeline.running.announce import plain
from concord.pipeline.terminal.table import GAP, longest_word
from concord.reports.writing import numbers
from concord.reports.writing.verdicts import VERDICTS

COMMAND = "concord leaderboard"
STYLES = {"better": "green", "worse": "red", "even": "", "open": "dim"}
FEWEST_LINES = 3  # of a metric: its head, the best model, the baseline
NARROW = 2  # lines a model where its name has a line of its own
Row = tuple[Text, Text, Text, Text]  # model, mean, difference, verdict


def print_leaderboard(
    out: Console, comparison: Comparison, labels: Sequence[str], most_lines: int | None = None
) -> None:
    """The models on each label, best first; with `most_lines` as many as fit, and how to see the rest.

    The baseline is always among them.
    """
    share = f"{100 * comparison.confidence:.12g} %"
    told = labels if most_lines is None else labels[: max(most_lines // FEWEST_LINES, 1)]
    blocks = [_rows(comparison, label) for label in told]
    head = (f"mean, {share} interval", f"difference, {share} interval", "verdict")
    widths = _widths([[*map(Text, (label, *head))] for label in told], blocks, out.width)
    shown = len(comparison.models)
    if most_lines is not None:
        lines = most_lines // len(told) - 1
        shown = min(shown, max(lines // (1 if widths else NARROW), FEWEST_LINES - 1))
    for at, (label, rows) in enumerate(zip(told, blocks, strict=True)):
        if at and most_lines is None:
            out.print()
        _print_head(out, (label, *head), widths)
        for row in _first(rows, comparison.baseline, shown):
            _print_row(out, row, widths)
    _print_rest(out, len(comparison.models) - shown, len(labels) - len(told))


def _rows(comparison: Comparison, label: str) -> list[Row]:
    pairs = {pair.a: pair for pair in comparison.against_baseline(label)}
    digits = numbers.digits_of(comparison, label)
    fine = numbers.difference_digits_of(comparison, label)
    rows = []
    for model in [*comparison.leaders(label), *comparison.others(label)]:
        score = comparison.score(model, label)
        mean = _with_interval(
            numbers.number(score.mean, digits),
            numbers.interval(score.ci_low, score.ci_high, digits),
        )
        name = Text(plain(model), style="bold" if score.best else "")
        if model == comparison.baseline:
            rows.append((name, Text(mean), Text(""), Text("baseline")))
        else:
            rows.append((name, Text(mean), *_against(pairs.get(model), fine)))
    return rows


def _against(pair: Difference | None, digits: int) -> tuple[Text, Text]:
    if pair is None:
        return Text(numbers.MISSING), Text("not compared")
    verdict = VERDICTS[pair.verdict]
    difference = _with_interval(
        numbers.signed(pair.difference, digits),
        numbers.signed_interval(pair.ci_low, pair.ci_high, digits),
    )
    return Text(difference), Text(verdict.word, style=STYLES[verdict.tone])


def _with_interval(number: str, interval: str) -> str:
    return f"{number}  {interval}".rstrip()


def _first(rows: Sequence[Row], baseline: str, shown: int) -> Sequence[Row]:
    """So many of the best; the baseline takes the last place if it is none of them."""
    best = rows[:shown]
    if baseline in [row[0].plain for row in best]:
        return best
    return [*rows[: shown - 1], *(row for row in rows if row[0].plain == baseline)]


def _widths(
    heads: Sequence[Sequence[Text]], blocks: Sequence[Sequence[Row]], width: int
) -> list[int] | None:
    """Of the columns, the same for all metrics; None where names or numbers leave too little room.

    Only a verdict may take two lines.
    """
    rows: list[Sequence[Text]] = [*heads, *(row for block in blocks for row in block)]
    columns = [[cell.plain for cell in column] for column in zip(*rows, strict=True)]
    fixed = [max(map(cell_len, column)) for column in columns[:-1]]
    room = width - sum(fixed) - GAP * len(fixed)
    if room < max(map(longest_word, columns[-1])):
        return None
    return [*fixed, min(room, max(map(cell_len, columns[-1])))]


def _print_head(out: Console, head: Sequence[str], widths: list[int] | None) -> None:
    if widths:
        _print_line(out, [Text(text, style="bold") for text in head], widths)
    else:
        out.print(Text(head[0], style="bold"))


def _print_row(out: Console, row: Row, widths: list[int] | None) -> None:
    if widths:
        _print_line(out, row, widths)
        return
    model, *cells = row
    out.print(model, soft_wrap=True)
    known = [cell for cell in cells if cell.plain]
    line = Text("  ") + Text("   ").join(known)
    if cell_len(line.plain) <= out.width:
        out.print(line)
        return
    for cell in known:
        out.print(Text("  ") + cell, soft_wrap=True)


def _print_line(out: Console, cells: Sequence[Text], widths: Sequence[int]) -> None:
    """Side by side; what the last cell has no room for stands below it."""
    first, *more = cells[-1].wrap(out, widths[-1])
    line = Text()
    for cell, width in zip(cells[:-1], widths, strict=False):
        line += cell + Text(" " * (width - cell_len(cell.plain) + GAP))
    out.print(line + first, soft_wrap=True)
    for rest in more:
        out.print(Text(" " * cell_len(line.plain)) + rest, soft_wrap=True)


def _print_rest(out: Console, models: int, labels: int) -> None:
    left = [
        f"{n} more {what}" for n, what in ((models, "models"), (labels, "primary metrics")) if n
    ]
    if left:
        out.print(f"… {' and '.join(left)}: `{COMMAND}`")
