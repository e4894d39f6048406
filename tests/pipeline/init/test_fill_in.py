"""`concord init` where names help little: columns of the command line, values to fill in."""

import shutil
from pathlib import Path

import pytest

from concord.metrics_core.data.column_names import guess_columns
from concord.pipeline.init.named_tables import NamedColumns, parse_columns
from concord.pipeline.init.project import init
from tests.pipeline.init.repository import evaluation, repository, valid_evaluation, write
from tests.pipeline.refusals import refusal_of
from tests.project import attempt

TRUTH = "kunde,artikel,sterne\nu1,a,5\nu2,b,4\nu3,c,1\n"
LISTS = "kunde,artikel,wert\nu1,a,3\nu1,c,2\nu2,c,1\nu3,b,1\n"
ODD = {"data/test.csv": TRUTH, "recs/als.csv": LISTS, "recs/pop.csv": LISTS}
NAMES = ("user=kunde", "item=artikel", "grade=sterne", "score=wert")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = repository(tmp_path / "shop", ODD)
    monkeypatch.chdir(path)
    return path


def places(*columns: str, **options: str) -> int:
    models = tuple(options.get("models", "").split())
    return init(None, options.get("truth"), models, columns, dry_run=False, force=False)


def test_odd_names_are_filled_in_and_the_evaluation_is_valid(root: Path) -> None:
    done = attempt(root, "concord", "init")

    assert done.returncode == 3
    assert done.stdout.partition("places")[2].splitlines() == [
        " to fill in, in evaluation/params.yaml",
        "  models.als.columns.score: write a value in its place: columns of als.csv: kunde, "
        "artikel, wert; write rank in place of score if it is one",
        "  models.pop.columns.score: write a value in its place: columns of pop.csv: kunde, "
        "artikel, wert; write rank in place of score if it is one",
        "  data.columns.user: write a value in its place: columns of test.csv: kunde, artikel, "
        "sterne",
        "  data.columns.item: write a value in its place: columns of test.csv: kunde, artikel, "
        "sterne",
        "next: fill them in, then cd evaluation && concord validate && dvc repro",
    ]
    refused = attempt(root, "concord", "validate")
    assert refused.returncode == 2
    assert refused.stderr.count("is FILL_IN") == 4

    path = root / "evaluation/params.yaml"
    text = path.read_text().replace("score: FILL_IN", "score: wert")
    path.write_text(text.replace("user: FILL_IN, item: FILL_IN", "user: kunde, item: artikel"))
    params = valid_evaluation(root / "evaluation")
    assert params.data.columns == {"user": "kunde", "item": "artikel"}
    assert params.models["als"].columns == {"score": "wert"}


def test_columns_of_the_command_line_are_used_in_all_tables_that_have_them(root: Path) -> None:
    write(root, {"recs/bpr.csv": "nutzer,artikel,rank\nu1,a,1\n"})

    assert places(*NAMES, "bpr.user=nutzer", models="als=recs/als.csv bpr=recs/bpr.csv") == 0
    params = valid_evaluation(root / "evaluation")
    assert params.data.columns == {"user": "kunde", "item": "artikel"}
    assert params.data.truth.columns == {"grade": "sterne"}
    assert {name: model.columns for name, model in params.models.items()} == {
        "als": {"score": "wert"},
        "bpr": {"user": "nutzer"},
    }


def test_lists_with_unknown_columns_are_named_if_others_are_complete(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(root, {"recs/bpr.csv": "kunde,ding,wert\nu1,a,1\n"})

    assert places(*NAMES) == 0
    assert set(evaluation(root / "evaluation").models) == {"als", "pop"}
    assert (
        "  recs/bpr.csv: no column is known as item; `--column item=NAME` names it; "
        "its columns: kunde, ding, wert\n"
    ) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("removed", "place"),
    [
        (("data/test.csv",), "data.truth.path: write a value in its place: the ground truth: "),
        (("recs/als.csv", "recs/pop.csv"), "models.model-1.path: write a value in its place: "),
    ],
)
def test_missing_table_is_a_place_to_fill_in(
    root: Path, capsys: pytest.CaptureFixture[str], removed: tuple[str, ...], place: str
) -> None:
    for name in removed:
        (root / name).unlink()

    assert places(*(name for name in NAMES if name[:5] not in ("grade", "score"))) == 1
    output = capsys.readouterr().out
    assert f"1 place to fill in, in evaluation/params.yaml\n  {place}" in output
    assert "FILL_IN" not in output


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("item",), "'item' is not a column and its name in the file"),
        (("thing=a",), "'thing=a' is not a column and its name in the file"),
        (("item=artikl",), "'item=artikl': there is no column 'artikl' in any table"),
        (
            (*NAMES, "als.item=artikl"),
            "there is no column 'artikl' in als\n  fix: did you mean 'artikel'?",
        ),
        ((*NAMES, "als.item=x"), "known: artikel, kunde, wert"),
        ((*NAMES, "ease.item=x"), "no table is called 'ease'\n  fix: name one of truth, als, pop"),
    ],
)
def test_unknown_columns_are_refused(root: Path, columns: tuple[str, ...], message: str) -> None:
    assert message in refusal_of(lambda: places(*columns))
    assert not (root / "evaluation").exists()


SEARCH = {"data/qrels/test.tsv": "query-id\tcorpus-id\tscore\nq\ta\t2\n"}


def test_named_json_is_read_by_its_content(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(root, SEARCH | {"results.json": '{"q": {"a": 1, "b": 2}}', "x.json": '{"q": [{}]}'})

    models, truth = "bm25=results.json", "data/qrels/test.tsv"
    assert places(models=models, truth=truth) == 0
    assert "results.json   user, item, score\n" in capsys.readouterr().out
    assert "order" not in valid_evaluation(root / "evaluation").models["bm25"].model_fields_set
    shutil.rmtree(root / "evaluation")
    assert "no column 'key' in bm25\n  fix: known: item, score, user" in (
        refusal_of(lambda: places("bm25.item=key", models=models, truth=truth))
    )
    write(root, {"rows.json": '[{"user": "q", "item": "a", "score": 1}]'})
    assert "write JSON lines: `frame.to_json(" in (
        refusal_of(lambda: places(models="bm25=rows.json", truth=truth))
    )
    assert "x.json: cannot be read as a table\n  fix: write {query: {document: number}}" in (
        refusal_of(lambda: places(models="bm25=x.json", truth=truth))
    )


def test_columns_are_for_all_tables_or_for_one() -> None:
    assert parse_columns(["item=a=b", "als.item=c", "als.score=d"]) == NamedColumns(
        {"item": "a=b"}, {"als": {"item": "c", "score": "d"}}
    )


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("query-id corpus-id score", "query-id corpus-id"),
        ("qid docno rank", "qid docno"),
        ("query_id pid", "query_id pid"),
        ("userId movieId", "userId movieId"),
        ("reviewerID asin", "reviewerID asin"),
        ("user articles", "user articles"),
        ("user tracks track_id", "user track_id"),
    ],
)
def test_usual_names_of_users_and_items_are_known(names: str, expected: str) -> None:
    columns = guess_columns(names.split())

    assert [columns["user"], columns["item"]] == expected.split()
