"""`concord init` in other repositories: files that it writes, keeps and refuses."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from concord.metrics_core.errors import InputError
from concord.pipeline.init.project import init, upgrade
from concord.pipeline.init.validation import validate
from concord.pipeline.params.read import read_params
from concord.pipeline.params.yaml_files import load_yaml
from concord.pipeline.running.stage import BROKEN_PIPE
from tests.pipeline.init.repository import (
    ITEMS,
    LISTS,
    TRAIN,
    TRUTH,
    USUAL,
    commit,
    evaluation,
    repository,
    tree,
    valid_evaluation,
    write,
)
from tests.pipeline.refusals import refusal_of
from tests.project import ROOT, movielens
from tests.project import run as run_program

NEW = {f"evaluation/{name}" for name in ("params.yaml", "dvc.yaml", ".gitignore", ".dvcignore")}
NEW |= {".dvc/plots/model_lines.json"}
ID = "0123456789abcdef0123456789abcdef"


def run(
    folder: str = "evaluation",
    *,
    truth: str | None = None,
    models: tuple[str, ...] = (),
    **options: bool,
) -> None:
    init(
        folder,
        truth,
        models,
        dry_run=options.get("dry_run", False),
        force=options.get("force", False),
    )


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = repository(tmp_path / "Läden & Söhne 'x'", USUAL)
    monkeypatch.chdir(path)
    return path


def test_new_files_are_written_and_no_byte_of_another_changes(root: Path) -> None:
    write(
        root,
        {
            ".gitignore": "*.csv\n",
            "params.yaml": "lr: 1\n",
            ".dvc/config": "[core]\n    autostage = true\n",
        },
    )
    before = tree(root)
    run()
    after = tree(root)

    assert set(after) - set(before) == NEW
    assert {name: after[name] for name in before} == before


def test_detected_tables_and_assumptions_are_printed(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run()

    assert capsys.readouterr().out.splitlines() == [
        "found",
        "  truth              data/test.csv   user: user_id, item: item_id, grade: rating",
        "  model als          out/als.csv   user: user_id, item: item_id, rank",
        "  model popular      out/popular.csv   user: user_id, item: item_id, rank",
        "assumed; change it in params.yaml",
        "  popular is the baseline (comparison.baseline)",
        "  nDCG@1 decides, for differences of at least 2% (comparison.primary, min_effect)",
        "  rows of the ground truth with rating >= 4 count as relevant "
        "(conventions.relevance_threshold)",
        "written",
        "  evaluation/params.yaml",
        "  evaluation/dvc.yaml",
        "  evaluation/.gitignore",
        "  evaluation/.dvcignore",
        "  .dvc/plots/model_lines.json",
        "next: cd evaluation && concord validate && dvc repro",
    ]


def test_written_project_is_valid_and_read_by_dvc(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(root, {"data/train.csv": TRAIN, "data/movies.csv": ITEMS})
    run()
    monkeypatch.chdir(root / "evaluation")
    validate()
    listed = run_program(Path.cwd(), "dvc", "stage", "list", "--name-only")

    assert "no problem found" in capsys.readouterr().out
    assert {"load@als", "evaluate@popular", "load-background@train"} <= set(listed.split())
    assert (
        "report:\n  title: \"Läden & Söhne 'x'\"\n" in (root / "evaluation/params.yaml").read_text()
    )


@pytest.mark.parametrize(
    ("times", "has_users"),
    [
        (("5", "6", "7"), True),
        (("2026-01-31 08:00", "2026-02-01", "2026-02-01T08:00:00Z"), True),
        (("5", "6", ""), False),
        (("31/01/2026", "1", "2"), False),
    ],
)
def test_times_are_named_where_they_can_be_read(
    root: Path, times: tuple[str, ...], has_users: bool
) -> None:
    header, *rows = TRUTH.splitlines()
    text = "\n".join([f"{header},time", *(f"{r},{t}" for r, t in zip(rows, times, strict=True))])
    write(root, {"data/test.csv": text + "\n"})
    run()

    assert ("time" in valid_evaluation(root / "evaluation").data.truth.columns) == has_users


def test_ranks_from_0_and_repeated_rows_are_read_and_reported(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from_0 = LISTS.replace(",1\n", ",0\n").replace(",2\n", ",1\n")
    write(
        root,
        {"out/als.csv": from_0, "out/popular.csv": from_0, "data/test.csv": TRUTH + "u1,a,5\n"},
    )
    run()
    params = valid_evaluation(root / "evaluation")

    assert (params.input.rank_base, params.input.repeated_grade) == (0, "highest")
    output = capsys.readouterr().out
    assert "the first rank is 0 (input.rank_base)" in output
    assert "the highest grade counts (input.repeated_grade)" in output


@pytest.mark.parametrize(
    ("grades", "threshold", "highest"),
    [
        ("1 3 5", 4, 5),
        ("0.5 2 4.5", 4, 5),
        ("1 7 10", 8, 10),
        ("0 1 1", 1, 1),
        ("1 50 2000", 1, 1000),
        ("inf nan 5", 4, 5),
    ],
)
def test_upper_part_of_a_rating_scale_is_relevant(
    root: Path, grades: str, threshold: int, highest: int
) -> None:
    rows = [f"u{n},a,{grade}" for n, grade in enumerate(grades.split())]
    write(root, {"data/test.csv": "\n".join(["user_id,item_id,rating", *rows, ""])})
    run()
    conventions = evaluation(root / "evaluation").conventions

    assert conventions["relevance_threshold"] == threshold
    assert conventions["err_max_grade"] == highest


def test_cutoffs_are_at_most_the_length_of_lists(root: Path) -> None:
    rows = [f"{user},i{n},{n + 1}" for user, many in (("u1", 20), ("u2", 3)) for n in range(many)]
    lists = "\n".join(["user_id,item_id,rank", *rows, ""])
    write(root, {"out/als.csv": lists, "out/popular.csv": lists})
    run()

    assert evaluation(root / "evaluation").evaluation.ks == [5, 10, 20]


def trained(root: Path) -> None:
    """Write a training of als whose outs include the id of its run."""
    stages = "stages:\n  train: {cmd: x, outs: [out/als.csv, out/als.run.json]}\n"
    run_id = f'{{"run_id": "{ID}"}}'
    write(root, {"dvc.yaml": stages, "out/als.run.json": run_id, "out/run.json": run_id})


def test_training_run_is_at_its_model_and_in_deps_of_log(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trained(root)
    run()
    content = load_yaml((root / "evaluation/params.yaml").read_text(), "")
    stage = load_yaml((root / "evaluation/dvc.yaml").read_text(), "")["stages"]["log"]

    assert content["models"]["als"]["training_run_id"] == {
        "file": "../out/als.run.json",
        "key": "run_id",
    }
    assert stage["deps"][-1] == "../out/als.run.json"
    output = capsys.readouterr().out
    assert "out of train   MLflow run in ../out/als.run.json: run_id" in output
    assert "  sqlite:///mlflow.db holds the training runs (mlflow.tracking_uri)\n" in output


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            ", training_run_id: {file: ../out/als.run.json, key: run_id}",
            "",
            "names ../out/als.run.json, unlike",
        ),
        ("  als: {", "  als2: {", ""),
        (
            "../out/als.run.json",
            "../out/run.json",
            "lacks ../out/run.json and names ../out/als.run.json, unlike",
        ),
    ],
)
def test_dvc_works_after_a_model_loses_its_training_run_or_name(
    root: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str, message: str
) -> None:
    trained(root)
    path = root / "evaluation/params.yaml"
    run()
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    commit(root)
    monkeypatch.chdir(root / "evaluation")
    for command in (["status"], ["stage", "list"], ["params", "diff"]):
        run_program(Path.cwd(), "dvc", *command)

    if message:
        with pytest.raises(
            InputError, match=r"run `concord init --upgrade`, which writes dvc\.yaml"
        ) as refused:
            validate()
        assert f"dvc.yaml: stages.log.deps: {message}" in str(refused.value)
        upgrade(".", dry_run=False)
    validate()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"models": ("als",)}, "'als' names no file"),
        ({"models": ("a: b=out/als.csv",)}, "'a: b' cannot be the name of a model"),
        ({"models": ("a=out/als.csv", "a=out/popular.csv")}, "two models have the name 'a'"),
        (
            {"models": ("a=out/als.csv",), "truth": "out/als.csv"},
            "is named as ground truth and as a model",
        ),
        ({"models": ("als=out/nothing.csv",)}, "\nout/nothing.csv: there is no such file"),
        ({"truth": "dvc.lock"}, "dvc.lock: there is no such file"),
        ({"truth": ".dvc/config"}, "cannot be read as a table"),
        ({"truth": "/etc/hostname"}, "is outside the repository"),
        ({"folder": "../elsewhere"}, "'../elsewhere' is outside the repository"),
        ({"folder": ".dvc/evaluation"}, "\n.dvc/evaluation: is a folder of git or DVC"),
        ({"folder": "out/als.csv/evaluation"}, "out/als.csv: is a file"),
    ],
)
def test_invalid_arguments_are_refused(root: Path, options: dict[str, Any], message: str) -> None:
    before = tree(root)
    with pytest.raises(InputError) as refused:
        run(**options)

    assert message in f"\n{refused.value}"
    assert tree(root) == before


@pytest.mark.bad_input(71, "`concord init` lists them and requires `--truth`")
def test_several_ground_truths_need_an_argument(root: Path) -> None:
    write(root, {"data/test_prefix.csv": TRUTH, "out/test_lists.csv": LISTS})
    before = tree(root)

    assert refusal_of(run) == (
        "ground truth: may be data/test.csv or data/test_prefix.csv\n"
        "  fix: name the one that no model was trained on: `--truth data/test.csv`"
    )
    assert tree(root) == before

    run(truth="data/test_prefix.csv")
    assert evaluation(root / "evaluation").data.truth.path == "../data/test_prefix.csv"


def test_named_file_has_no_other_role(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(root, {"data/train.csv": TRAIN, "data/movies.csv": ITEMS, "data/old/train.csv": TRAIN})
    write(root, {"a b/y.csv": LISTS})
    run(truth="data/train.csv", models=("mine=a b/y.csv", "2024=data/test.csv"))
    params = evaluation(root / "evaluation")

    assert params.data.truth.path == "../data/train.csv"
    assert params.models["mine"].path == "../a b/y.csv"
    assert params.models["2024"].path == "../data/test.csv"
    assert params.background["train"].path == "../data/old/train.csv"
    assert "not used" not in capsys.readouterr().out


@pytest.mark.parametrize("output", ["data", "recs"])
def test_lists_and_truth_in_a_shared_cache_are_found_and_may_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    root = repository(tmp_path / "repository", {"data/test.csv": TRUTH, "recs/als.csv": LISTS})
    part = {"user": ["u1", "u2"], "item": ["a", "b"], "score": [1.0, 2.0]}
    (root / "recs/bpr.parquet").mkdir()
    pl.DataFrame(part).write_parquet(root / "recs/bpr.parquet/0.parquet")
    monkeypatch.chdir(root)
    for command in (
        ["config", "cache.dir", str(tmp_path / "cache")],
        ["config", "cache.type", "symlink"],
        ["add", "-q", output],
    ):
        run_program(Path.cwd(), "dvc", *command)
    assert any(path.is_symlink() for path in (root / output).rglob("*"))
    run(truth="data/test.csv", models=("bpr=recs/bpr.parquet", "als=recs/als.csv"))
    run(force=True)
    params = valid_evaluation(root / "evaluation")

    assert params.input.allow_outside
    assert {name: model.path for name, model in params.models.items()} == {
        "als": "../recs/als.csv",
        "bpr": "../recs/bpr.parquet",
    }


def test_files_in_the_evaluation_folder_are_discovered_except_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {f"evaluation/{name}": text for name, text in USUAL.items()}
    monkeypatch.chdir(repository(tmp_path, {**files, "evaluation/results/lists/bpr.csv": LISTS}))
    run()
    run(force=True)
    params = evaluation(tmp_path / "evaluation")

    assert params.data.truth.path == "data/test.csv"
    assert set(params.models) == {"als", "popular"}


@pytest.mark.parametrize("folder", ["deep/inside/evaluation", "ABSOLUTE", "quality of lists", "."])
def test_the_folder_may_be_anywhere_in_the_repository(root: Path, folder: str) -> None:
    folder = folder.replace("ABSOLUTE", str(root / "absolute"))
    run(folder) if folder != "." else None
    if folder == ".":  # the root must have no .dvcignore
        (root / ".dvcignore").unlink()
        run(folder)
    params = valid_evaluation(root / folder)

    assert (root / folder / params.models["als"].path).resolve() == root / "out/als.csv"


def test_second_run_is_refused_and_writes_no_file(root: Path) -> None:
    run()
    before = tree(root)
    message = refusal_of(run)

    assert "evaluation/params.yaml: exists already" in message
    assert "`--force` writes them again" in message
    assert tree(root) == before


def test_force_keeps_all_earlier_files(root: Path) -> None:
    run()
    path = root / "evaluation/params.yaml"
    texts = [path.read_text() + f"# {edit}\n" for edit in ("one", "two")]
    for text in texts:
        path.write_text(text)
        run(force=True)
    run(force=True)

    remaining = sorted(path.parent.glob("*.before*"))
    assert [each.name for each in remaining] == ["params.yaml.before", "params.yaml.before2"]
    assert [each.read_text() for each in remaining] == texts


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("evaluation/params.yaml", "stages: {}\n", "evaluation/params.yaml: exists already"),
        ("evaluation/dvc.yaml", "stages: {}\n", "evaluation/dvc.yaml: exists already"),
        ("evaluation/.gitignore", "stages: {}\n", "evaluation/.gitignore: exists already"),
        (
            "evaluation/.dvc/config",
            "",
            "belongs to another DVC repository, evaluation\n  fix: remove evaluation/.dvc",
        ),
        (".gitignore", "evaluation/\n", "evaluation/dvc.yaml: is ignored by git"),
    ],
)
def test_folder_of_another_project_is_refused_even_with_force(
    root: Path, file: str, content: str, message: str
) -> None:
    write(root, {file: content})
    before = tree(root)
    refusal = refusal_of(lambda: run(force=True))

    assert message in refusal
    assert "--force" not in refusal
    assert tree(root) == before


def test_a_dry_run_shows_the_files_and_writes_none(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tree(root)
    run(dry_run=True)
    output = capsys.readouterr().out

    assert tree(root) == before
    assert "--- /dev/null\n+++ evaluation/params.yaml\n" in output
    assert "+  als: {path: ../out/als.csv}\n" in output
    assert "written" not in output

    run()
    path = root / "evaluation/params.yaml"
    path.write_text(path.read_text().replace("resamples: 2000", "resamples: 500"))
    capsys.readouterr()
    run(dry_run=True)

    assert "-  resamples: 500 #" in (output := capsys.readouterr().out)
    assert "+++ evaluation/dvc.yaml" not in output


def test_without_dvc_git_ignores_results_and_an_existing_gitignore_stays(root: Path) -> None:
    run_program(root, "concord", "init", "--no-dvc")
    ignored = "evaluation/results/summary/als.json evaluation/mlflow.db evaluation/mlruns/1"
    shown = run_program(root, "git", "check-ignore", *ignored.split())
    assert shown.split() == ignored.split()

    write(root / "evaluation", {".gitignore": "/own/\n"})
    run_program(root, "concord", "init", "--no-dvc", "--force")
    assert (root / "evaluation/.gitignore").read_text() == "/own/\n"


def test_files_are_written_before_a_closed_pipe_ends_the_output(root: Path) -> None:
    program = "import sys; from concord.pipeline.commands.cli import main; main(['init'])"
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-c", program], cwd=root, stdout=writer, check=False)
    os.close(writer)

    assert done.returncode == BROKEN_PIPE
    assert set(tree(root)) >= NEW


def test_other_data_sets_lead_to_evaluations_of_their_own(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "data/test.csv").unlink()
    write(root, {f"split/{name}/test.csv": TRUTH for name in ("big", "small")})
    write(root, {f"runs/{name}-als.csv": LISTS for name in ("big", "small")})
    run(truth="split/small/test.csv")

    assert (
        "other data sets: `concord init --truth split/big/test.csv --dir evaluation/big`, "
        "then `concord study` over all\n"
    ) in capsys.readouterr().out


def test_trec_files_of_any_name_are_read_by_their_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "qrels.dev.small.tsv": "q1\t0\td1\t1\nq2\t0\td2\t1\n",
        "run.dev.small.tsv": "q1\td1\t1\nq1\td3\t2\nq2\td2\t1\n",
        "runs/bm25.tsv": "q1\tQ0\td1\t1\t2.5\tbm25\nq2\tQ0\td1\t1\t1.5\tbm25\n",
        "runs/dense.trec": "q1 Q0 d2 1 2.5 dense\nq2 Q0 d1 1 1.5 dense\n",
        "runs/short.trec": "q1\td2\t1\nq2\td1\t1\n",
    }
    monkeypatch.chdir(repository(tmp_path, files))
    run()
    params = valid_evaluation(tmp_path / "evaluation")

    assert params.data.truth.model_dump(include={"path", "format"}) == {
        "path": "../qrels.dev.small.tsv",
        "format": "trec",
    }
    assert {name: entry.format for name, entry in params.models.items()} == {
        "dev-small": "trec",
        "bm25": "trec",
        "dense": None,
        "short": None,
    }


@pytest.mark.parametrize("name", ["qrels.trec", "judged.trec", "judged.qrels"])
def test_trec_file_of_judgements_is_the_ground_truth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    files = {name: "q1 0 d1 1\n", "bm25.run": "q1 Q0 d1 1 2.5 bm25\n"}
    monkeypatch.chdir(repository(tmp_path, files))
    run()

    assert valid_evaluation(tmp_path / "evaluation").data.truth.path == f"../{name}"


def test_outside_of_dvc_the_fix_is_dvc_init(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        InputError, match="is not in a DVC repository\n  fix: `git init`, then `dvc"
    ):
        run()


def test_only_the_current_folder_of_a_monorepo_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {f"shop/{name}": text for name, text in USUAL.items()} | {"web/ease.csv": LISTS}
    root = repository(tmp_path, files)
    monkeypatch.chdir(root / "shop")
    run()
    params = evaluation(root / "shop/evaluation")

    assert set(params.models) == {"als", "popular"}
    assert (params.report.title, params.mlflow.experiment) == ("shop", "shop")


def test_missing_and_not_yet_made_inputs_are_reported_together(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in USUAL:
        (root / name).unlink()
    write(root, {"dvc.yaml": "stages:\n  train: {cmd: x, outs: [out/bpr.csv]}\n"})
    with pytest.raises(InputError) as refused:
        run()

    assert [problem.where for problem in refused.value.problems] == [
        "ground truth",
        "recommendations",
    ]
    output = capsys.readouterr().out
    assert "missing; `dvc pull` or `dvc repro` creates it\n  out/bpr.csv\n" in output


def test_inside_an_evaluation_init_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    monkeypatch.chdir(root / "evaluation")

    with pytest.raises(InputError, match="this folder is an evaluation of Concord already"):
        run()


def test_a_parent_gitignore_does_not_hide_results_in_git(root: Path) -> None:
    write(root, {".gitignore": "results/\n"})
    run()
    write(root, {f"evaluation/results/{name}": "" for name in ("report/primary.json", "lists/a")})
    commit(root)
    known = subprocess.run(
        ["git", "ls-files", "evaluation/results"], capture_output=True, text=True, check=True
    )

    assert known.stdout.split() == ["evaluation/results/report/primary.json"]


def test_the_users_own_params_lead_to_those_of_concord(root: Path) -> None:
    before = "run where Concord's params.yaml is; `concord init` writes it"
    after = "`cd ml/offline/ev`, where Concord's params.yaml is"
    for fix in (before, after):
        for conventions in (
            "lr: 1\n",
            "models: {als: {factors: 8}}\ndata: {seed: 1}\nevaluation: {k: 5}\n",
        ):
            write(root, {"params.yaml": conventions})
            with pytest.raises(InputError) as refused:
                read_params()
            assert (
                str(refused.value) == f"params.yaml: is not a params.yaml of Concord\n  fix: {fix}"
            )
        run("ml/offline/ev") if fix == before else None


@pytest.mark.parametrize("data", [ROOT / "data" / "demo", None])
def test_real_data_is_recognised_and_valid(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    data: Path | None,
) -> None:
    files = data or movielens()
    root = repository(tmp_path, {})
    shutil.copytree(files, root / "data", ignore=shutil.ignore_patterns("*.py", "*.md"))
    monkeypatch.chdir(root)
    run(truth=None if data else "data/test.parquet")  # MovieLens has the same truth in two formats
    params = valid_evaluation(root / "evaluation")

    assert set(params.models) == {
        "popularity",
        "item-knn",
        "ease",
        "als",
        "ease-recent" if data else "bpr",
    }
    assert {"train", "items"} <= set(params.background)
    assert "time" in params.data.truth.columns
    assert "no problem found" in capsys.readouterr().out


def test_possible_replicates_are_reported_and_not_grouped(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(root, {f"out/bpr-{seed}.csv": LISTS for seed in (1, 2, 3)})
    run()

    message = (
        "bpr-1, bpr-2, bpr-3 are 3 models; if they are replicates of one, write `replicates: "
        "{bpr: bpr-*}` (comparison.replicates)"
    )
    assert message in capsys.readouterr().out
    assert evaluation(root / "evaluation").comparison.replicates == {}
