"""Every row of docs/faults.md has a test, and every marked test a row."""

import ast
import re
from collections.abc import Iterator

from tests.project import ROOT

IN_THE_MAKING = {9, 10}  # a slow server, and one that answers 500


def _marked() -> Iterator[int]:
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.fault":
                number, behaviour = (ast.literal_eval(argument) for argument in node.args)
                assert behaviour
                yield number


def test_every_fault_has_a_test_and_every_test_a_fault() -> None:
    page = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    rows = {int(number) for number in re.findall(r"^\| (\d+) \|", page, flags=re.MULTILINE)}
    marked = set(_marked())

    assert rows == set(range(1, 25))
    assert marked <= rows
    assert rows - marked <= IN_THE_MAKING
