"""Commands of the guides print what their pages quote."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project import ROOT, attempt, change_params, copied_from

FOLDER = ROOT / "docs" / "how-to"
ON_THE_DEMO = {  # pages whose commands run in the demo after `dvc repro`, with its parameters
    "error-analysis": {},
    "gate": {
        "gate": {
            "guardrails": {"nDCG@10": "2%", "R@20": "5%"},
            "segments": {"activity": {"nDCG@10": "5%"}},
            "success": ["nDCG@10"],
        }
    },
    "own-metrics": {},
    "plan": {
        "gate": {
            "guardrails": {"nDCG@10": 0.01, "R@20": "10%"},
            "segments": {"activity": {"nDCG@10": "5%"}},
            "success": ["nDCG@10"],
        }
    },
    "reconcile": {},
}
NOT_RUN = {  # pages with quoted output, and why it is not compared
    "audit": "MovieLens with a leak that the page describes; tests/metrics_core/analyses/audit",
    "ci": "a revision of a repository; tests/pipeline/commands/test_comment.py",
    "diff": "two revisions of a repository",
    "from-a-model-to-lists": "files of a reader; tests/parity/test_from_a_model.py runs the code",
    "gate-pytest": "pytest in pytest; tests/test_pictures.py holds the picture of its output",
    "history": "three revisions of a repository",
    "judge-labels": "grades of a reader",
    "mlflow": "a server that cannot be reached; tests/pipeline/mlflow/test_log_faults.py",
    "repository": "files of a reader",
    "search": "tests/demo/test_search_demo.py",
    "split": "MovieLens, which is not in the repository",
    "study": "simulated projects",
    "without-dvc": "times and memory, which differ",
}
PUBLISHED = "examples/published"
WIDTH = "400"  # characters of the terminal, so that no line is wrapped
_CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.+)\n((?:[^$].*\n|\n)*)", re.MULTILINE)


def _quoted(page: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each `concord` command of a page whose output is quoted, with the lines."""
    for block in _CONSOLE.findall(page.read_text(encoding="utf-8")):
        for command, output in _COMMAND.findall(block):
            if command.startswith("concord ") and output.strip():
                yield command.partition(" #")[0], output.splitlines()


def _words(text: str) -> str:
    return " ".join(text.split())


def test_each_page_with_quoted_output_is_run_or_has_a_reason() -> None:
    quoting = {page.stem for page in FOLDER.glob("*.md") if [*_quoted(page)]}

    assert quoting == {*ON_THE_DEMO, *NOT_RUN}


@pytest.mark.whole
@pytest.mark.parametrize("page", ON_THE_DEMO)
def test_a_command_prints_what_its_page_quotes(page: str, demo: Path, tmp_path: Path) -> None:
    project = copied_from(demo, tmp_path)
    change_params(project, ON_THE_DEMO[page])
    if page == "reconcile":
        shutil.copytree(ROOT / PUBLISHED, project / PUBLISHED)
    if page == "own-metrics":
        text = (FOLDER / "own-metrics.md").read_text(encoding="utf-8")
        code = text.partition("```python\n")[2].partition("```")[0]
        (project / "my_metrics.py").write_text(code, encoding="utf-8")

    missing = []
    for command, lines in _quoted(FOLDER / f"{page}.md"):
        printed = _words(attempt(project, *command.split(), COLUMNS=WIDTH).stdout)
        missing += [line for line in lines if line != "…" and _words(line) not in printed]
    assert missing == []
