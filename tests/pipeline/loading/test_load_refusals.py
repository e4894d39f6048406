"""Every refusal of lists and truth, with its whole message."""

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipeline.loading.load_project import refusal, truth_refusal

MISSING_ID = "give every row an id, or drop the row where the table is made"
GAPS = "number the ranks of a list without gaps, or set `order: score` or `order: file`"
BASE_1 = "start every list at rank 1, or set `input.rank_base` to 0 if all lists start there"
PLAIN = "write plain numbers (decimal point), or name another column: `models.m.columns`"
ENDINGS = (
    "set `models.m.format`; the endings that tell it are .arrow, .csv, .feather, .ipc, .jsonl, .ndjson, .parquet, "
    ".qrels, .run, .tsv, and .gz of the text ones"
)
ONCE = "list each item once where the table is made, or set `conventions.duplicates` to keep, first or drop"


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def message(*problems: tuple[str, str]) -> str:
    return "\n".join(f"{what}\n  fix: {fix}" for what, fix in problems)


CASES: dict[str, tuple[str, str | bytes, dict[str, Any], list[tuple[str, str]]]] = {
    "zero bytes": ("a.csv", "", {}, [("a.csv: is empty (0 bytes)", "check what wrote the file")]),
    "header only": (
        "a.csv",
        "user,item,rank\n",
        {},
        [("a.csv: holds no rows", "check what made it, or set `input.empty_lists: keep`")],
    ),
    "no list in any line": (
        "a.jsonl",
        '{"user": "u", "items": []}\n',
        {},
        [("a.jsonl: holds no rows", "check what made it, or set `input.empty_lists: keep`")],
    ),
    "CSV under the name of parquet": (
        "a.parquet",
        "user,item,rank\nu,a,1\n",
        {},
        [
            (
                "a.parquet: is no parquet file; it begins with 'user,item,rank'",
                "name it by its format, or set `models.m.format`",
            )
        ],
    ),
    "an ending that tells nothing": (
        "a.txt",
        "x",
        {},
        [("a.txt: the name does not tell the format", ENDINGS)],
    ),
    "packed parquet": (
        "a.parquet.gz",
        "x",
        {},
        [("a.parquet.gz: parquet cannot be packed with gzip", ENDINGS)],
    ),
    "no gzip": (
        "a.csv.gz",
        "user,item,rank\n",
        {},
        [
            (
                "a.csv.gz: is no whole gzip file (Not a gzipped file (b'us'))",
                "pack or copy the file again",
            )
        ],
    ),
    "missing column": (
        "a.csv",
        "uid,item,rank\nu,a,1\n",
        {},
        [
            (
                "a.csv: column 'user': is missing; the columns are: uid, item, rank",
                "name its own column: `models.m.columns: {user: …}`",
            )
        ],
    ),
    "missing mapped column": (
        "a.jsonl",
        '{"user": "u", "items": ["a"]}\n',
        {"columns": {"score": "w"}},
        [
            (
                "a.jsonl: column 'w': is missing; the columns are: user, items",
                "name its own column: `models.m.columns: {score: …}`",
            )
        ],
    ),
    "columns of a TREC file": (
        "a.run",
        "u Q0 a 1 2.5 x\n",
        {"columns": {"user": "x"}},
        [("a.run: a TREC file has no column names", "leave out `models.m.columns`")],
    ),
    "column name twice": (
        "a.csv",
        "user,item,rank,item\nu,a,1,b\n",
        {},
        [("a.csv: column 'item': stands 2 times", "give each column its own name")],
    ),
    "semicolons": (
        "a.csv",
        "user;item;rank\nu;a;1\n",
        {},
        [
            (
                "a.csv: line 1: the columns are separated by semicolons, not by commas: 'user;item;rank'",
                "separate them by commas",
            )
        ],
    ),
    "tabs": (
        "a.csv",
        "user\titem\trank\nu\ta\t1\n",
        {},
        [
            (
                "a.csv: line 1: the columns are separated by tabs, not by commas: 'user\\titem\\trank'",
                "separate them by commas, or set `models.m.format: tsv`",
            )
        ],
    ),
    "a quote that stays open": (
        "a.csv",
        'user,item,"rank\nu,a,1\n',
        {},
        [
            (
                """a.csv: line 1: a quote is opened and not closed: 'user,item,"rank'""",
                "close the quote, or remove it",
            )
        ],
    ),
    "ragged rows, below a blank line": (
        "a.csv",
        "user,item,rank\nu,a,1\n\nu,b\nu,c,3,4\n",
        {},
        [
            (
                f"a.csv: line {line}: has {values} values, but the header names 3 columns",
                "give each row one value a column; quote values that hold the separator",
            )
            for line, values in ((4, 2), (5, 4))
        ],
    ),
    "TREC line of five": (
        "a.run",
        "u Q0 a 1 2.5 x\n\nu Q0 b 2 2.5\n",
        {},
        [
            (
                "a.run: line 3: has 5 values, not the 6 of `user Q0 item rank score tag`",
                "mend the line, or remove it",
            )
        ],
    ),
    "a key that comes late": (
        "a.jsonl",
        '{"user":"u","items":["a"]}\n{"user":"v","items":["a"],"scores":[1]}\n',
        {},
        [
            (
                "a.jsonl: line 2: has `scores`, which the first line has not",
                "mend the line, or remove it",
            )
        ],
    ),
    "lines that are no lists": (
        "a.jsonl",
        '{"user":"u","items":["a"],"scores":[1]}\nnope\n{"user":"v","items":5}\n'
        '{"user":"w","items":["a","b"],"scores":[1]}\n[1]\n',
        {},
        [
            (f"a.jsonl: line {line}: {what}", "mend the line, or remove it")
            for line, what in (
                (2, "is no JSON object"),
                (3, "has no list `items`"),
                (4, "`scores` is not as long as `items`"),
                (5, "is no JSON object"),
            )
        ],
    ),
    "no JSON": (
        "a.jsonl",
        "nope\n",
        {},
        [("a.jsonl: begins with 'nope', which is no JSON object", "write one JSON object a line")],
    ),
    "JSON ids that are no ids": (
        "a.jsonl",
        '{"user":1.5,"items":["a",true,null]}\n',
        {},
        [
            (
                "a.jsonl: line 1, column 'user' (item 'a'): '1.5' is neither text nor a 64-bit integer;"
                " 3 rows affected",
                "write ids as text, or as integers (floats hold them up to 2^53)",
            ),
            ("a.jsonl: line 1, column 'item': is missing; 1 row affected", MISSING_ID),
            (
                "a.jsonl: line 1, column 'item': 'true' is neither text nor a 64-bit integer; 1 row affected",
                "write ids as text, or as integers (floats hold them up to 2^53)",
            ),
        ],
    ),
    "scores as words and with a decimal comma": (
        "a.csv",
        'user,item,points\nu,a,1\nu,b,"1,5"\nv,a,abc\n',
        {"columns": {"score": "points"}},
        [
            (
                "a.csv: line 3, column 'points' (user 'u', item 'b'): '1,5' is no number; 2 rows affected",
                PLAIN,
            )
        ],
    ),
    "a rank with a fraction": (
        "a.csv",
        "user,item,rank\nu,a,1\nu,b,2.5\n",
        {},
        [
            (
                "a.csv: line 3, column 'rank' (user 'u', item 'b'): '2.5' is no whole number; 1 row affected",
                PLAIN,
            )
        ],
    ),
    "bytes of another encoding": (
        "a.csv",
        b"user,item,rank\nu,a,1\nu,\xe9,2\n",
        {},
        [("a.csv: line 3: byte 0xe9 is not UTF-8", "save the file as UTF-8")],
    ),
    "a header of another encoding": (
        "a.csv",
        b"us\xe9r,item,rank\nu,a,1\n",
        {},
        [("a.csv: line 1: byte 0xe9 is not UTF-8", "save the file as UTF-8")],
    ),
    "everything wrong with the values at once": (
        "a.csv",
        'user,item,rank,score\n,a,1,1\n  ,b,2,\nu, c,1,NaN\n"v\nw",a,1,3\nx,y,,1\n',
        {},
        [
            (
                "a.csv: line 2, column 'user' (user '', item 'a'): is blank; 2 rows affected",
                MISSING_ID,
            ),
            (
                "a.csv: line 5, column 'user' (user 'v\\nw', item 'a'): 'v\\nw' holds a line break or a NUL;"
                " 1 row affected",
                "check the quotes, or mend the id",
            ),
            (
                "a.csv: line 4, column 'item' (user 'u', item ' c'): ' c' begins or ends with a space;"
                " 1 row affected",
                "strip the ids where the table is made",
            ),
            (
                "a.csv: line 7, column 'rank' (user 'x', item 'y'): is missing; 1 row affected",
                "give every row a rank, or drop the row where the table is made",
            ),
            (
                "a.csv: line 3, column 'score' (user '  ', item 'b'): is missing; 1 row affected",
                "give every row a score, or drop the row where the table is made",
            ),
            (
                "a.csv: line 4, column 'score' (user 'u', item ' c'): is NaN; 1 row affected",
                "mend the score, or drop the row where the table is made, or set `input.nan_score: last`",
            ),
        ],
    ),
    "a NUL in an id": (
        "a.csv",
        "user,item,rank\nu,a,1\nu,b\x00,2\n",
        {},
        [
            (
                "a.csv: line 3, column 'item' (user 'u', item 'b\\x00'): 'b\\x00' holds a line break or a NUL;"
                " 1 row affected",
                "check the quotes, or mend the id",
            )
        ],
    ),
    "numbers in the ways of programs": (
        "a.csv",
        "user,item,score\nu,a,1_000\nu,b,1\n",
        {},
        [
            (
                "a.csv: line 2, column 'score' (user 'u', item 'a'): '1_000' is no number; 1 row affected",
                PLAIN,
            )
        ],
    ),
    "true as a score": (
        "a.jsonl",
        '{"user":"u","items":["a"],"scores":[true]}\n',
        {},
        [
            (
                "a.jsonl: line 1, column 'score' (user 'u', item 'a'): 'true' is no number; 1 row affected",
                PLAIN,
            )
        ],
    ),
    "an item twice in a list": (
        "a.csv",
        "user,item,rank\nu,a,1\nu,b,2\nu,a,3\n",
        {},
        [
            (
                "a.csv: line 2 and line 4 (user 'u', item 'a'): the item stands more than once in the list;"
                " 1 row of 1 user affected",
                ONCE,
            )
        ],
    ),
    "a rank twice in a list": (
        "a.csv",
        "user,item,rank\nu,a,1\nu,b,1\n",
        {},
        [
            (
                "a.csv: line 2 and line 3, column 'rank' (user 'u'): rank 1 stands twice in the list;"
                " 1 user affected",
                "give each item of a list its own rank, or set `order: score` or `order: file`",
            )
        ],
    ),
    "a gap between ranks": (
        "a.csv",
        "user,item,rank\nu,a,1\nu,b,2\nu,c,4\nv,a,1\n",
        {},
        [
            (
                "a.csv: line 4, column 'rank' (user 'u'): rank 2 is followed by rank 4; 1 user affected",
                GAPS,
            )
        ],
    ),
    "ranks from 0": (
        "a.csv",
        "user,item,rank\nu,a,0\nu,b,1\nv,a,0\nw,a,1\n",
        {},
        [
            (
                "a.csv: line 2, column 'rank' (user 'u'): the list starts at rank 0, not at 1; 2 users affected",
                BASE_1,
            )
        ],
    ),
    "neither rank nor score": (
        "a.csv",
        "user,item\nu,a\n",
        {},
        [
            (
                "a.csv: lists: there are neither ranks nor scores",
                "set `order: file` if the rows stand in rank order",
            )
        ],
    ),
    "an order that cannot be": (
        "a.csv",
        "user,item,rank\nu,a,1\n",
        {"order": "score"},
        [("a.csv: lists: there is no score to order them by", "choose another `order`")],
    ),
    "ties that are refused": (
        "a.csv",
        "user,item,score\nu,a,1\nu,b,1\n",
        {"conventions": {"ties": "error"}},
        [
            (
                "a.csv: line 2 and line 3, column 'score' (user 'u'): score 1.0 stands more than once in the"
                " list; 2 rows of 1 user affected",
                "make the scores of a list differ, or set `conventions.ties` to another policy",
            )
        ],
    ),
    "values, ranks and duplicates at once, each where nothing else is wrong": (
        "a.csv",
        "user,item,rank\n,a,1\nu,a,1\nu,a,2\nu,b,4\nv,a,0\nw,a,x\nw,b,1\n",
        {},
        [
            (
                "a.csv: line 2, column 'user' (user '', item 'a'): is blank; 1 row affected",
                MISSING_ID,
            ),
            (
                "a.csv: line 7, column 'rank' (user 'w', item 'a'): 'x' is no whole number; 1 row affected",
                PLAIN,
            ),
            (
                "a.csv: line 6, column 'rank' (user 'v'): the list starts at rank 0, not at 1; 1 user affected",
                BASE_1,
            ),
            (
                "a.csv: line 5, column 'rank' (user 'u'): rank 2 is followed by rank 4; 1 user affected",
                GAPS,
            ),
            (
                "a.csv: line 3 and line 4 (user 'u', item 'a'): the item stands more than once in the list;"
                " 1 row of 1 user affected",
                ONCE,
            ),
        ],
    ),
}


# The rows of docs/reference/robustness.md that a case shows.
ROWS = {
    "zero bytes": 2,
    "header only": 3,
    "no list in any line": 3,
    "CSV under the name of parquet": 5,
    "missing column": 6,
    "missing mapped column": 6,
    "column name twice": 7,
    "semicolons": 8,
    "tabs": 8,
    "ragged rows, below a blank line": 9,
    "TREC line of five": 9,
    "scores as words and with a decimal comma": (10, 23),
    "bytes of another encoding": 11,
    "a header of another encoding": 11,
    "a NUL in an id": 13,
    "an item twice in a list": 14,
    "a rank twice in a list": 15,
    "a gap between ranks": 16,
    "ranks from 0": 17,
    "neither rank nor score": 19,
    "everything wrong with the values at once": (20, 26, 27),
}


_WORDS = {20: "is NaN", 26: "is blank", 27: "begins or ends"}


def _case(name: str) -> Any:
    rows = ROWS.get(name, ())
    said = [what.partition("; ")[0] for what, _ in CASES[name][3]]
    marks = [
        pytest.mark.bad_input(row, f"refused: {next(w for w in said if _WORDS.get(row, '') in w)}")
        for row in (rows if isinstance(rows, tuple) else (rows,))
    ]
    return pytest.param(name, marks=marks)


@pytest.mark.parametrize("case", [_case(name) for name in CASES])
def test_lists_are_refused_in_these_words(case: str) -> None:
    name, content, changes, problems = CASES[case]
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert refusal(name, **changes) == message(*problems)


TRUTH_CASES = {
    "-1": "-1.0 is negative; 1 row affected",
    "nan": "is NaN; 1 row affected",
    "": "is missing; 1 row affected",
    "x": "'x' is no number; 1 row affected",
    "inf": "is infinite; 1 row affected",
}
GRADES = "write grades as numbers from 0; what is not relevant has grade 0, or no row"
NEGATIVE = f"{GRADES}; or set `input.negative_grade` to zero or unjudged"
TRUTH_FIX = {
    "-1": NEGATIVE,
    "nan": "mend the grade, or drop the row where the table is made",
    "": "give every row a grade, or drop the row where the table is made",
    "x": "write plain numbers (decimal point), or name another column: `data.truth.columns`",
}


@pytest.mark.parametrize("grade", TRUTH_CASES)
@pytest.mark.bad_input(48, "refused; `input.negative_grade` may make it 0 or unjudged")
@pytest.mark.bad_input(22, "refused: missing")
def test_grades_are_refused_in_these_words(grade: str) -> None:
    Path("t.csv").write_text(f"user,item,grade\nu,a,{grade}\nu,b,1\n")
    what = f"t.csv: line 2, column 'grade' (user 'u', item 'a'): {TRUTH_CASES[grade]}"
    assert truth_refusal("t.csv") == message((what, TRUTH_FIX.get(grade, GRADES)))


@pytest.mark.bad_input(
    47, "refused with both lines; `input.repeated_grade` may keep the first or the highest"
)
def test_a_pair_that_is_judged_twice_is_refused() -> None:
    Path("t.csv").write_text("user,item,grade\nu,a,1\nu,a,2\n")
    what = "the item is judged more than once for the user; 1 row affected"
    where = "t.csv: line 2 and line 3 (user 'u', item 'a')"
    assert truth_refusal("t.csv") == message(
        (
            f"{where}: {what}",
            "keep one row for each user and item, or set `input.repeated_grade` to first or highest",
        )
    )


@pytest.mark.bad_input(45, "refused")
def test_an_empty_truth_is_refused() -> None:
    Path("t.csv").write_text("user,item,grade\n")
    assert truth_refusal("t.csv") == message(("t.csv: holds no rows", "check what made it"))


def test_a_damaged_page_of_parquet_is_refused() -> None:
    pl.DataFrame({"user": ["u"] * 500, "item": range(500), "rank": range(1, 501)}).write_parquet(
        "a.parquet"
    )
    content = bytearray(Path("a.parquet").read_bytes())
    content[4:40] = bytes(36)
    Path("a.parquet").write_bytes(content)
    assert refusal("a.parquet").startswith("a.parquet: is damaged or not complete (")


def test_text_of_parquet_that_is_no_utf8_is_refused() -> None:
    wrong = pa.StringArray.from_buffers(
        1, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")
    )
    table = pa.table({"user": wrong, "item": ["a"], "rank": [1]})
    pq.write_table(table, "a.parquet", store_schema=False)
    assert refusal("a.parquet").startswith("a.parquet: is damaged or not complete (")


def test_what_no_terminal_should_obey_is_shown_by_its_code() -> None:
    Path("a.csv").write_text("user,item,rank\nu\x1b[2J,a,x\n")
    assert "\x1b" not in refusal("a.csv")
    assert "u\\x1b[2J" in refusal("a.csv")


@pytest.mark.bad_input(1, "refused with names that are near")
def test_a_missing_file_is_refused_with_names_that_are_near() -> None:
    Path("popularty.csv").touch()
    what = "popularity.csv: there is no such file; near it: popularty.csv"
    assert refusal("popularity.csv") == message((what, "set `models.m.path` to the file"))


def test_a_path_that_begins_a_folder_higher_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("recs").mkdir()
    Path("recs/a.csv").write_text("user,item,rank\nu,a,1\n")
    Path("evaluation").mkdir()
    monkeypatch.chdir("evaluation")

    assert refusal("recs/a.csv") == message(
        ("recs/a.csv: there is no such file below this folder", "write '../recs/a.csv'")
    )


def test_a_column_of_nearly_the_same_name_is_asked_for() -> None:
    Path("a.csv").write_text("user,item,prediction\nu,a,1\n")

    assert "fix: did you mean 'prediction'? Else name its own column: " in refusal(
        "a.csv", columns={"score": "predicted"}
    )


def test_an_address_is_refused_as_what_it_is() -> None:
    what = "https:/lists/als.csv: is an address, not a file of this machine"
    fix = (
        "fetch what stands there first, and set `models.m.path` to the file; "
        "s3://, gs://, gcs://, az://, abfs://, abfss://, azure:// are read where they are"
    )
    assert refusal("https://lists/als.csv", allow_outside=True) == message((what, fix))


@pytest.mark.bad_input(4, "refused: damaged or not complete")
def test_a_parquet_file_that_was_cut_is_refused() -> None:
    pl.DataFrame({"user": ["u"], "item": ["a"], "rank": [1]}).write_parquet("a.parquet")
    Path("a.parquet").write_bytes(Path("a.parquet").read_bytes()[:-20])
    assert refusal("a.parquet").startswith(
        "a.parquet: is damaged or not complete (Parquet magic bytes"
    )


@pytest.mark.bad_input(20, "refused by row")
@pytest.mark.bad_input(22, "refused by row")
@pytest.mark.bad_input(25, "refused by row")
def test_missing_values_in_parquet_are_refused_by_row() -> None:
    columns = {
        "user": ["u", None, "v"],
        "item": ["a", "b", None],
        "score": [1.0, float("nan"), None],
    }
    pl.DataFrame(columns).write_parquet("a.parquet")
    score = "drop the row where the table is made"
    assert refusal("a.parquet") == message(
        ("a.parquet: row 2, column 'user' (item 'b'): is missing; 1 row affected", MISSING_ID),
        ("a.parquet: row 3, column 'item' (user 'v'): is missing; 1 row affected", MISSING_ID),
        (
            "a.parquet: row 3, column 'score' (user 'v'): is missing; 1 row affected",
            f"give every row a score, or {score}",
        ),
        (
            "a.parquet: row 2, column 'score' (item 'b'): is NaN; 1 row affected",
            f"mend the score, or {score}, or set `input.nan_score: last`",
        ),
    )


@pytest.mark.parametrize(
    ("ids", "shown"),
    [
        (pl.Series([1.0, 2.5, 3.0]), "'2.5'"),
        (pl.Series([1.0, 2.0**53, 3.0]), "'9007199254740992.0'"),
        (pl.Series([1, 2**63, 3], dtype=pl.UInt64), "'9223372036854775808'"),
    ],
)
@pytest.mark.bad_input(30, "refused: neither text nor a 64-bit integer")
@pytest.mark.bad_input(31, "refused: neither text nor a 64-bit integer")
def test_numbers_that_cannot_be_kept_exactly_are_no_ids(ids: pl.Series, shown: str) -> None:
    pl.DataFrame({"user": ids, "item": [1, 2, 3], "rank": [1, 1, 1]}).write_parquet("a.parquet")
    assert refusal("a.parquet").splitlines()[0] == (
        f"a.parquet: row 2, column 'user' (item 2): {shown} is neither text nor a 64-bit integer; 1 row affected"
    )


def test_scores_that_a_double_cannot_hold_are_refused() -> None:
    scores = [1_700_000_000_000_000_000, 1_700_000_000_000_000_100]
    pl.DataFrame({"user": ["u", "u"], "item": ["a", "b"], "score": scores}).write_parquet(
        "a.parquet"
    )
    assert refusal("a.parquet").startswith(
        "a.parquet: row 1, column 'score' (user 'u', item 'a'): '1700000000000000000' lies beyond 2^53, where"
    )


@pytest.mark.bad_input(43, "refused with the type")
def test_types_that_are_no_ids_and_no_numbers_are_refused() -> None:
    pl.DataFrame({"user": [True], "item": [{"id": 1}], "rank": [b"1"]}).write_parquet("a.parquet")
    assert refusal("a.parquet") == message(
        ("a.parquet: column 'user': is of type bool", "write ids as integers or text"),
        (
            "a.parquet: column 'item': is of type struct<id: int64>",
            "write ids as integers or text",
        ),
        ("a.parquet: column 'rank': is of type large_binary", "write it as numbers"),
    )


@pytest.mark.bad_input(7, "refused")
def test_a_parquet_column_name_that_stands_twice_is_refused() -> None:
    names = ["user", "item", "rank", "item"]
    table = pa.Table.from_arrays([pa.array([1])] * 4, names=names)
    pq.write_table(table, "a.parquet")
    assert refusal("a.parquet") == message(
        ("a.parquet: column 'item': stands 2 times", "give each column its own name")
    )


@pytest.mark.bad_input(42, "refused with the names of both parts")
def test_parts_of_different_tables_are_refused_with_both_names() -> None:
    Path("parts").mkdir()
    pl.DataFrame({"user": [1], "item": [1], "rank": [1]}).write_parquet("parts/a.parquet")
    pl.DataFrame({"user": ["1"], "item": [1]}).write_parquet("parts/b.parquet")
    fix = "write all parts with the same types"
    assert refusal("parts") == message(
        ("parts/b.parquet: column 'user': is string, but int64 in a.parquet", fix),
        ("parts/b.parquet: column 'rank': is missing, but int64 in a.parquet", fix),
    )


@pytest.mark.parametrize(
    ("files", "what"), [([], "holds no part"), (["x.csv"], "holds 'x.csv', which is no part")]
)
def test_a_folder_without_parts_is_refused(files: list[str], what: str) -> None:
    Path("parts").mkdir()
    for name in files:
        Path("parts", name).write_text("x")
    fix = "keep nothing but `*.parquet` files of one table in the folder"
    assert refusal("parts") == message((f"parts: {what}", fix))


def test_a_part_is_named_with_its_own_row() -> None:
    Path("parts").mkdir()
    pl.DataFrame({"user": ["u"], "item": ["a"], "score": [1.0]}).write_parquet("parts/a.parquet")
    pl.DataFrame({"user": ["u", "u"], "item": ["b", "c"], "score": [0.5, None]}).write_parquet(
        "parts/b.parquet"
    )
    assert refusal("parts").startswith(
        "parts: b.parquet, row 2, column 'score' (user 'u', item 'c'): is missing"
    )
