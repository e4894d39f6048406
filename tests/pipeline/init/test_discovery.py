"""Discovery in a repository: tables by role, with their stages, and models by name."""

import gzip
import json
from contextlib import chdir
from pathlib import Path

import polars as pl
import pytest

from concord.metrics_core.errors import InputError
from concord.pipeline.init import discovery
from concord.pipeline.init.choices import run_id_file, tracking_uri
from concord.pipeline.init.discovery import Discovery, discover, list_outs
from concord.pipeline.init.model_names import name_models
from concord.pipeline.init.rows import value_range
from concord.pipeline.init.tables import (
    Table,
    TableFile,
    as_table,
    guess_role,
    inspect_file,
)
from concord.pipeline.params.model_names import is_model_name
from tests.pipeline.init.repository import (
    ITEMS,
    LISTS,
    TRAIN,
    TRUTH,
    USUAL,
    repository,
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


def discovered(root: Path) -> Discovery:
    with chdir(root):  # names of stages are relative to it
        return discover(root, root / "evaluation" / "results")


def paths(discovery_result: Discovery, root: Path) -> dict[str, tuple[str, str]]:
    tables = {**discovery_result.tables, **discovery_result.models}
    return {n: (t.path.relative_to(root).as_posix(), t.stage) for n, t in tables.items()}


def test_tables_of_stages_are_found_and_the_stages_that_make_them(tmp_path: Path) -> None:
    lists = {f"out/{name}.csv": LISTS for name in ("als", "bpr", "ease_small", "ease_large")}
    tables = {"data/prepared/test.csv": TRUTH, "data/prepared/train.csv": TRAIN}
    inner = "stages:\n  make: {cmd: x, outs: [movies.csv]}\n"
    more = {"dvc.yaml": STAGES, "catalogue/dvc.yaml": inner, "catalogue/movies.csv": ITEMS}
    root = repository(tmp_path, {**lists, **tables, **more})

    assert paths(discovered(root), root) == {
        "truth": ("data/prepared/test.csv", "prepare"),
        "train": ("data/prepared/train.csv", "prepare"),
        "items": ("catalogue/movies.csv", "catalogue/dvc.yaml:make"),
        "als": ("out/als.csv", "train@als"),
        "bpr": ("out/bpr.csv", "train@bpr"),
        "ease_small": ("out/ease_small.csv", "others@small"),
        "ease_large": ("out/ease_large.csv", "others@large"),
    }


def test_files_of_dvc_add_and_plain_files_belong_to_no_stage(tmp_path: Path) -> None:
    remaining = (
        "outs:\n- {md5: d41d8cd98f00b204e9800998ecf8427e, size: 0, hash: md5, path: test.csv}\n"
    )
    root = repository(tmp_path, {**USUAL, "data/test.csv.dvc": remaining})

    assert list_outs(root, root / "evaluation") == {root / "data/test.csv": ""}
    assert paths(discovered(root), root)["truth"] == ("data/test.csv", "")


def test_file_names_of_ms_marco_name_models(tmp_path: Path) -> None:
    names = ("run.msmarco-passage.als.dev.small.tsv", "run.msmarco-passage.bm25.dev.small.tsv")
    files = [TableFile(tmp_path / name, "trec", ("user",)) for name in (*names, "run.tsv")]
    tables = [Table(file, {}) for file in files]

    assert [*name_models(tables[:2], tmp_path)] == ["als", "bm25"]
    assert [*name_models(tables[2:], tmp_path)] == ["run"]


def test_missing_outs_are_reported(tmp_path: Path) -> None:
    root = repository(tmp_path, {"dvc.yaml": STAGES, "out/als.csv": LISTS, "data/test.csv": TRUTH})
    names = ("data/prepared", "out/bpr.csv", "out/ease_large.csv", "out/ease_small.csv")

    assert discovered(root).missing == [root / name for name in names]


OTHERS = {  # another evaluation, another repository, an environment, results
    "first/params.yaml": "values_version: 1\n",
    "first/dvc.yaml": "stages:\n  load: {cmd: x, outs: [results/lists/als.csv]}\n",
    "first/results/lists/als.csv": LISTS,
    "sub/.dvc/config": "",
    "sub/als.csv": LISTS,
    "env39/pyvenv.cfg": "",
    "env39/als.csv": LISTS,
    "evaluation/results/als.csv": LISTS,
}
HIDDEN = {".work/als.csv": LISTS, ".work/bpr.csv": LISTS, "mlruns/ease.csv": LISTS}
BEIR = "query-id\tcorpus-id\tscore\nq\td\t2\n"
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
RUN = '{"q": {"d": 0.5, "e": 0.25}}'
DISCOVERIES: dict[str, tuple[dict[str, str], dict[str, tuple[str, str]], list[str]]] = {
    "files of other projects": (OTHERS, {}, []),
    "an out in a hidden folder": (
        {"dvc.yaml": "stages:\n  train: {cmd: x, outs: [.work/als.csv]}\n", **HIDDEN},
        {"als": (".work/als.csv", "train")},
        [],
    ),
    "two truths, of which a stage makes one": (
        {
            "dvc.yaml": "stages:\n  split: {cmd: x, outs: [data/split/test.csv]}\n",
            "data/test.csv": TRUTH,
            "data/split/test.csv": TRUTH,
        },
        {},
        [],
    ),
    "validation data alone": (
        {"data/valid.csv": TRUTH, "preds/als_val.csv": LISTS},
        {"truth": ("data/valid.csv", ""), "als_val": ("preds/als_val.csv", "")},
        [],
    ),
    "validation data beside a truth": (
        {"data/valid.csv": TRUTH, "data/test.csv": TRUTH},
        {"truth": ("data/test.csv", "")},
        ["data/valid.csv: for validation"],
    ),
    "lists for validation beside a truth": (
        {
            "preds/als_val.csv": LISTS,
            "preds/als_test.csv": LISTS,
            "data/test.csv": TRUTH,
            "out/test_2.csv": LISTS,
        },
        {"truth": ("data/test.csv", ""), "als_test": ("preds/als_test.csv", "")},
        [
            "out/test_2.csv: another table is used for truth",
            "preds/als_val.csv: lists for validation",
        ],
    ),
    "files of search": (
        {
            **{f"qrels/{name}.tsv": BEIR for name in ("train", "dev", "test")},
            "bm25.test.run.json": RUN,
            "runs/dense.json": RUN,
            "data/other.json": '{"x": {"d": 0.5}}',
            "runs/metrics.json": '{"bm25": {"map": 0.5}}',
            "package.json": '{"name": "q", "q": {"d": 1}}',
            "queries.jsonl": '{"_id": "q", "text": "x"}\n',
            "corpus.jsonl": '{"_id": "d", "title": "x", "text": "x"}\n',
        },
        {
            "truth": ("qrels/test.tsv", ""),
            "bm25": ("bm25.test.run.json", ""),
            "dense": ("runs/dense.json", ""),
        },
        ["qrels/dev.tsv: for validation", "qrels/train.tsv: judgements for training"],
    ),
    "pointers of Git LFS": (
        {"test.csv": TRUTH, "als.csv": LISTS, "bpr.csv": LFS, "ease.parquet": LFS},
        {"truth": ("test.csv", ""), "als": ("als.csv", "")},
        [
            f"{name}: a pointer of Git LFS, not the data; run `git lfs pull`"
            for name in ("bpr.csv", "ease.parquet")
        ],
    ),
    "an item in two rows of a catalogue": (
        {"a/movies.csv": ITEMS + "a,One,x\n", "b/movies.csv": ITEMS},
        {"items": ("b/movies.csv", "")},
        ["a/movies.csv: for items, but several rows have the same item"],
    ),
}


@pytest.mark.parametrize("name", DISCOVERIES)
def test_tables_are_detected_and_others_skipped_with_a_reason(tmp_path: Path, name: str) -> None:
    files, expected, remaining = DISCOVERIES[name]
    observed = discovered(root := repository(tmp_path, files))

    assert paths(observed, root) == expected
    assert [
        f"{each.path.relative_to(root)}: {each.reason}" for each in observed.skipped
    ] == remaining


def test_grades_of_beir_are_its_scores_and_a_run_has_scores(tmp_path: Path) -> None:
    files = {"qrels/test.tsv": BEIR, "bm25.run.json": RUN, "predictions/dense.json": RUN}
    observed = discovered(repository(tmp_path, files))

    columns = {"user": "query-id", "item": "corpus-id", "grade": "score"}
    assert observed.tables["truth"].columns == columns
    assert {name: [*table.columns] for name, table in observed.models.items()} == {
        "bm25": ["user", "item", "score"],
        "dense": ["user", "item", "score"],
    }


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

    assert sorted(str(t.path.relative_to(root)) for t in discovered(root).models.values()) == models


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["out/recs_als_v2.csv", "out/recs_bpr_v2.csv"], ["als", "bpr"]),
        (["als/recs.csv", "bpr/recs.csv"], ["als", "bpr"]),
        (["a/als.csv", "b/als.csv"], ["a", "b"]),
        (["a/als.csv", "b/als.csv", "c/bpr.csv"], ["a-als", "b-als", "bpr"]),
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
def test_models_are_named_by_their_distinctive_words(paths: list[str], names: list[str]) -> None:
    tables = [Table(TableFile(Path("/r", path), "csv", ()), {}) for path in paths]
    result = name_models(tables, Path("/r"))

    assert sorted(result) == sorted(names)
    assert len(result) == len(paths)
    assert all(map(is_model_name, result))


def test_number_of_discovered_files_has_a_reported_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository(tmp_path, {f"logs/{number}.txt": "" for number in range(20)} | USUAL)
    assert not discovered(root).has_more

    monkeypatch.setattr(discovery, "MAX_FILES", 10)
    assert discovered(root).has_more


def test_unreadable_files_are_skipped(tmp_path: Path) -> None:
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

    assert set(paths(discovered(root), root)) == {"truth", "als", "popular"}


@pytest.mark.parametrize("output", ["made/als.csv", "made"])
def test_a_link_that_leads_out_is_followed_for_outs_alone(tmp_path: Path, output: str) -> None:
    elsewhere = tmp_path / "elsewhere.csv"
    elsewhere.write_text(LISTS)
    stages = f"stages:\n  train: {{cmd: x, outs: [{output}]}}\n"
    root = repository(tmp_path / "repository", {"dvc.yaml": stages})
    (root / "made").mkdir()
    (root / "made/als.csv").symlink_to(elsewhere)
    (root / "bpr.csv").symlink_to(elsewhere)
    observed = discovered(root)

    assert paths(observed, root) == {"als": ("made/als.csv", "train")}
    assert [(e.path.name, e.reason) for e in observed.skipped] == [
        ("bpr.csv", "a link leads out of the repository")
    ]


@pytest.mark.parametrize(
    ("file", "text", "entry"),
    [
        ("als.run.json", f'{{"run_id": "{ID}", "loss": 1}}', {"key": "run_id"}),
        ("als.run.json", f'{{"mlflow": {{"run_id": "{ID}"}}}}', {"key": "mlflow.run_id"}),
        ("als_run_id.txt", f"{ID}\n", {}),
        ("als.run.json", '{"run_id": "7"}', None),
        ("als.run.json", f'{{"run_id": "{ID}", "data": "{OTHER}"}}', None),
        ("als.run.json", "{", None),
        ("als.run.txt", "\0", None),
        ("als.md5", ID, None),
        ("run.txt", ID, None),  # of which model?
    ],
)
def test_a_run_file_of_a_model_with_one_id_is_its_training_run(
    tmp_path: Path, file: str, text: str, entry: dict[str, str] | None
) -> None:
    root = repository(tmp_path, {"als.csv": LISTS, "bpr.csv": LISTS, file: text})
    models = discovered(root).models
    linked = {
        name: run_id_file(table, models.values(), root / "evaluation")
        for name, table in models.items()
    }

    expected = {} if entry is None else {"training_run_id": {"file": f"../{file}", **entry}}
    assert linked == {"als": expected, "bpr": {}}


@pytest.mark.parametrize("files", [{"run.txt": ID}, {"run.txt": ID, "run.json": f'["{ID}"]'}])
def test_the_only_run_file_next_to_one_model_needs_no_name(
    tmp_path: Path, files: dict[str, str]
) -> None:
    root = repository(tmp_path, {f"als/{name}": text for name, text in files.items()})
    write(root, {"als/recs.csv": LISTS, "bpr/recs.csv": LISTS})
    models = discovered(root).models

    entry = run_id_file(models["als"], models.values(), root / "evaluation")
    assert entry == {"training_run_id": {"file": "../als/run.txt"}}


@pytest.mark.parametrize(
    ("store", "environment", "uri"),
    [
        ("services/rec/mlflow.db", "", "sqlite:///../mlflow.db"),
        ("mlflow.db", "", "sqlite:///../../../mlflow.db"),
        ("other/mlflow.db", "", "sqlite:///mlflow.db"),
        ("../mlflow.db", "", "sqlite:///mlflow.db"),
        ("mlflow.db", "http://tracking:5000", "http://tracking:5000"),
        ("mlflow.db", "http://me:secret@tracking", "sqlite:///../../../mlflow.db"),
    ],
)
def test_the_store_is_the_server_or_the_nearest_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str, environment: str, uri: str
) -> None:
    root = repository(tmp_path / "repository", {})
    write(root, {store: ""})
    monkeypatch.setenv("MLFLOW_TRACKING_URI", environment)
    monkeypatch.chdir(root)

    assert tracking_uri(root / "services/rec/evaluation") == uri


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stages: [", "dvc.yaml"),
        ("stages:\n  a: {cmd: x, outs: ['${nothing}.csv']}\n", "nothing"),
        ("stages:\n  a: {outs: [x]}\n", "dvc.yaml"),
    ],
)
def test_a_dvc_yaml_that_dvc_cannot_read_is_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    root = repository(tmp_path, {**USUAL, "dvc.yaml": text})

    with pytest.raises(InputError, match="DVC cannot read it: .*" + message):
        discovered(root)


@pytest.mark.parametrize(
    ("path", "names", "role", "columns"),
    [
        ("data/test.csv", "userId movieId rating timestamp", "truth", "user item grade time"),
        ("data/train.csv", "userId movieId rating timestamp", "train", "user item - time"),
        ("data/u1.base", "user_id item_id", "unknown", "user item"),
        (
            "training/output/test_predictions.csv",
            "userId movieId rating",
            "lists",
            "user item score",
        ),
        ("data/holdout.csv", "customer_id article_id", "truth", "user item"),
        ("data/held_out.csv", "uid asin", "truth", "user item"),
        ("data/valid.csv", "user item", "validation", "user item"),
        ("als.csv", "USER_ID ItemID Prediction", "lists", "user item score"),
        ("recs/train_als.csv", "user item rank", "lists", "user item rank"),
        ("training/out/als.csv", "user item rank", "lists", "user item rank"),
        ("data/train.csv", "userId movieId score", "train", "user item -"),
        ("data/test.csv", "session_id item_id position", "truth", "user item -"),
        ("data/test/0.csv", "session_id item_id position", "truth", "user item -"),
        ("preds/als_val.csv", "user item score", "validation lists", "user item score"),
        ("val/recs_als.csv", "user item rating", "validation lists", "user item score"),
        ("preds/als_test.csv", "user item score", "lists", "user item score"),
        ("data/test.csv", "user item rating score", "truth", "user item grade -"),
        ("recs/als.csv", "visitor_id track_id", "lists", "user item"),
        ("data/movies.csv", "movieId title genres", "items", "item title categories"),
        ("data/prices.csv", "item_id price", None, "- -"),
        ("data/customers.csv", "customer_id plan", "users", "user -"),
        ("data/logins.csv", "customer_id plan", None, "- -"),
        ("metrics/scores.csv", "epoch loss", None, "- -"),
    ],
)
def test_role_of_a_table(path: str, names: str, role: str | None, columns: str) -> None:
    observed = TableFile(Path(path), "csv", tuple(names.split()))
    pairs = zip(columns.split(), observed.columns, strict=True)
    result = guess_role(observed, path, {})

    assert result == role
    if result is not None:
        expected = {column: name for column, name in pairs if column != "-"}
        assert as_table(observed, result, {}).columns == expected


@pytest.mark.parametrize(
    ("columns", "lists", "order"),
    [
        (("user", "item"), (), "file"),
        (("user", "item", "rank"), (), None),
        (("user", "item", "rating"), (), None),
        (("user", "items"), ("items",), None),
    ],
)
def test_lists_without_rank_and_score_have_the_order_of_the_file(
    columns: tuple[str, ...], lists: tuple[str, ...], order: str | None
) -> None:
    assert as_table(TableFile(Path("a"), "csv", columns, lists), "lists", {}).order == order


def test_a_row_with_many_items_is_a_list_in_a_file_of_any_name() -> None:
    observed = TableFile(
        Path("out/ease.jsonl"), "jsonl", ("customer_id", "products"), ("products",)
    )

    assert guess_role(observed, "out/ease.jsonl", {}) == "lists"
    assert as_table(observed, "lists", {}).columns == {"user": "customer_id", "item": "products"}
    assert guess_role(observed, "out/test.jsonl", {}) == "truth"


def test_fields_of_lists_of_structs_are_columns(tmp_path: Path) -> None:
    rows = [{"item_id": 1, "rating": 4.5, "timestamp": 7}, {"item_id": 2, "rating": 1.0}]
    pl.DataFrame({"user_id": [1], "items": [rows]}).write_parquet(tmp_path / "test.parquet")
    write(tmp_path, {"recs.jsonl": '{"user_id": 1, "list": [{"movieId": 1, "est": 0.5}]}\n'})
    truth, lists = (inspect_file(tmp_path / name) for name in ("test.parquet", "recs.jsonl"))

    assert truth is not None
    assert lists is not None
    columns = {"user": "user_id", "item": "item_id", "grade": "rating", "time": "timestamp"}
    assert guess_role(truth, "test.parquet", {}) == "truth"
    assert as_table(truth, "truth", {}).columns == columns
    assert value_range(truth, "rating") == (1.0, 4.5)
    assert as_table(lists, "lists", {}).columns == {
        "user": "user_id",
        "item": "movieId",
        "score": "est",
    }


def test_columns_are_read_in_every_format(tmp_path: Path) -> None:
    frame = pl.DataFrame({"userId": [1], "items": [["a"]]})
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ipc(tmp_path / "a.arrow")
    (tmp_path / "parts").mkdir()
    frame.write_parquet(tmp_path / "parts" / "0.parquet")
    (tmp_path / "a.tsv").write_text("userId\titems\n1\ta\n")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"\xef\xbb\xbfuserId,items\n1,a\n"))
    (tmp_path / "a.jsonl").write_text(json.dumps({"userId": 1, "items": ["a"]}) + "\n")
    actual = {path.name: inspect_file(path) for path in tmp_path.iterdir()}

    assert {each.columns for each in actual.values() if each} == {("userId", "items")}
    assert {name for name, each in actual.items() if each and each.list_columns} == {
        "a.parquet",
        "a.arrow",
        "a.jsonl",
        "parts",
    }
    assert None not in actual.values()


@pytest.mark.parametrize(
    ("columns", "lists", "role"),
    [
        (("reader_id", "books"), ("books",), "lists"),
        (("reader_id", "shelf"), ("shelf",), "lists"),
        (("reader_id", "genres"), ("genres",), None),
        (("reader_id", "shelf", "history"), ("shelf", "history"), None),
        (("epoch", "losses"), ("losses",), None),
    ],
)
def test_only_list_column_besides_the_user_holds_items_unless_named_otherwise(
    columns: tuple[str, ...], lists: tuple[str, ...], role: str | None
) -> None:
    assert (
        guess_role(TableFile(Path("out/knn.jsonl"), "jsonl", columns, lists), "out/knn.jsonl", {})
        == role
    )
