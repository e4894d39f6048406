"""The leaderboard as text: a block per metric, a line per model, two for long names."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from concord.pipeline.running.messages import escape_unprintable
from concord.pipeline.terminal.table import GAP, longest_word
from concord.reports.text import numbers, ranks
from concord.reports.text.verdict_styles import VERDICTS

COMMAND = "concord leaderboard"
STYLES = {"better": "green", "worse": "red", "even": "", "open": "dim"}
MIN_LINES = 3  # of a metric: header, best model, baseline
NARROW_LINES = 2  # of a model whose name is on a separate line
Row = tuple[Text, Text, Text, Text]  # model, mean, difference, verdict
REPLICATE_TITLE = "  replicates"  # of the line with intervals over replicates


def print_leaderboard(
    terminal: Console, comparison: Comparison, labels: Sequence[str], max_lines: int | None = None
) -> None:
    """Print the models by each metric, the best first.

    Parameters
    ----------
    terminal : Console
        Where to print.
    comparison : Comparison
        The comparison.
    labels : sequence of str
        Metrics.
    max_lines : int, optional
        Number of lines; models and metrics that do not fit are counted. The baseline is always
        shown. Without it, the meaning of the marks follows.
    """
    share = numbers.confidence_level(comparison.confidence)
    shown_labels = labels if max_lines is None else labels[: max(max_lines // MIN_LINES, 1)]
    blocks = [_models(comparison, label) for label in shown_labels]
    head = (f"mean, {share} interval", f"difference, {share} interval", "verdict")
    widths = _widths(
        [[*map(Text, (label, *head))] for label in shown_labels], blocks, terminal.width
    )
    n_models = len(comparison.models)
    if max_lines is not None:
        lines = max_lines // len(shown_labels) - 1
        lines_per_model = (1 if widths else NARROW_LINES) * (2 if comparison.replicates else 1)
        n_models = min(n_models, max(lines // lines_per_model, MIN_LINES - 1))
    for number, (label, models) in enumerate(zip(shown_labels, blocks, strict=True)):
        if number and max_lines is None:
            terminal.print()
        _print_head(terminal, (label, *head), widths)
        for model_rows in _first(models, comparison.baseline, n_models):
            for row in model_rows:
                _print_row(terminal, row, widths)
    if max_lines is None and (legend := _legend(comparison, labels)):
        terminal.print()
        for mark, meaning in legend.items():
            terminal.print(f"{mark}: {meaning}")
    _print_counts(terminal, len(comparison.models) - n_models, len(labels) - len(shown_labels))


def _legend(comparison: Comparison, labels: Sequence[str]) -> dict[str, str]:
    """Return the meaning of the marks, and why an interval without 0 may be undecided."""
    legend: dict[str, str] = dict(ranks.legend(comparison, labels).items())
    pairs = (pair for label in labels for pair in comparison.against_baseline(label))
    if any(map(ranks.fails_adjusted_only, pairs)):
        reason = "the adjusted p value is not significant"
        legend["undecided, though the interval excludes 0"] = reason
    return legend


def _models(comparison: Comparison, label: str) -> list[list[Row]]:
    """Return the rows of each model: its own, and one over replicates if there are any."""
    rows = _rows(comparison, label)
    models = [*comparison.leaders(label), *comparison.others(label)]
    return [
        [row, *_replicate_rows(comparison, model, label)]
        for row, model in zip(rows, models, strict=True)
    ]


def _replicate_rows(comparison: Comparison, model: str, label: str) -> list[Row]:
    """Return the row with intervals of mean and difference over replicates, if there are any."""
    replicates = comparison.replicates
    if replicates is None:
        return []
    digits = comparison.decimals[label]
    score = replicates.score(model, label)
    pair = comparison.retrained(model, comparison.baseline, label)
    if score is None and pair is None:
        return []
    mean = ""
    if score is not None:
        too_few = f"too few: {len(score.means)}"
        mean = numbers.interval(score.ci_low, score.ci_high, digits) or too_few
    word, difference = Text(""), ""
    if pair is not None:
        verdict = VERDICTS[pair.verdict]
        word = Text(verdict.word, style=STYLES[verdict.tone])
        difference = numbers.signed_interval(pair.ci_low, pair.ci_high, digits)
    return [(Text(REPLICATE_TITLE, style="dim"), Text(mean), Text(difference), word)]


def _rows(comparison: Comparison, label: str) -> list[Row]:
    pairs = {pair.a: pair for pair in comparison.against_baseline(label)}
    digits, marks = comparison.decimals[label], ranks.marks(comparison, label)
    rows = []
    for model in [*comparison.leaders(label), *comparison.others(label)]:
        score = comparison.score(model, label)
        mean = _side_by_side(
            numbers.number(score.mean, digits),
            numbers.interval(score.ci_low, score.ci_high, digits),
            marks.get(model, ""),
        )
        name = Text(escape_unprintable(model), style="bold" if model in marks else "")
        if model == comparison.baseline:
            rows.append((name, Text(mean), Text(""), Text("baseline")))
        else:
            rows.append((name, Text(mean), *_against(pairs.get(model), digits)))
    return rows


def _against(pair: Difference | None, digits: int) -> tuple[Text, Text]:
    if pair is None:
        return Text(numbers.MISSING), Text("not compared")
    verdict = VERDICTS[pair.verdict]
    difference = _side_by_side(
        numbers.signed(pair.difference, digits),
        numbers.signed_interval(pair.ci_low, pair.ci_high, digits),
    )
    return Text(difference), Text(verdict.word, style=STYLES[verdict.tone])


def _side_by_side(*texts: str) -> str:
    return "  ".join(filter(None, texts))


def _first(
    models: Sequence[Sequence[Row]], baseline: str, n_models: int
) -> Sequence[Sequence[Row]]:
    """Return the rows of the best models; the baseline is last if it is not among them."""
    best = models[:n_models]
    if baseline in [rows[0][0].plain for rows in best]:
        return best
    return [*models[: n_models - 1], *(rows for rows in models if rows[0][0].plain == baseline)]


def _widths(
    heads: Sequence[Sequence[Text]], blocks: Sequence[Sequence[Sequence[Row]]], width: int
) -> list[int] | None:
    """Return the column widths for all metrics; None if there is too little room for verdicts.

    Only a verdict may take two lines.
    """
    rows: list[Sequence[Text]] = [
        *heads,
        *(row for block in blocks for model_rows in block for row in model_rows),
    ]
    columns = [[cell.plain for cell in column] for column in zip(*rows, strict=True)]
    fixed = [max(map(cell_len, column)) for column in columns[:-1]]
    available = width - sum(fixed) - GAP * len(fixed)
    if available < max(map(longest_word, columns[-1])):
        return None
    return [*fixed, min(available, max(map(cell_len, columns[-1])))]


def _print_head(terminal: Console, head: Sequence[str], widths: list[int] | None) -> None:
    if widths:
        _print_line(terminal, [Text(text, style="bold") for text in head], widths)
    else:
        terminal.print(Text(head[0], style="bold"))


def _print_row(terminal: Console, row: Row, widths: list[int] | None) -> None:
    if widths:
        _print_line(terminal, row, widths)
        return
    model, *cells = row
    terminal.print(model, soft_wrap=True)
    filled = [cell for cell in cells if cell.plain]
    line = Text("  ") + Text("   ").join(filled)
    if cell_len(line.plain) <= terminal.width:
        terminal.print(line)
        return
    for cell in filled:
        terminal.print(Text("  ") + cell, soft_wrap=True)


def _print_line(terminal: Console, cells: Sequence[Text], widths: Sequence[int]) -> None:
    """Print cells side by side; the last cell continues on the next lines."""
    first, *more_lines = cells[-1].wrap(terminal, widths[-1])
    line = Text()
    for cell, width in zip(cells[:-1], widths, strict=False):
        line += cell + Text(" " * (width - cell_len(cell.plain) + GAP))
    terminal.print(line + first, soft_wrap=True)
    for text in more_lines:
        terminal.print(Text(" " * cell_len(line.plain)) + text, soft_wrap=True)


def _print_counts(terminal: Console, models: int, labels: int) -> None:
    counts = ((models, "models"), (labels, "primary metrics"))
    if counts_shown := [f"{n} more {noun}" for n, noun in counts if n]:
        terminal.print(f"… {' and '.join(counts_shown)}: `{COMMAND}`")
