"""The search demo in a repository of its own: `concord init` guesses all, the gate decides."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.project import ROOT, attempt, change_params, run, run_all_stages

DEMO = ROOT / "data" / "demo-search"
SOURCES = ("*.py", "*.toml", "__pycache__")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "help centre"
    shutil.copytree(DEMO, folder, ignore=shutil.ignore_patterns(*SOURCES))
    run(folder, "git", "init", "-q")
    return folder


def test_init_guesses_every_file_of_search(folder: Path) -> None:
    output = run(folder, "concord", "init", "--no-dvc")

    found = output.partition("assumed")[0].splitlines()[1:]
    assert [" ".join(line.split()) for line in found] == [
        "truth qrels/test.tsv user: query-id, item: corpus-id, grade: score",
        "model bm25 bm25.run.json user, item, score",
        "model dense dense.run.gz user, item, rank, score",
        "model reranked reranked.parquet user: query_id, item: doc_id, rank",
    ]
    assert "bm25 is the baseline" in output
    assert "those of trec_eval: `concord pin pytrec_eval`" in output
    assert "  ks: [10, 100]" in (folder / "evaluation" / "params.yaml").read_text()


@pytest.mark.whole
def test_the_page_on_search_shows_what_its_commands_print(folder: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "search.md").read_text(encoding="utf-8")
    project = folder / "evaluation"
    outputs = [run(folder, "concord", "init", "--no-dvc")]
    change_params(project, {"gate": {"guardrails": {"nDCG@10": "5%"}}})

    run(project, "concord", "validate")
    run_all_stages(project, last="report")
    gate = attempt(project, "concord", "gate")
    assert gate.returncode == 1
    outputs += [run(project, "concord", "leaderboard"), gate.stdout]
    outputs += [run(project, "concord", "judge", "--out", "next.csv")]
    run(project, sys.executable, str(DEMO / "judge.py"), "next.csv")
    change_params(project, {"data.truth.additional": ["next.csv"]})
    run_all_stages(project, last="report")
    outputs += [run(project, "concord", "judge")]

    printed = {
        line.strip() for line in "".join(outputs).replace("\N{NO-BREAK SPACE}", " ").split("\n")
    }
    shown = re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    lines = [line for line in "".join(shown).splitlines() if not line.startswith(("$", "…"))]
    assert [line for line in lines if line.strip() not in printed] == []
