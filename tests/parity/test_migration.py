"""Pages of docs/migrate: the old and the new call of a page give the numbers that it prints.

The code and the numbers are read from the page, so that the tests run what a reader copies.
"""

import json
import re
from pathlib import Path

import pytest

import concord as cc
from tests.parity.measure import SCRIPTS, python_with
from tests.project import ROOT, run_process

FOLDER = ROOT / "docs" / "migrate"
LIBRARIES = {  # page -> its environment in tests/parity/libraries
    "ranx": "ranx",
    "pytrec-eval": "pytrec_eval",
    "ir-measures": "ir_measures",
    "rectools": "rectools",
    "recbole": "recbole",
    "recommenders": "recommenders",
    "mlflow-evaluate": "mlflow",
    "gradient-boosting": "gradient_boosting",
}
_PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| `(.+)` \| `(.+)` \| `(\w+)` \| ([\d.]+) \|$", re.MULTILINE)


def code_of(page: str, *headings: str) -> str:
    """Return the code under the headings that start so."""
    sections = re.split(r"^## ", (FOLDER / f"{page}.md").read_text(encoding="utf-8"), flags=re.M)
    return "\n".join(
        code
        for section in sections
        if section.startswith(headings)
        for code in _PYTHON.findall(section)
    )


def rows_of(page: str) -> list[tuple[str, str, str, str]]:
    """Return the library's name, Concord's name, the preset and the value of each row."""
    return _ROW.findall((FOLDER / f"{page}.md").read_text(encoding="utf-8"))


def rounded(value: float, printed: str) -> str:
    """Return the value with as many digits as the printed one."""
    return f"{value:.{len(printed.partition('.')[2])}f}"


def test_every_page_is_tested() -> None:
    assert {path.stem for path in FOLDER.glob("*.md")} == {*LIBRARIES, "index"}


@pytest.mark.parametrize("page", LIBRARIES)
def test_the_new_call_gives_the_numbers_of_the_page(page: str) -> None:
    names: dict[str, object] = {}
    exec(code_of(page, "Data", "After"), names)
    values = list(names.values()) + list(names.get("variants", []))  # type: ignore[call-overload]
    results = {
        each.conventions.preset: each for each in values if isinstance(each, cc.results.Evaluation)
    }

    rows = rows_of(page)
    actual = [
        (ours, preset, rounded(results[preset][ours], value)) for _, ours, preset, value in rows
    ]
    assert actual == [(ours, preset, value) for _, ours, preset, value in rows]
    assert len(rows) == sum(len(result.summaries) for result in results.values())


@pytest.mark.nightly
@pytest.mark.parametrize(("page", "library"), LIBRARIES.items())
def test_the_old_call_gives_the_numbers_of_the_page(
    page: str, library: str, tmp_path: Path
) -> None:
    code = code_of(page, "Data", "Before")
    end = "\nimport json\nprint(json.dumps({str(name): float(v) for name, v in values.items()}))\n"
    (tmp_path / "before.py").write_text(code + end)
    python = python_with(SCRIPTS / f"with_{library}.txt")
    output = run_process(tmp_path, str(python), "before.py")

    values = json.loads(output.splitlines()[-1])
    rows = rows_of(page)
    actual = [(theirs, rounded(values[theirs], value)) for theirs, _, _, value in rows]
    assert actual == [(theirs, value) for theirs, _, _, value in rows]
