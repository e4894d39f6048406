"""docs/reference/robustness.md: each bad input and fault, the response, and the test for it."""

from collections.abc import Iterator, Mapping, Sequence

from docs.robustness_rows import BAD_INPUTS, FAULTS, TestedRows

_INPUT = (
    "A problem is told by file, line or row, column, user and item, with the value, "
    "the number of rows and what to change; all\n"
    "problems of a file at once (20 at most). The process ends with 2 and has written nothing. "
    "`concord validate` tells all\n"
    "problems of all files without evaluating."
)
_FAULT = (
    "Outputs are whole or absent. The next `dvc repro` completes everything. "
    "A result never depends on a failure before it."
)


def robustness_page(tested: TestedRows) -> Iterator[str]:
    """Yield the lines of the page."""
    yield "# When input is bad or something breaks\n"
    yield "Each row is shown by the tests that are named; this page is made from them.\n"
    yield "## Bad input\n"
    yield f"{_INPUT}\n"
    yield from _table(BAD_INPUTS, tested["bad_input"])
    yield "\n## Faults\n"
    yield f"{_FAULT}\n"
    yield from _table(FAULTS, tested["fault"])


def _table(rows: Mapping[int, str], tested: Sequence[tuple[int, str, str]]) -> Iterator[str]:
    yield "| | what | what happens | test |"
    yield "|---|---|---|---|"
    for number, description in rows.items():
        behaviours = list(dict.fromkeys(b for row, _, b in tested if row == number))
        tests = list(dict.fromkeys(_name(test) for row, test, _ in tested if row == number))
        yield f"| {number} | {description} | {_cell(behaviours)} | {'<br>'.join(tests)} |"


def _cell(behaviours: Sequence[str]) -> str:
    return "<br>".join(text.replace("|", "\\|").replace("<", "&lt;") for text in behaviours)


def _name(test: str) -> str:
    """Return a link to the test's file, without the test's parameters."""
    path, _, name = test.partition("::")
    return f"[{name.partition('[')[0]}](../../{path})"
