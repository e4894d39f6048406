"""What is found in a repository: tables by role, whoever makes them, and models by name."""

from contextlib import chdir
from pathlib import Path

import polars as pl
import pytest
from mlflow import MlflowClient

from concord.metrics_core.checking.problems import InputError
from concord.pipeline.params.checks import is_model_name
from concord.pipeline.project import files as looked_at
from concord.pipeline.project.found import Found, found_in
from concord.pipeline.project.names import named
from concord.pipeline.project.outs import outs_below
from concord.pipeline.project.peek import Peeked
from concord.pipeline.project.taken_for import Table
from concord.pipeline.project.training_run import Place, Training, training
from tests.pipeline.project.repository import (
    ITEMS,
    LISTS,
    TRAIN,
    TRUTH,
    USUAL,
    repository,
    runs_in,
    write,
)

ID, OTHER = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"
STAGES = """
vars: [{where: out}]
stages:
  prepare: {cmd: x, outs: [data/prepared]}
  train:
    foreach: [als, bpr]
    do: {cmd: x, outs: ["${where}/${item}.csv"]}
  others:
    matrix: {size: [small, large]}
    cmd: x
    outs: ["${where}/ease_${item.size}.csv"]
"""


def found(root: Path) -> Found:
    with chdir(root):  # stages are called as they are seen from here
        return found_in(root, root / "evaluation" / "results")


def trained(root: Path) -> Training:
    """Return the training runs of the models that are found in `root`."""
    seen = found(root)
    return training(seen.models, seen.outs, seen.folders, root / "evaluation")


def paths(found: Found, root: Path) -> dict[str, tuple[str, str]]:
    tables = {**found.tables, **found.models}
    return {n: (t.path.relative_to(root).as_posix(), t.made_by) for n, t in tables.items()}


def test_tables_of_stages_are_found_and_the_stages_that_make_them(tmp_path: Path) -> None:
    lists = {f"out/{name}.csv": LISTS for name in ("als", "bpr", "ease_small", "ease_large")}
    tables = {"data/prepared/test.csv": TRUTH, "data/prepared/train.csv": TRAIN}
    inner = "stages:\n  make: {cmd: x, outs: [movies.csv]}\n"
    more = {"dvc.yaml": STAGES, "catalogue/dvc.yaml": inner, "catalogue/movies.csv": ITEMS}
    root = repository(tmp_path, {**lists, **tables, **more})

    assert paths(found(root), root) == {
        "truth": ("data/prepared/test.csv", "prepare"),
        "train": ("data/prepared/train.csv", "prepare"),
        "items": ("catalogue/movies.csv", "catalogue/dvc.yaml:make"),
        "als": ("out/als.csv", "train@als"),
        "bpr": ("out/bpr.csv", "train@bpr"),
        "ease_small": ("out/ease_small.csv", "others@small"),
        "ease_large": ("out/ease_large.csv", "others@large"),
    }


def test_what_dvc_add_keeps_and_plain_files_are_made_by_no_stage(tmp_path: Path) -> None:
    kept = "outs:\n- {md5: d41d8cd98f00b204e9800998ecf8427e, size: 0, hash: md5, path: test.csv}\n"
    root = repository(tmp_path, {**USUAL, "data/test.csv.dvc": kept})

    assert outs_below(root, root / "evaluation").stages == {root / "data/test.csv": ""}
    assert paths(found(root), root)["truth"] == ("data/test.csv", "")


def test_outs_that_are_not_there_yet_are_told(tmp_path: Path) -> None:
    root = repository(tmp_path, {"dvc.yaml": STAGES, "out/als.csv": LISTS, "data/test.csv": TRUTH})
    names = ("data/prepared", "out/bpr.csv", "out/ease_large.csv", "out/ease_small.csv")

    assert found(root).missing == [root / name for name in names]


def test_outs_in_folders_that_are_passed_by_are_found(tmp_path: Path) -> None:
    stages = "stages:\n  train: {cmd: x, outs: [.work/als.csv]}\n"
    hidden = {".work/als.csv": LISTS, ".work/bpr.csv": LISTS, "mlruns/ease.csv": LISTS}
    root = repository(tmp_path, {"dvc.yaml": stages, **hidden})

    assert paths(found(root), root) == {"als": (".work/als.csv", "train")}


@pytest.mark.parametrize(
    ("names", "models"),
    [
        (["recs/part-0.parquet", "recs/part-1.parquet", "recs/_SUCCESS"], ["recs"]),
        (["recs/als.parquet", "recs/bpr.parquet"], ["recs/als.parquet", "recs/bpr.parquet"]),
        (["als.parquet/a.parquet", "als.parquet/b.parquet"], ["als.parquet"]),
        (["als/day=1/x.parquet", "als/day=2/x.parquet"], ["als"]),
        (["als/000000.parquet", "als/000001.parquet"], ["als"]),
    ],
)
def test_a_folder_of_parts_is_one_table_and_a_folder_of_tables_several(
    tmp_path: Path, names: list[str], models: list[str]
) -> None:
    root = repository(tmp_path, {})
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        pl.DataFrame({"user": ["u"], "item": ["a"], "score": [1.0]}).write_parquet(root / name)
    if "_SUCCESS" in names[-1]:
        (root / names[-1]).write_text("")

    assert sorted(str(t.path.relative_to(root)) for t in found(root).models.values()) == models


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["out/recs_als_v2.csv", "out/recs_bpr_v2.csv"], ["als", "bpr"]),
        (["als/recs.csv", "bpr/recs.csv"], ["als", "bpr"]),
        (["a/als.csv", "b/als.csv"], ["a", "b"]),
        (["a/als.csv", "b/als.csv", "c/bpr.csv"], ["als", "b-als", "bpr"]),
        (["out/als.csv", "out/ALS.parquet"], ["ALS", "als_2"]),
        (["recs/als.csv", "recs/als.tsv"], ["als", "als_2"]),
        (["recommendations.csv"], ["recommendations"]),
        (["out/_x.csv", "out/item knn (new).csv"], ["x", "item-knn-new"]),
        (["out/modèle.csv", "out/рекомендации.csv"], ["modele", "model"]),
        (["lists/train.csv", "lists/truth.csv"], ["train_2", "truth_2"]),
        (["2024.csv", "2025.csv"], ["2024", "2025"]),
        (["a" * 150 + ".csv", "b.csv"], ["a" * 90, "b"]),
    ],
)
def test_models_are_called_by_the_words_in_which_they_differ(
    paths: list[str], names: list[str]
) -> None:
    tables = [Table(Peeked(Path("/r", path), "csv", ()), {}) for path in paths]
    found = named(tables, Path("/r"))

    assert sorted(found) == sorted(names)
    assert len(found) == len(paths)
    assert all(map(is_model_name, found))


def test_of_several_truths_the_likeliest_is_taken_and_the_others_are_told(tmp_path: Path) -> None:
    stages = "stages:\n  split: {cmd: x, outs: [data/split/test.csv]}\n"
    truths = {"data/test.csv": TRUTH, "data/split/test.csv": TRUTH, "dvc.yaml": stages}
    seen = found(root := repository(tmp_path, truths))

    assert paths(seen, root)["truth"] == ("data/split/test.csv", "split")
    assert [(each.path.name, each.why) for each in seen.left] == [
        ("test.csv", "another truth is taken")
    ]


def test_validation_data_is_the_truth_where_there_is_no_other(tmp_path: Path) -> None:
    root = repository(tmp_path / "one", {"data/valid.csv": TRUTH})
    both = repository(tmp_path / "two", {"data/valid.csv": TRUTH, "data/test.csv": TRUTH})

    assert found(root).tables["truth"].path.name == "valid.csv"
    assert found(both).tables["truth"].path.name == "test.csv"
    assert [each.why for each in found(both).left] == ["for validation"]


def test_lists_for_validation_are_left_alone_where_the_truth_is_another(tmp_path: Path) -> None:
    lists = {f"preds/als_{split}.csv": LISTS for split in ("val", "test")}
    both = repository(tmp_path / "both", {**lists, "data/test.csv": TRUTH, "out/test_2.csv": LISTS})
    one = repository(tmp_path / "one", {"preds/als_val.csv": LISTS, "data/val.csv": TRUTH})

    assert paths(seen := found(both), both) == {
        "truth": ("data/test.csv", ""),
        "als_test": ("preds/als_test.csv", ""),
    }
    assert [(each.path.name, each.why) for each in seen.left] == [
        ("test_2.csv", "another truth is taken"),
        ("als_val.csv", "lists for validation"),
    ]
    assert set(paths(found(one), one)) == {"truth", "als_val"}


def test_a_catalogue_with_an_item_in_two_rows_is_left_alone(tmp_path: Path) -> None:
    daily = ITEMS + "a,One,x\n"
    seen = found(root := repository(tmp_path, {"a/movies.csv": daily, "b/movies.csv": ITEMS}))

    assert paths(seen, root)["items"][0] == "b/movies.csv"
    assert [each.why for each in seen.left] == [
        "for items, but the same item stands in several rows"
    ]


def test_another_evaluation_another_repository_and_environments_are_passed_by(tmp_path: Path) -> None:  # fmt: skip
    others = {
        "first/params.yaml": "concord: 0.1.0\n",
        "first/dvc.yaml": "stages:\n  load: {cmd: x, outs: [results/lists/als.csv]}\n",
        "first/results/lists/als.csv": LISTS,
        "sub/.dvc/config": "",
        "sub/als.csv": LISTS,
        "env39/pyvenv.cfg": "",
        "env39/als.csv": LISTS,
        "evaluation/results/als.csv": LISTS,
    }

    assert found(repository(tmp_path, others)).models == {}


def test_how_many_files_are_looked_at_has_a_limit_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository(tmp_path, {f"logs/{number}.txt": "" for number in range(20)} | USUAL)
    assert not found(root).has_more

    monkeypatch.setattr(looked_at, "MOST_FILES", 10)
    assert found(root).has_more


def test_files_that_cannot_be_read_as_tables_are_passed_by(tmp_path: Path) -> None:
    root = repository(tmp_path, USUAL)
    (root / "empty.csv").write_bytes(b"")
    (root / "empty.arrow").write_bytes(b"")
    (root / "half.parquet").write_bytes(b"PAR1")
    (root / "half.jsonl").write_bytes(b"{")
    (root / "other.pkl").write_bytes(b"user,item\n")
    (root / "none.csv.gz").write_bytes(b"\x1f\x8b\x08")
    (root / "deep.jsonl").write_text("[" * 100_000)
    (root / "wide.csv").write_text('"' + "x" * 200_000 + '"\n')
    (root / "latin.csv").write_bytes(b"user,\xe9\n")
    (root / "gone.csv").symlink_to("nowhere.csv")
    write(root, {"test.csv/readme.md": "a folder"})

    assert set(paths(found(root), root)) == {"truth", "als", "popular"}


@pytest.mark.parametrize("out", ["made/als.csv", "made"])
def test_a_link_that_leads_out_is_followed_for_outs_alone(tmp_path: Path, out: str) -> None:
    elsewhere = tmp_path / "elsewhere.csv"
    elsewhere.write_text(LISTS)
    stages = f"stages:\n  train: {{cmd: x, outs: [{out}]}}\n"
    root = repository(tmp_path / "repository", {"dvc.yaml": stages})
    (root / "made").mkdir()
    (root / "made/als.csv").symlink_to(elsewhere)
    (root / "bpr.csv").symlink_to(elsewhere)
    seen = found(root)

    assert paths(seen, root) == {"als": ("made/als.csv", "train")}
    assert [(e.path.name, e.why) for e in seen.left] == [
        ("bpr.csv", "a link leads out of the repository")
    ]


@pytest.mark.parametrize(
    ("file", "text", "place"),
    [
        ("run.json", f'{{"run_id": "{ID}", "loss": 1}}', "run_id"),
        ("run.json", f'{{"mlflow": {{"run_id": "{ID}"}}}}', "mlflow.run_id"),
        ("run_id.txt", f"{ID}\n", None),
        ("run.json", '{"run_id": "7"}', "no"),
        ("run.json", f'{{"seed": "{ID}"}}', "no"),
        ("run.json", f'{{"run_id": "{ID}", "mlflow_run_id": "{OTHER}"}}', "no"),
        ("run.json", f'{{"run_id": "{ID}", "mlflow_run_id": "{ID}"}}', "run_id"),
        ("run.json", "{", "no"),
        ("weights.bin", "\0", "no"),
    ],
)
def test_the_file_with_the_id_of_the_training_run_is_recognised(
    tmp_path: Path, file: str, text: str, place: str | None
) -> None:
    stages = f"stages:\n  train: {{cmd: x, outs: [als.csv, {file}]}}\n  other: {{cmd: x, outs: [bpr.csv]}}\n"
    root = repository(tmp_path, {"dvc.yaml": stages, "als.csv": LISTS, "bpr.csv": LISTS, file: text})  # fmt: skip
    runs_in(root / "mlflow.db", ID, OTHER)
    expected = {} if place == "no" else {"als": Place(root / file, place, ID)}

    assert trained(root) == ("sqlite:///../mlflow.db", expected, {})


@pytest.mark.parametrize(
    ("store", "environment", "uri"),
    [
        ("services/rec/mlflow.db", "", "sqlite:///../mlflow.db"),
        ("services/rec/src/mlflow.db", "", "sqlite:///../src/mlflow.db"),
        ("mlflow.db", "", "sqlite:///../../../mlflow.db"),
        ("other/mlflow.db", "", "sqlite:///mlflow.db"),
        ("services/rec/src/my runs.db", "sqlite:///my%20runs.db", "sqlite:///../src/my runs.db"),
        ("services/rec/runs?.db", "sqlite:///ROOT/services/rec/runs%3F.db", "sqlite:///../runs%3F.db"),
        ("../runs.db", "sqlite:///ABOVE/runs.db", "sqlite:///ABOVE/runs.db"),
        ("services/rec/mlflow.db", "http://tracking:5000", "http://tracking:5000"),
        ("services/rec/mlflow.db", "http://me:secret@tracking", "sqlite:///../mlflow.db"),
        ("services/rec/mlflow.db", "sqlite:///nowhere.db", "sqlite:///../mlflow.db"),
    ],
)  # fmt: skip
def test_the_store_of_the_training_is_found_where_its_stages_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str, environment: str, uri: str
) -> None:  # fmt: skip
    root = repository(tmp_path / "repository", {})
    here = root / "services/rec"
    stage = "{wdir: src, cmd: x, outs: [../als.csv, ../run.txt]}"
    write(here, {"dvc.yaml": f"stages:\n  train: {stage}\n", "als.csv": LISTS, "run.txt": ID})
    for at in (here / "src", root / "other"):
        at.mkdir()
    runs_in(root / "decoy.db")
    runs_in(root / store, ID)
    for mark, at in {"ROOT": root, "ABOVE": tmp_path}.items():
        environment, uri = (text.replace(mark, str(at)) for text in (environment, uri))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", environment)
    place = {"als": Place(here / "run.txt", None, ID)}

    assert trained(here) == Training(uri, *([{}, place] if "other" in store else [place, {}]))


def test_runs_in_files_are_found(tmp_path: Path) -> None:
    stages = "stages:\n  train: {cmd: x, outs: [als.csv, run.txt]}\n"
    root = repository(tmp_path, {"dvc.yaml": stages, "als.csv": LISTS, "run.txt": ID})
    write(root, {f"mlruns/0/{ID}/meta.yaml": "lifecycle_stage: active\n"})
    made = trained(root)

    assert (made.uri, list(made.runs), made.unknown) == ("file:../mlruns", ["als"], {})


def test_what_mlflow_keeps_is_read_and_what_is_deleted_there_is_no_run(tmp_path: Path) -> None:
    root = repository(tmp_path, {f"{name}.csv": LISTS for name in ("als", "bpr")})
    client = MlflowClient(f"sqlite:///{root / 'mlflow.db'}")
    kept, gone = (client.create_run("0").info.run_id for _ in range(2))
    client.delete_run(gone)
    files = {"als.run.json": f'{{"run_id": "{kept}"}}', "bpr.run.json": f'{{"run_id": "{gone}"}}'}
    stage = "{cmd: x, outs: [NAME.csv, NAME.run.json]}"
    stages = "".join(f"  {name}: {stage.replace('NAME', name)}\n" for name in ("als", "bpr"))
    write(root, {"dvc.yaml": f"stages:\n{stages}", **files})
    made = trained(root)

    assert (list(made.runs), list(made.unknown)) == (["als"], ["bpr"])


@pytest.mark.parametrize("server", ["", "http://tracking:5000"])
def test_a_sum_of_bytes_is_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    stages = "stages:\n  train: {cmd: x, outs: [recs/2024.csv, recs/2024.md5]}\n"
    root = repository(tmp_path, {"dvc.yaml": stages, "recs/2024.csv": LISTS, "recs/2024.md5": ID})
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server)
    runs_in(root / "mlflow.db", "f" * 32)

    assert trained(root)[1:] == ({}, {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("stages: [", "dvc.yaml"),
        ("stages:\n  a: {cmd: x, outs: ['${nothing}.csv']}\n", "nothing"),
        ("stages:\n  a: {outs: [x]}\n", "dvc.yaml"),
    ],
)
def test_a_dvc_yaml_that_dvc_cannot_read_is_refused(tmp_path: Path, text: str, said: str) -> None:
    root = repository(tmp_path, {**USUAL, "dvc.yaml": text})

    with pytest.raises(InputError, match="DVC cannot read it: .*" + said):
        found(root)
