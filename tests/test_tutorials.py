"""The tutorials of docs/tutorials run, and their text quotes the values that they compute."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from docs.notebooks import INSTALL, URLS, badge
from tests.project import ROOT

FOLDER = ROOT / "docs" / "tutorials"
_CELL = re.compile(r"^```\{code-cell\} python\n(.*?)^```", re.MULTILINE | re.DOTALL)
QUICK = "different-ndcg"  # runs with all tests; the site executes all of them at night
QUOTED = {  # expressions whose values the text of a page quotes
    "compare-models": [
        "comparison.verdicts[0]",
        "f'{activity.segments[0].n_users} new users'",
    ],
    "different-ndcg": [
        "f'from {min(values.values()):.3f} to {max(values.values()):.3f}'",
        "f'nDCG@10 = {values[\"rectools\"]:.3f}'",
        "f'nDCG@10 = {values[\"rectools\"]:.4f}'",
    ],
    "is-the-difference-real": [
        "f'a true difference of {plan.to_frame()[\"smallest\"][0]:.4f}'",
        "f'about {round(plan.to_frame()[\"users_needed\"][0], -2):,} users'",
    ],
    "gate": ["f'`ease-recent` {comparison.gate.outcome}es'"],
    "sessions": [
        "'{n_requests:,} visits of {n_users} users'"
        ".format_map(results['requests'].to_frame().row(0, named=True))",
    ],
    "search-and-rag": [
        "'`RR` is `{}`'.format(*comparison.differences.filter(pl.col('label') == 'RR')['verdict'])"
    ],
}


@pytest.mark.parametrize(
    "page", [p if p == QUICK else pytest.param(p, marks=pytest.mark.nightly) for p in QUOTED]
)
def test_the_text_quotes_what_the_cells_compute(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # tutorials write files
    text = (FOLDER / f"{page}.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for code in _CELL.findall(text):
        exec(code, names)

    quoted = [str(eval(expression, names)) for expression in QUOTED[page]]
    assert [each for each in quoted if each not in text] == []


def test_every_tutorial_is_tested() -> None:
    assert {path.stem for path in FOLDER.glob("*.md")} == {*QUOTED, "index"}


@pytest.mark.parametrize("page", QUOTED)
def test_a_tutorial_is_a_notebook_that_installs_concord_and_links_to_the_site(page: str) -> None:
    text = (FOLDER / f"{page}.md").read_text(encoding="utf-8")
    file = FOLDER / "notebooks" / f"{page}.ipynb"
    notebook = nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)

    install, *cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    prose = "".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert install == INSTALL
    assert cells == [code.strip() for code in _CELL.findall(text)]
    links = re.findall(r"\]\(([^)]+)\)", prose)
    pages = [each.partition("#")[0].removeprefix(URLS["Documentation"]) for each in links]
    assert [each for each in pages if not (ROOT / each).with_suffix(".md").is_file()] == []
    assert badge(page) in text
