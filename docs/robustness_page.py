"""docs/reference/robustness.md: each bad input and fault, the response, and the test for it."""

import re
from collections.abc import Iterator, Mapping, Sequence

from docs.robustness_rows import BAD_INPUTS, FAULTS, TestedRows

_INPUT = """\
A message names file, line or row, column, user, item and value, the number of rows and the fix.
Up to 20 problems of a file are reported at once. The exit code is 2, and nothing is written.
`concord validate` reports the problems of all files without evaluating. Stages and library
print the same messages."""
_FAULT = """\
Outputs are complete or absent. The next `dvc repro` completes everything. No result depends on an
earlier failure. A fault of the MLflow server ends the stage `log` with one line within seconds.
Results are on disk: `concord log --again` completes the runs and logs nothing twice."""
_ERROR = "error: "
_LOCATION = re.compile(r"^/|^(?:line|row) \d+[^:]*: ")
_VALUE = re.compile(r"'[^']*'|\d+")


def robustness_page(tested: TestedRows) -> Iterator[str]:
    """Yield the lines of the page."""
    yield "# Robustness: invalid inputs and faults\n"
    yield "This page is made from the tests that it names. Code is the start of an error message.\n"
    yield "## Bad input\n"
    yield f"{_INPUT}\n"
    yield from _table(BAD_INPUTS, tested["bad_input"])
    yield "\n## Faults\n"
    yield f"{_FAULT}\n"
    yield from _table(FAULTS, tested["fault"])


def _table(rows: Mapping[int, str], tested: Sequence[tuple[int, str, str]]) -> Iterator[str]:
    yield "| | case | result | tests |"
    yield "|---|---|---|---|"
    for number, description in rows.items():
        behaviours = list(dict.fromkeys(b for row, _, b in tested if row == number))
        tests = dict.fromkeys(_file(test) for row, test, _ in tested if row == number)
        yield f"| {number} | {description} | {_cell(behaviours)} | {', '.join(tests)} |"


def _cell(behaviours: Sequence[str]) -> str:
    """Return what happens, then one error message of each kind."""
    texts: list[str] = []
    errors: dict[str, str] = {}
    for text in behaviours:
        if text.startswith(_ERROR):
            message = _LOCATION.sub("", text.removeprefix(_ERROR))
            errors.setdefault(_VALUE.sub("", message), _code(message))
        else:
            texts.append(text)
    return "; ".join([*texts, *errors.values()]).replace("|", "\\|")


def _code(message: str) -> str:
    """Return inline code; a message that has backticks needs two around it."""
    quote = "`` " if "`" in message else "`"
    return f"{quote}{message}{quote[::-1]}"


def _file(test: str) -> str:
    """Return a link to the file of a test."""
    path, _, _ = test.partition("::")
    return f"[{path.rpartition('/')[2]}](../../{path})"
