"""`concord compare` and `concord evaluate`: files to a verdict, without a project."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import concord as cc
from tests.project import attempt, run

DEMO = cc.datasets.load_demo()
TRUTH = DEMO.truth
COMMAND = ("concord", "compare", "runs/new.csv", "runs/old.csv", "--truth", "truth.csv")
ONE = ("concord", "evaluate", "runs/new.csv", "--truth", "truth.csv")
METRICS = ("nDCG@10", "R@20")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with lists of a new and an old model, ground truth and train."""
    (tmp_path / "runs").mkdir()
    DEMO.models["ease"].write_csv(tmp_path / "runs/new.csv")
    DEMO.models["als"].write_csv(tmp_path / "runs/old.csv")
    TRUTH.write_csv(tmp_path / "truth.csv")
    DEMO.train.write_csv(tmp_path / "train.csv")
    return tmp_path


def _files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def _results(text: str) -> dict[str, Any]:
    """Return the parts of a comparison in JSON that do not name files."""
    content = json.loads(text)
    return {name: content[name] for name in ("baseline", "models", "primary", "scores", "pairs")}


def test_two_files_give_the_numbers_of_the_library_and_no_file(folder: Path) -> None:
    before = _files(folder)

    text = run(folder, *COMMAND, "--metrics", ",".join(METRICS), "--json")

    paths = {name: folder / f"runs/{name}.csv" for name in ("new", "old")}
    expected = cc.compare(
        paths, folder / "truth.csv", metrics=METRICS, baseline="old", min_effect="2%"
    )
    assert _results(text) == _results(json.dumps(expected.to_dict()))
    assert _files(folder) == before


def test_doubts_the_answer_the_leaderboard_the_choices_and_the_next_steps_are_printed(
    folder: Path,
) -> None:
    DEMO.models["ease"].filter(pl.col("user") > "u0100").write_csv(folder / "runs/new.csv")

    lines = run(folder, *COMMAND, "--train", "train.csv").splitlines()

    starts = ["Warning (new, old): ", "2 models on", "No model is shown to beat old", "nDCG@10 ↑"]
    starts += ("chosen:", "  old is the baseline", "next:", "  the report, with what to do about")
    places = [lines.index(next(line for line in lines if line.startswith(s))) for s in starts]
    assert places == sorted(places)
    assert not places[0]
    assert "What to do" not in "".join(lines)
    assert {"chance", "most", "popular", "reference"} <= {*" ".join(lines).split()}
    assert "  nDCG@10 decides, for differences of at least 2%" in lines
    assert len(lines) - lines.index("next:") - 1 <= 3
    assert lines[-1].endswith("others can verify: add `--save decision.concord`")


def test_quiet_commands_print_the_answer_only(folder: Path) -> None:
    answer, values = run(folder, *COMMAND, "-q"), run(folder, *ONE, "-q")

    assert answer.startswith("new beats old on nDCG@10.")
    assert "\n\n" not in answer
    assert "nDCG@10" in values
    assert "chosen" not in values


def test_names_and_the_baseline_can_be_given(folder: Path) -> None:
    lists = ("a=runs/old.csv", "b=runs/new.csv", "c=runs/old.csv")

    text = run(folder, "concord", "compare", *lists, *COMMAND[4:], "--baseline", "a", "--json")

    content = json.loads(text)
    assert content["models"] == ["a", "b", "c"]
    assert content["baseline"] == "a"


def test_names_are_those_of_the_files_and_paths_may_hold_an_equals_sign(folder: Path) -> None:
    parts = folder / "runs/date=2026-11"
    parts.mkdir()
    for name in ("ease.csv", "ease-recent.csv"):
        DEMO.models[name.removesuffix(".csv")].write_csv(parts / name)
    lists = ["runs/date=2026-11/ease.csv", "runs/date=2026-11/ease-recent.csv"]

    for given in (lists, [f"ease={lists[0]}", f"ease-recent={lists[1]}"]):
        text = run(folder, "concord", "compare", *given, *COMMAND[4:], "--json")
        assert json.loads(text)["models"] == ["ease", "ease-recent"]


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "jsonl", "arrow", "parquet"])
def test_ratings_have_the_same_threshold_in_every_format(folder: Path, ending: str) -> None:
    ratings = TRUTH.select("user", "item", rating=pl.col("grade") + 2)
    file = folder / f"ratings.{ending}"
    if ending == "csv.gz":
        file.write_bytes(gzip.compress(ratings.write_csv().encode()))
    elif ending == "tsv":
        ratings.write_csv(file, separator="\t")
    else:
        names = {"csv": "csv", "jsonl": "ndjson", "arrow": "ipc", "parquet": "parquet"}
        getattr(ratings, f"write_{names[ending]}")(file)

    text = run(folder, "concord", "evaluate", "runs/new.csv", "--truth", file.name)

    assert "rows of the ground truth with rating >= 4 count as relevant" in text
    assert "baseline" not in text


def test_the_highest_grade_is_read_in_every_format(folder: Path) -> None:
    judged = TRUTH.select("user", pl.lit(0), "item", pl.col("grade").cast(pl.Int64))
    judged.write_csv(folder / "test.qrels", separator=" ", include_header=False)
    by_user: dict[str, dict[str, int]] = {}
    for user, _, item, grade in judged.iter_rows():
        by_user.setdefault(user, {})[item] = grade
    (folder / "qrels.json").write_text(json.dumps(by_user), encoding="utf-8")

    names = ("truth.csv", "test.qrels", "qrels.json")
    command = ("concord", "evaluate", "runs/new.csv", "--metrics", "ERR@10", "--json", "--truth")
    results = [json.loads(run(folder, *command, name)) for name in names]

    conventions = cc.preset("standard", err_max_grade=3)
    expected = cc.evaluate(DEMO.models["ease"], TRUTH, metrics=["ERR@10"], conventions=conventions)
    assert [each["metrics"] for each in results] == [expected.to_dict()["metrics"]] * 3


def test_columns_of_numbers_that_may_be_grades_are_named(folder: Path) -> None:
    TRUTH.rename({"grade": "liking"}).write_csv(folder / "truth.csv")
    option = "--column truth.grade=liking"

    text, graded = run(folder, *ONE), run(folder, *ONE, *option.split())

    rows = "all rows of the ground truth count as relevant"
    assert f"  {rows}; if liking is a grade: `{option}`\n" in text
    assert "  rows of the ground truth with liking >= 1 count as relevant\n" in graded


def test_a_preset_is_taken_as_it_is(folder: Path) -> None:
    ratings = TRUTH.select("user", "item", rating=pl.col("grade") + 2)
    ratings.write_csv(folder / "ratings.csv")
    options = ("--truth", "ratings.csv", "--preset", "trec_eval", "--metrics", "nDCG@10,P@10")

    text = run(folder, "concord", "evaluate", "runs/new.csv", *options, "--json")

    expected = cc.evaluate(
        folder / "runs/new.csv",
        folder / "ratings.csv",
        metrics=["nDCG@10", "P@10"],
        conventions="trec_eval",
        columns={"truth": {"grade": "rating"}},
    )
    assert json.loads(text) == json.loads(json.dumps(expected.to_dict()))


def test_one_file_of_several_models_is_compared_not_evaluated(folder: Path) -> None:
    names = ("als", "ease")
    both = [DEMO.models[name].select("user", "item", "score", model=pl.lit(name)) for name in names]
    pl.concat(both).write_csv(folder / "both.csv")

    done = attempt(folder, "concord", "evaluate", "both.csv", "--truth", "truth.csv")
    assert done.returncode == 2
    assert "the lists of several models: als and ease" in done.stderr
    text = run(folder, "concord", "compare", "both.csv", "--truth", "truth.csv", "--json")
    assert json.loads(text)["models"] == ["als", "ease"]


def test_no_input_is_overwritten(folder: Path) -> None:
    before = (folder / "truth.csv").read_bytes()

    done = attempt(folder, *COMMAND, "--html", "truth.csv", "--force")

    assert done.returncode == 2
    assert "--html: is a file that is read" in done.stderr
    assert (folder / "truth.csv").read_bytes() == before


def test_the_report_is_written_if_it_is_named(folder: Path) -> None:
    run(folder, *COMMAND, "--html", "report.html")

    assert "<!doctype html>" in (folder / "report.html").read_text(encoding="utf-8").lower()


@pytest.mark.parametrize(
    "options",
    [
        ("--metrics", "ndcg@10,AP@10,R@20", "--min-effect", "0.01"),
        ("--preset", "trec_eval", "--items", "../items.parquet", "--gate"),
    ],
    ids=["metrics", "preset"],
)
def test_the_evaluation_that_is_written_gives_the_same_numbers(
    folder: Path, options: tuple[str, ...]
) -> None:
    work = folder / "work"
    (work / "runs").mkdir(parents=True)
    DEMO.items.write_parquet(folder / "items.parquet")
    for name in ("runs/new.csv", "runs/old.csv", "truth.csv", "train.csv"):
        rows = pl.read_csv(folder / name).filter(pl.col("user") < "u0200")
        names = {"grade": "stars"} if name == "truth.csv" else {"item": "article"}
        rows.rename(names, strict=False).write_csv(work / name)
    command = (*COMMAND, "--train", "train.csv", *options, "--column", "grade=stars")
    command += ("--column", "new.item=article", "--column", "old.item=article")
    command += ("--column", "train.item=article")

    done = attempt(work, *command, "--json", "--init", "kept")
    again = attempt(work, *command, "--init", "kept")

    expected = _results(done.stdout)
    assert "concord validate && concord run" in done.stderr
    attempt(work / "kept", "concord", "run", "compare").check_returncode()
    stored = (work / "kept/results/comparison/comparison.json").read_text()
    assert _results(stored) == expected
    assert json.loads(stored)["gate"] == json.loads(done.stdout)["gate"]
    assert again.returncode == 2
    assert "kept/params.yaml: exists already\n  fix: `--init NAME` writes" in again.stderr


def test_metrics_of_whole_lists_are_not_written_into_params(folder: Path) -> None:
    done = attempt(folder, *COMMAND, "--metrics", "AP", "--init", "kept")

    assert done.returncode == 2
    assert "--init: AP of whole lists cannot be written into params.yaml" in done.stderr
    assert not (folder / "kept").exists()


def _leak() -> pl.DataFrame:
    return TRUTH.select(
        "user", "item", score=pl.lit(1.0) / pl.int_range(1, pl.len() + 1).over("user")
    )


@pytest.mark.parametrize(
    ("lists", "code"),
    [
        (DEMO.models["ease"], 0),
        (DEMO.models["popularity"], 1),
        (DEMO.models["ease"].filter(pl.col("user") < "u0200"), 3),
        (_leak(), 4),
    ],
    ids=["pass", "worse", "undecided", "suspicious"],
)
def test_the_exit_code_is_the_decision_if_it_is_asked_for(
    folder: Path, lists: pl.DataFrame, code: int
) -> None:
    lists.write_csv(folder / "runs/new.csv")

    done = attempt(folder, *COMMAND, "--gate")
    assert done.returncode == code, done.stdout + done.stderr
    assert attempt(folder, *COMMAND).returncode == 0


def test_lists_in_the_formats_of_search_are_recognised_by_their_content(folder: Path) -> None:
    for name in ("new", "old"):
        rows = pl.read_csv(folder / f"runs/{name}.csv").sort(
            "user", "score", descending=[False, True]
        )
        rank = pl.int_range(1, pl.len() + 1).over("user")
        run_file = rows.select(
            "user", pl.lit("Q0"), "item", rank.alias("rank"), "score", pl.lit(name).alias("tag")
        )
        run_file.write_csv(folder / f"runs/{name}.run", separator=" ", include_header=False)
    judged = TRUTH.select("user", pl.lit(0), "item", "grade")
    judged.write_csv(folder / "test.qrels", separator=" ", include_header=False)
    files = ("runs/new.run", "runs/old.run", "--truth", "test.qrels")

    text = run(folder, "concord", "compare", *files, "--metrics", "nDCG@10", "--json")

    metrics = ("--metrics", "nDCG@10", "--json")
    assert _results(text)["scores"] == _results(run(folder, *COMMAND, *metrics))["scores"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--truth", "truth.csv"), "names no lists"),
        (("runs/new.csv", "none.csv", "--truth", "truth.csv"), "none.csv: there is no such file"),
        (
            ("a=runs/new.csv", "a=runs/old.csv", "--truth", "truth.csv"),
            "two lists have the name 'a'",
        ),
        (
            ("truth=runs/new.csv", "runs/old.csv", "--truth", "truth.csv"),
            "'truth' cannot be the name",
        ),
        (
            ("runs/new.csv", "x.csv", "--truth", "truth.csv"),
            "no column is known as user: who, what",
        ),
        (
            ("runs/new.csv", "runs/new.csv", "--truth", "truth.csv"),
            "'runs/new.csv' is named twice\n  fix: name another file",
        ),
        (
            ("pairs.csv", "runs/old.csv", "--truth", "truth.csv"),
            "or name yours: `--column pairs.score=NAME`",
        ),
        (
            ("zero.csv", "runs/old.csv", "--truth", "truth.csv"),
            "or set `input.rank_base` (in params.yaml, which `concord init` writes) to 0",
        ),
        (
            ("semicolons.csv", "runs/old.csv", "--truth", "truth.csv"),
            "separated by semicolons, not by commas: 'user;item;score'\n  fix: separate them",
        ),
        ((*COMMAND[2:], "--baseline", "b"), "--baseline: 'b' is not among the models"),
        (
            (*COMMAND[2:], "--metrics", "Novelty@10"),
            "--metrics: Novelty@10: needs train (user, item)\n  fix: give it, or leave the metric",
        ),
        ((*COMMAND[2:], "--metrics", "Coverage@10"), "--metrics: Coverage@10 is one number over"),
        ((*COMMAND[2:], "--preset", "trecval"), "--preset: 'trecval' is not a preset"),
        ((*COMMAND[2:], "--min-effect", "x"), "--min-effect: is 'x'"),
    ],
)
def test_errors_say_what_to_do(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    files = {
        "x.csv": "who,what,score\na,b,1\n",
        "pairs.csv": "user,item\na,b\na,c\nb,c\n",
        "zero.csv": "user,item,rank\nu0000,a,0\nu0000,b,1\n",
        "semicolons.csv": "user;item;score\na;b;1\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")

    done = attempt(folder, "concord", "compare", *arguments)

    assert done.returncode == 2
    assert message in done.stderr
    assert "\n  fix: " in done.stderr


def test_unknown_columns_can_be_named(folder: Path) -> None:
    lists = DEMO.models["als"].rename({"user": "who", "item": "what"})
    lists.write_csv(folder / "runs/old.csv")
    columns = ("--column", "old.user=who", "--column", "old.item=what")

    text = run(folder, *COMMAND, *columns, "--json")

    lists.rename({"who": "user", "what": "item"}).write_csv(folder / "runs/old.csv")
    assert _results(text)["scores"] == _results(run(folder, *COMMAND, "--json"))["scores"]


def test_one_model_is_evaluated(folder: Path) -> None:
    arguments = ("runs/new.csv", "--truth", "truth.csv", "--metrics", ",".join(METRICS))
    files = ("--per-user", "values.csv", "--json")

    text = run(folder, "concord", "evaluate", *arguments, *files)

    conventions = cc.preset("standard", err_max_grade=max(TRUTH["grade"]))
    expected = cc.evaluate(DEMO.models["ease"], TRUTH, metrics=METRICS, conventions=conventions)
    assert json.loads(text) == json.loads(json.dumps(expected.to_dict()))
    values = pl.read_csv(folder / "values.csv")
    assert values.columns == ["user", *METRICS]
    assert values["nDCG@10"].mean() == pytest.approx(expected["nDCG@10"], rel=1e-12)


def test_a_saved_decision_is_replayed_with_and_without_its_inputs(folder: Path) -> None:
    text = run(folder, *COMMAND, "--save", "decision.concord", "--json")

    alone = attempt(folder, "concord", "replay", "decision.concord")
    whole = attempt(folder, "concord", "replay", "decision.concord", "--inputs", ".")
    assert (alone.returncode, whole.returncode) == (3, 0), alone.stdout + whole.stdout
    assert cc.load(folder / "decision.concord").to_dict()["pairs"] == json.loads(text)["pairs"]
    (folder / "runs/new.csv").write_text("user,item,score\nu0000,x,1\n")
    assert attempt(folder, *alone.args[:3], "--inputs", ".").returncode == 1


def test_only_a_decision_is_overwritten(folder: Path) -> None:
    refused = attempt(folder, *COMMAND, "--save", "train.csv")
    read = attempt(folder, *COMMAND, "--save", "truth.csv", "--force")

    assert refused.returncode == read.returncode == 2
    assert "'train.csv' is not a file that this command writes" in refused.stderr
    assert "--save: is a file that is read" in read.stderr
    run(folder, *COMMAND, "--save", "decision.concord")
    first = (folder / "decision.concord").read_bytes()
    run(folder, *COMMAND, "--save", "decision.concord")
    assert (folder / "decision.concord").read_bytes() == first
