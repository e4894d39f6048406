"""`concord validate`: all files, all problems, and nothing is left behind."""

from pathlib import Path

import pytest

from tests.project import attempt, change_params, copied


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(tmp_path_factory.mktemp("validate"))


def _validated(project: Path) -> tuple[int, str, str]:
    done = attempt(project, "concord", "validate")
    return done.returncode, done.stdout, done.stderr


def test_a_sound_project_is_told_file_by_file(project: Path) -> None:
    code, said, wrong = _validated(project)

    assert (code, wrong) == (0, "")
    assert [line.partition(":")[0] for line in said.splitlines() if line[0] != " "] == [
        "truth", "train", "items", "users", "popularity", "item-knn", "ease", "ease-recent", "als", "no problem found",
    ]  # fmt: skip
    assert "popularity: 36,000 rows, 1,200 users\n" in said
    assert not (project / "results").exists()


def test_problems_of_all_files_are_told_at_once(project: Path) -> None:
    (project / "data/bad.csv").write_text("user,item,rank\nu1,,1\n")
    (project / "data/truth.csv").write_text("user,item\nu1,a\nu1,a\n")
    change_params(
        project,
        {"models.als": {"path": "data/bad.csv"}, "data.truth": {"path": "data/truth.csv"}},
    )

    code, said, wrong = _validated(project)

    assert code == 2
    assert wrong.startswith("data/truth.csv: line 2 and line 3 (user 'u1', item 'a')")
    assert "data/bad.csv: line 2, column 'item' (user 'u1', item ''): is blank" in wrong
    assert "als: 1 problem\n" in said
    assert "ease: 34,170 rows" in said
    assert not (project / "results").exists()


def test_ids_that_do_not_fit_are_found(project: Path) -> None:
    (project / "data/other.csv").write_text("user,item\nnobody,else\n")
    change_params(
        project,
        {"models.als": {"path": "data/demo/als.run.gz"}, "data.truth": {"path": "data/other.csv"}},
    )

    code, _, wrong = _validated(project)

    assert code == 2
    assert wrong.count("no user of the lists stands in the truth") == 5
