"""`concord judge`: bounds, a file to fill in, and the file as additional ground truth."""

import json
from pathlib import Path

import pytest

from concord.pipeline.running.messages import Progress
from tests.project import attempt, change_params, copied_from, run

BM25 = "q1 Q0 a 1 3 x\nq1 Q0 b 2 2 x\nq1 Q0 c 3 1 x\nq2 Q0 x 1 3 x\nq2 Q0 y 2 2 x\n"
DENSE = "q1 Q0 d 1 3 x\nq1 Q0 b 2 2 x\nq1 Q0 a 3 1 x\nq2 Q0 z 1 3 x\nq2 Q0 x 2 2 x\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an evaluated project with two runs and two relevant documents."""
    folder = tmp_path_factory.mktemp("judge")
    (folder / "bm25.run").write_text(BM25)
    (folder / "dense.run").write_text(DENSE)
    (folder / "test.qrels").write_text("q1 0 c 2\nq2 0 w 1\n")
    run(folder, "git", "init", "-q")
    run(folder, "concord", "init", "--no-dvc")
    project = folder / "evaluation"
    run(project, "concord", "run", "compare")
    return project


def test_a_filled_file_is_additional_ground_truth(project: Path) -> None:
    output = run(project, "concord", "judge", "--metric", "P@10", "--out", "pool.csv")

    assert "6 unjudged documents in the lists for 2 queries" in output
    # bm25 has c: 1/10 over two queries; dense may win d and z, bm25 y.
    assert "bm25 - dense  +0.0500  \N{MINUS SIGN}0.0500  +0.1000  open" in output
    pool = project / "pool.csv"
    lines = pool.read_text().splitlines()
    assert lines[0] == "user,item,grade,weight,ranks"
    # a, b and x are in both lists.
    assert lines[1:] == ["q1,d,,0.05,dense:1", "q2,y,,0.05,bm25:2", "q2,z,,0.05,dense:1"]
    assert "may hold grades" in attempt(project, "concord", "judge", "--out", "pool.csv").stderr

    pool.write_text("\n".join([lines[0], "q1,d,0,0.05,dense:1", *lines[2:]]))
    change_params(project, {"data.truth.additional": ["pool.csv"]})
    run(project, "concord", "run", "compare")
    quality = json.loads((project / "results/quality/truth.json").read_text())
    assert (quality["rows"], quality["notes"]) == (3, ["with the judgements of pool.csv"])
    assert "5 unjudged documents" in run(project, "concord", "judge", "--metric", "P@10")

    pool.write_text("\n".join([lines[0], "q1,d,1,0.05,dense:1", *lines[2:]]))
    assert "pool.csv has changed" in attempt(project, "concord", "judge").stderr
    run(project, "concord", "run", "compare")
    assert json.loads((project / "results/quality/truth.json").read_text()) != quality


def test_lines_of_validate_and_run_have_the_words_of_a_search(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Recorded(Progress):
        def __exit__(self, *_: object) -> None:
            lines.append(self.line())

    lines: list[str] = []
    monkeypatch.setattr("concord.pipeline.stages.evaluate.Progress", Recorded)
    search = copied_from(project.parent, tmp_path) / "evaluation"
    validated = run(search, "concord", "validate").splitlines()
    stages = attempt(search, "concord", "run", "--force", "compare").stderr.splitlines()

    assert "bm25: 5 rows, 2 queries" in validated
    assert lines[0].startswith("evaluate bm25: 2 of 2 queries, ")
    assert any(line.startswith("load bm25: 5 rows, 2 queries; ") for line in stages)
    assert any(line.startswith("evaluate bm25: ") and "for 2 queries; " in line for line in stages)
    assert "user" not in "".join([*validated, *stages])


def test_the_file_is_written_if_nobody_reads_the_text(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise OSError

    monkeypatch.setattr("concord.pipeline.terminal.print_result", stop)
    attempt(project, "concord", "judge", "--metric", "P@10", "--out", "unread.csv")

    assert (project / "unread.csv").is_file()


def test_options_are_named_in_messages(project: Path) -> None:
    unknown = attempt(project, "concord", "judge", "--baseline", "bm26")
    assert "--baseline: 'bm26' is not among the models" in unknown.stderr
    negative = attempt(project, "concord", "judge", "--next", "-1")
    assert "--next: is -1" in negative.stderr


def test_titles_are_no_formulas_in_a_spreadsheet(project: Path) -> None:
    (project / "items.csv").write_text("item,title\na,A\ny,@SUM(1)\nz,=1+1\n")
    change_params(
        project, {"background.items": {"path": "items.csv"}, "input.unknown_items": "keep"}
    )
    run(project, "concord", "run", "compare")
    run(project, "concord", "judge", "--metric", "P@10", "--out", "titles.csv")

    lines = (project / "titles.csv").read_text().splitlines()
    assert lines[0] == "user,item,grade,weight,ranks,title"
    assert {"'=1+1", "'@SUM(1)"} <= {line.rpartition(",")[2] for line in lines[1:]}
    assert not any(",=" in line or ",@" in line for line in lines)
