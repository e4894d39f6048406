"""The README's example in a real notebook: a table, the verdicts and a picture, without network."""

import re
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.project import ROOT

BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    """What the last line of the example shows, by MIME type."""
    (code,) = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])  # type: ignore[no-untyped-call]
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(ROOT)}})
    client.execute()
    (output,) = [each for each in notebook.cells[0].outputs if each.output_type == "execute_result"]
    data: dict[str, Any] = output.data
    return data


def test_the_example_shows_leaderboard_verdicts_and_plot(shown: dict[str, Any]) -> None:
    page = shown["text/html"]

    assert page.count("<table") == 1
    assert page.count("<svg") == 1
    assert re.search(r"<li>ease (is best on|has the highest) nDCG@10: 0\.\d+", page)
    assert "als" in page


def test_it_needs_no_network_and_no_script(shown: dict[str, Any]) -> None:
    page = shown["text/html"].replace("http://www.w3.org/2000/svg", "")

    assert "<script" not in page
    assert "http" not in page
    assert "@import" not in page


def test_a_terminal_shows_one_line(shown: dict[str, Any]) -> None:
    assert shown["text/plain"].startswith("<Comparison of 2 models on nDCG@10: ease ")
    assert "\n" not in shown["text/plain"]
