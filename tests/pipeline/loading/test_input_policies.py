"""What `input` in params.yaml allows: what becomes of the rows, and that it is counted."""

from pathlib import Path

import polars as pl
import pytest

from concord.pipeline.params.read import read_params
from tests.pipeline.loading.load_project import loaded, loaded_truth, refusal, truth_refusal
from tests.project import change_params, copied, run_all_stages

JUDGED = "user,item,grade\nu,a,1\nu,b,-2\nu,a,3\nv,a,2\nv,a,1\n"


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.bad_input(20, "`input.nan_score: last` puts it below all others; counted")
def test_nan_scores_may_come_last() -> None:
    Path("a.csv").write_text("user,item,score\nu,a,nan\nu,b,-5\nu,c,1\nv,a,NaN\nv,b,0\n")

    rows, quality = loaded("a.csv", nan_score="last")

    assert [row[:2] for row in rows] == [("u", "c"), ("u", "b"), ("u", "a"), ("v", "b"), ("v", "a")]
    assert quality["nan_score"] == {"rows": 2, "users": 2, "policy": "last"}
    assert quality["notes"][-1] == (
        "2 rows of 2 users: NaN as score; `input.nan_score: last` was applied"
    )


def test_nan_is_below_minus_infinity_and_ties_with_nothing() -> None:
    Path("a.csv").write_text("user,item,score\nu,z,1\nu,b,-inf\nu,a,nan\nu,c,nan\n")

    rows, quality = loaded("a.csv", nan_score="last", conventions={"ties": "error"})

    assert [item for _, item, *_ in rows] == ["z", "b", "a", "c"]
    assert quality["infinite_scores"] == 1
    assert quality["ties"]["rows"] == 0


def test_no_policy_hides_a_row_that_is_refused() -> None:
    Path("t.csv").write_text("user,item,grade\nu,a,3\nu,a,abc\nu,a,\nu,a,-1\nu,b,1\n")

    text = truth_refusal("t.csv", repeated_grade="highest")

    assert [line.partition(": ")[2] for line in text.splitlines()[::2]] == [
        "line 4, column 'grade' (user 'u', item 'a'): is missing; 1 row affected",
        "line 3, column 'grade' (user 'u', item 'a'): 'abc' is no number; 1 row affected",
        "line 5, column 'grade' (user 'u', item 'a'): -1.0 is negative; 1 row affected",
    ]


def test_a_policy_that_changed_nothing_is_no_note() -> None:
    Path("a.csv").write_text("user,item,score\nu,a,2\nu,b,1\n")

    _, quality = loaded("a.csv", nan_score="last")

    assert quality["nan_score"]["rows"] == 0
    assert quality["notes"] == []


@pytest.mark.bad_input(48, "`input.negative_grade: zero` or `unjudged`; counted")
@pytest.mark.parametrize(
    ("policy", "expected"), [("zero", [("a", 1.0), ("b", 0.0)]), ("unjudged", [("a", 1.0)])]
)
def test_negative_grades_may_be_zero_or_unjudged(
    policy: str, expected: list[tuple[str, float]]
) -> None:
    Path("t.csv").write_text("user,item,grade\nu,a,1\nu,b,-2\n")

    rows, quality = loaded_truth("t.csv", negative_grade=policy)

    assert [(item, grade) for _, item, grade in rows] == expected
    assert quality["negative_grade"] == {"rows": 1, "users": 1, "policy": policy}
    assert quality["rows"] == 2
    assert sum(quality["grades"].values()) == len(expected)


def test_a_truth_of_negative_grades_alone_is_refused() -> None:
    Path("t.csv").write_text("user,item,grade\nu,a,-1\n")

    assert truth_refusal("t.csv", negative_grade="unjudged") == (
        "t.csv: has no row that is left: every grade is negative\n  fix: set `input.negative_grade: zero`"
    )


@pytest.mark.bad_input(47, "`input.repeated_grade: first` or `highest`; counted")
@pytest.mark.parametrize(
    ("policy", "grades"), [("first", {"u": 1.0, "v": 2.0}), ("highest", {"u": 3.0, "v": 2.0})]
)
def test_of_repeated_judgements_one_may_be_kept(policy: str, grades: dict[str, float]) -> None:
    Path("t.csv").write_text(JUDGED)

    rows, quality = loaded_truth("t.csv", repeated_grade=policy, negative_grade="unjudged")

    assert {user: grade for user, _, grade in rows} == grades
    assert len(rows) == 2
    assert quality["repeated_grade"] == {"rows": 2, "users": 2, "policy": policy}


def test_repeated_rows_without_grades_are_one() -> None:
    Path("t.csv").write_text("user,item\nu,a\nu,a\n")

    rows, quality = loaded_truth("t.csv", repeated_grade="highest")

    assert rows == [("u", "a", 1.0)]
    assert quality["grades"] == {"1": 1}


@pytest.mark.bad_input(49, "kept as it is: gains may be fractions")
def test_grades_may_be_fractions() -> None:
    Path("t.csv").write_text("user,item,grade\nu,a,0.5\n")

    assert loaded_truth("t.csv")[0] == [("u", "a", 0.5)]


@pytest.mark.whole
@pytest.mark.bad_input(3, "`input.empty_lists: keep`: nobody has a list; noted")
def test_a_file_without_rows_may_pass_through_the_whole_pipeline(tmp_path: Path) -> None:
    project = copied(tmp_path)
    (project / "data/demo/none.csv").write_text("user,item,rank\n")
    kept = read_params(project / "params.yaml").models["ease"].model_dump(exclude_none=True)
    kept = {name: value for name, value in kept.items() if value}
    change_params(
        project,
        {"models": {"none": {"path": "data/demo/none.csv"}, "popularity": kept}, "input.empty_lists": "keep"},
    )  # fmt: skip

    run_all_stages(project, last="report")

    values = pl.read_parquet(project / "results/per_user/none.parquet")
    assert set(values["R@10"]) == {0.0}
    assert len(values) == 1192
    assert "the file holds no list" in (project / "results/report/report.md").read_text()


def test_empty_lists_are_refused_by_default() -> None:
    Path("a.csv").write_text("user,item,rank\n")

    assert refusal("a.csv").startswith("a.csv: holds no rows")
    assert loaded("a.csv", empty_lists="keep")[0] == []
