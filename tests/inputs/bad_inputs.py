"""Invalid files of recommendations, ground truth, train, catalogue and users.

`test_refused.py` passes each of them to the stages of the pipeline and to the library.
"""

import gzip
import os
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from tests.inputs.inputs import BadInput

Bad = partial(BadInput, file="a.csv")
BY_QUERY = "write {query: {document: number}}, or {query: [document, …]} with the best first"
BadJson = partial(BadInput, file="a.jsonl")
BadParquet = partial(BadInput, file="a.parquet")
BadParts = partial(BadInput, file="p")
BadTruth = partial(Bad, table="truth")
BadItems = partial(BadInput, file="i.csv", table="items")
BadUsers = partial(Bad, table="users")
BadTrain = partial(Bad, table="train")

OUTSIDE = {"allow_outside": True}
LISTS = "user,item,rank\n"
GRADED = "user,item,grade\n"
MISSING_ID = "give every row an id, or drop the row where the table is made"
SPACES = "strip the ids where the table is made"
QUOTES = "check the quotes, or fix the id"
IDS = "write ids as text or integers (floats represent integers only up to 2^53)"
ID_TYPE = "write ids as integers or text"
NUMBER_TYPE = "write it as numbers"
TWO_FORMS = "write each id in one form; if they are two ids, rename one of them in all tables"
PLAIN = "write plain numbers (decimal point), or name another column: `models.m.columns`"
MISSING_SCORE = "give every row a score, or drop the row where the table is made"
MISSING_GRADE = (
    "give every row a grade, or drop the row where the table is made; `ppi` reads grades of people"
    " for some queries and of a judge for all"
)
NAN = "correct the score, or drop the row where the table is made, or set `input.nan_score: last`"
ONCE = (
    "list each item once where the table is made, "
    "or set `conventions.duplicates` to drop or first, as for chunks of one document, or keep, "
    "and `conventions.preset` to custom"
)
GAPS = "number the ranks of a list without gaps, or set `order: file`"
OWN_RANK = "give each item of a list its own rank, or set `order: file`"
SESSIONS = (
    "if 'session_id' identifies the requests of a user, also in the {}, set "
    "`data.unit: [user, session_id]` and `conventions.unit_mean: requests`; else {}"
).format
BASE_1 = "start every list at rank 1, or set `input.rank_base` to 0 if all lists start there"
SPECIAL = "is a pipe, a socket or a device, which cannot be read twice"
NO_ROWS = "check what wrote it, or set `input.empty_lists: keep`"
ENDINGS = (
    "set `models.m.format`; known endings are .arrow, .csv, .feather, .ipc, .json, .jsonl, "
    ".ndjson, .parquet, .qrels, .run, .trec, .tsv, and .gz of the text formats"
)
LINE = "fix the line, or remove it"
RAGGED = "give each row one value a column; quote values that contain the separator"
OWN_NAMES = "give each column its own name"
UTF8 = "save the file as UTF-8"
PARTS = "keep only `*.parquet` files of one table in the folder"
SAME_TYPES = "write all parts with the same types"
SEVERAL = "write the files as one table, or give them as a folder of parts"
GRADES = "write grades as numbers from 0; an item that is not relevant has grade 0, or no row"
NEGATIVE = f"{GRADES}; or set `input.negative_grade` to zero, unjudged or pooled"
ONE_ROW = "keep one row for each user and item, or set `input.repeated_grade` to first or highest"
CATEGORIES = (
    "write a list of text, or text with `|` between categories; "
    "leave it empty for an item without categories"
)
VECTOR = (
    "write a list of finite numbers, of the same length for every item; "
    "leave it empty for an item without a vector"
)
ABOVE_2_53 = 2**53 + 1
FIXED_SIZE = pa.array([[1.0, 2.0], None], pa.list_(pa.float64(), 2))  # in a frame it can be read
ROWS = pa.table({"user": ["u", "u"], "item": ["a", "b"], "score": [2.0, 1.0]})


def _row(**columns: Any) -> pa.Table:
    return pa.table({"user": ["u"], "item": ["a"], "score": [1.0]} | columns)


def _bytes(table: pa.Table, form: str = "parquet") -> bytes:
    written = pa.BufferOutputStream()
    if form == "parquet":
        pq.write_table(table, written)
    else:
        new = pyarrow.ipc.new_stream if form == "stream" else pyarrow.ipc.new_file
        with new(written, table.schema) as writer:
            writer.write_table(table)
    return written.getvalue().to_pybytes()


def _not_utf8(path: Path) -> None:
    buffers = pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")
    table = _row(user=pa.StringArray.from_buffers(1, *buffers))
    pq.write_table(table, path, store_schema=False)


def _pipe(path: Path) -> None:
    os.mkfifo(path)  # not at import: Windows has none


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


FILES = [
    Bad("zero_bytes", "", "is empty (0 bytes)", "check what wrote the file", page=2),
    Bad("pointer_of_git_lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
        "is a pointer of Git LFS, not the data",
        "run `git lfs pull`; in CI, check out with `lfs: true`"),
    Bad("header_only", LISTS, "has no rows", NO_ROWS, page=3),
    *(Bad(f"header_without_line_end_empty_lists_{policy}", LISTS.strip(), "has no rows",
          "check what wrote it; its header has to end with a line break",
          policies={"empty_lists": policy})
      for policy in ("error", "keep")),
    BadJson("no_list_in_any_line", '{"user":"u","items":[]}\n', "has no rows", NO_ROWS, page=3),
    BadInput("file_missing", {"popularty.csv": ""},
             "there is no such file; similar names: popularty.csv",
             "set `models.m.path` to the path of the file", file="popularity.csv", page=1),
    BadInput("file_with_a_backslash", {"lists.csv": ""},
             "there is no such file: a backslash separates no folders here",
             "write 'data/lists.csv'", file="data\\lists.csv"),
    BadParquet("csv_named_parquet", f"{LISTS}u,a,1\n",
               "is not a valid parquet file; it starts with 'user,item,rank'",
               "name it by its format, or set `models.m.format`", page=5),
    BadInput("unknown_ending", "x", "the file name shows no format", ENDINGS, file="a.txt"),
    BadInput("gzipped_parquet", "x", "parquet cannot be read from .gz", ENDINGS,
             file="a.parquet.gz"),
    BadInput("not_gzipped", LISTS, "is not a complete gzip file (Not a gzipped file (b'us'))",
             "compress or copy the file again", file="a.csv.gz"),
    BadParquet("parquet_truncated", _bytes(ROWS)[:-20],
               "is damaged or incomplete", None, page=4),
    BadParquet("parquet_page_damaged", _bytes(_row())[:4] + bytes(36) + _bytes(_row())[40:],
               "is damaged or incomplete (", None),
    BadParquet("parquet_text_is_not_utf8", _not_utf8, "is damaged or incomplete (", None),
    Bad("pipe", _pipe, SPECIAL, None, page=69),
    Bad("device", lambda path: path.symlink_to("/dev/zero"),
        SPECIAL, None, settings=OUTSIDE, page=69),
    Bad("address_of_no_store", {}, "is an address, not a local file",
        "download it, and set `models.m.path` to the path of the file; only s3://, gs://, gcs://,"
        " az://, abfs://, abfss://, azure:// are read without a download",
        file="https:/lists/als.csv", settings=OUTSIDE),
    Bad("socket", _socket, SPECIAL, None, page=69),
    *(BadInput(f"two_{form}_files_in_one", _bytes(ROWS, form) * 2,
               "consists of several concatenated files, of which only one would be read",
               SEVERAL, file="a.parquet" if form == "parquet" else "a.arrow", page=61)
      for form in ("parquet", "stream")),
    BadInput("arrow_stream_without_end", _bytes(ROWS, "stream")[:-8],
             "is an Arrow stream without its end: rows may be lost", None, file="a.arrow",
             page=61),
    BadParquet("parquet_without_rows", _bytes(ROWS[:0]), "has no rows", NO_ROWS),
    BadInput("arrow_file_without_rows", ROWS[:0], "has no rows", NO_ROWS, file="a.arrow"),
    Bad("byte_of_another_encoding", b"user,item,rank\nu,a,1\nu,\xe9,2\n",
        "line 3: byte 0xe9 is not UTF-8", UTF8, page=11),
    Bad("header_of_another_encoding", b"us\xe9r,item,rank\nu,a,1\n",
        "line 1: byte 0xe9 is not UTF-8", UTF8, page=11),
]  # fmt: skip

COLUMNS = [
    Bad("column_missing", "uid,item,rank\nu,a,1\n",
        "column 'user': is missing; the columns are: uid, item, rank",
        "did you mean 'uid'? Else name its own column: `models.m.columns: {user: …}`", page=6),
    BadJson("mapped_column_missing", '{"user": "u", "items": ["a"]}\n',
            "column 'w': is missing; the columns are: user, items",
            "name its own column: `models.m.columns: {score: …}`; "
            "if it has none: `models.m.columns: {score: null}`",
            settings={"columns": {"score": "w"}}, page=6),
    Bad("column_with_similar_name", "user,item,prediction\nu,a,1\n",
        "column 'predicted': is missing; the columns are: user, item, prediction",
        "did you mean 'prediction'? Else name its own column: `models.m.columns: {score: …}`",
        settings={"columns": {"score": "predicted"}}),
    Bad("shared_column_missing", "reader,title,rank\nu,x,1\n",
        "column 'book': is missing; the columns are: reader, title, rank",
        "name its own column: `models.m.columns: {item: …}`",
        settings={"shared": {"user": "reader", "item": "book"}}),
    Bad("header_missing", "u,item,1\nv,b,2\n",
        "column 'user': is missing; the columns are: u, item, 1",
        "if the first line is data, add a header line. Else name its own column: "
        "`models.m.columns: {user: …}`", page=6),
    BadTruth("qrels_in_tsv", "300674\t0\t7067032\t1\n",
             "looks like TREC qrels: '300674 0 7067032 1'", "set `data.truth.format: trec`",
             file="a.tsv"),
    Bad("run_of_three_columns_in_tsv", "1048585\t7187158\t1\n1048585\t7187157\t2\n",
        "looks like a TREC run: '1048585 7187158 1'", "set `models.m.format: trec`",
        file="a.tsv"),
    Bad("run_in_tsv", "q1\tQ0\td1\t1\t-2.5e-1\tbm25\n",
        "looks like a TREC run: 'q1 Q0 d1 1 -2.5e-1 bm25'", "set `models.m.format: trec`",
        file="a.tsv"),
    Bad("run_of_three_columns_in_csv", "1048585\t7187158\t1\n",
        "looks like a TREC run: '1048585 7187158 1'", "set `models.m.format: trec`"),
    BadTruth("ratings_without_header", "196\t242\t3\t881250949\n",
             "column 'user': is missing; the columns are: 196, 242, 3, 881250949", None,
             file="a.tsv"),
    *(Bad(f"lists_as_text_{name}", content, f"column {column!r} holds lists as text: {text!r}",
          f"write one row per item; or `frame['items'] = frame.pop({column!r}){convert}`, "
          "and JSON lines or parquet" + "; if it is one id, add its rank" * ("split" in convert),
          settings={"columns": names})
      for name, content, column, text, convert, names in (
          ("of_kaggle", "customer_id,prediction\n00f,0568601043 0751471001\n", "prediction",
           "0568601043 0751471001", ".str.split()", {}),
          ("of_kaggle_named", "customer_id,prediction\n00f,99 3 1\n", "prediction", "99 3 1",
           ".str.split()", {"user": "customer_id", "item": "prediction"}),
          ("of_to_csv", "user,items\nu,\"['a', 'b']\"\n", "items", "['a', 'b']",
           ".map(ast.literal_eval)", {}),
          ("of_commas", "user,items\nu,\"a,b,c\"\n", "items", "a,b,c", ".str.split(',')", {}),
          ("of_numbers", "user,items\nu,\"1,2,3\"\n", "items", "1,2,3", ".str.split(',')", {}),
          ("of_bars", "user,items\nu,a|b|c\n", "items", "a|b|c", ".str.split('|')", {}),
          ("of_one_item", "user,item\nu,['a']\n", "item", "['a']", ".map(ast.literal_eval)", {}),
          ("of_json", 'user,items,scores\nu,"[""a"", ""b""]","[2, 1]"\n', "items", '["a", "b"]',
           ".map(ast.literal_eval)", {}))),
    *(Bad(f"lists_as_text_of_{name}", f'user,items\nu,"{text}"\n',
          f"column 'items' holds lists as text: {text!r}",
          "write one row per item, or parquet or JSON lines with lists, where the lists are made; "
          "in Python also {user: {item: score}}", settings={"order": order})
      for order in (None, "file")
      for name, text in ((f"numbers_{order}", "[154 283]"), (f"texts_{order}", "['a' 'b']"),
                         (f"dicts_{order}", "{'a': 4.1}"),
                         (f"structs_{order}", "[{'i': 1} {'i': 2}]"))),
    Bad("lists_as_text_in_file_order", "user,item\nu,a|b|c\n",
        "column 'item' holds lists as text: 'a|b|c'",
        "write one row per item; or `frame['items'] = frame.pop('item').str.split('|')`, "
        "and JSON lines or parquet; if it is one id, add its rank", settings={"order": "file"}),
    BadTruth("lists_as_text_in_truth", "user,item\nu,\"['a', 'b']\"\n",
             "column 'item' holds lists as text: \"['a', 'b']\"", None),
    *(type_("one_column_for_each_item", content, "has a column for each item of a list: id_1, id_2",
            "write one row per item; or `frame['items'] = frame[['id_1', 'id_2']].values.tolist()`,"
            " and JSON lines or parquet")
      for type_, content in ((Bad, "user,id_1,id_2\nu,a,b\n"),
                             (BadParquet, pa.table({"user": ["u"], "id_1": [1], "id_2": [2]})))),
    Bad("byte_order_mark_not_at_the_beginning", "\n\n\n\ufeffuser,item,rank\nu,a,1\n",
        "column 'user': is missing; the columns are: \\ufeffuser, item, rank",
        "did you mean '\\ufeffuser'? Else name its own column: `models.m.columns: {user: …}`"),
    BadInput("columns_of_trec_file", "u Q0 a 1 2.5 x\n", "a TREC file has no column names",
             "leave out `models.m.columns`", file="a.run", settings={"columns": {"user": "x"}}),
    Bad("column_name_twice", "user,item,rank,item\nu,a,1,b\n", "column 'item': occurs 2 times",
        OWN_NAMES, page=7),
    BadParquet("parquet_column_name_twice",
               pa.Table.from_arrays([pa.array([1])] * 4, names=["user", "item", "rank", "item"]),
               "column 'item': occurs 2 times", OWN_NAMES, page=7),
    Bad("column_name_without_end", f"{'u' * 200_000},item,rank\nu,a,1\n",
        "line 1: the name of a column is longer than 131,072 characters",
        "start the file with one line of column names", page=70),
    Bad("separated_by_semicolons", "user;item;rank\nu;a;1\n",
        "line 1: the columns are separated by semicolons, not by commas: 'user;item;rank'",
        "separate them by commas", page=8),
    Bad("separated_by_tabs", "user\titem\trank\nu\ta\t1\n",
        "line 1: the columns are separated by tabs, not by commas: 'user\\titem\\trank'",
        "separate them by commas, or set `models.m.format: tsv`", page=8),
    Bad("quote_not_closed", 'user,item,"rank\nu,a,1\n',
        "line 1: a quote is opened and not closed: 'user,item,\"rank'",
        "close the quote, or remove it"),
    Bad("ragged_rows_after_blank_line", f"{LISTS}u,a,1\n\nu,b\nu,c,3,4\n",
        ("line 4: has 2 values, but the header has 3 columns",
         "line 5: has 4 values, but the header has 3 columns"), RAGGED, page=9),
    *(BadInput(f"json_by_query_{id_}", content, problem, BY_QUERY, file="a.json")
      for id_, content, problem in (
          ("that_is_a_list", "[1]", "line 1: '[1]' is not expected here"),
          ("that_ends", '{"u": {"a": 1}', "line 1: the file ends within the JSON"),
          ("with_text_after_it", '{"u": {"a": 1}}\n[]', "line 2: '[]' is not expected here"),
          ("with_a_comma_at_the_end", '{"u": ["a"],}', "line 1: '}' is not expected here"),
          ("of_mteb_with_text_after_it",
           '{"mteb_model_meta": {}, "default": {"test": {"u": {"a": 1}}}}\n{"default": {}}',
           "line 2: '{\"default\": {}}' is not expected here"),
          ("without_queries_with_text_after_it", "{}\n[]", "line 2: '[]' is not expected here"),
          ("with_a_key_that_is_no_text", "{1: {}}", "line 1: '1: {}}' is not expected here"),
          ("without_documents", '{"u": 3}', "query 'u': holds '3'"),
          ("of_two_forms", '{"u": ["a"], "v": {"b": 1}}', "query 'v': holds {'b': '1'}"),
          ("with_a_list_as_score", '{"u": {"a": [1]}}',
           "query 'u', document 'a': holds ['1'], which is not a number"),
      )),
    *(BadInput(f"json_records{'_under_other_names' if names else ''}",
               '[\n  {"uid": "u", "iid": "a", "rank": 1}]', "is a list of rows",
               "write JSON lines: `frame.to_json('….jsonl', orient='records', lines=True)`; "
               f"or {BY_QUERY}", file="a.json", settings={"columns": names} if names else {})
      for names in ({}, {"user": "uid", "item": "iid"})),
    BadInput("json_lines_in_json", '{"user": "u", "item": "a", "rank": 1}\n',
             "query 'user': holds 'u'",
             f"if each line is a row, set `models.m.format: jsonl`; else {BY_QUERY}",
             file="a.json"),
    BadInput("json_by_query_with_a_query_twice", '{"u": {"a": 1},\n "u": {"b": 1}}',
             "query 'u': occurs more than once", "write all its documents at once", file="a.json"),
    BadInput("json_by_query_with_a_document_twice", '{"u": {"a": 1, "a": 2}}',
             "pair 1 and pair 2 (user 'u', item 'a'): the item occurs more than once in the list; "
             "1 row of 1 user affected", ONCE, file="a.json"),
    BadInput("json_by_query_with_objects", '{"u": [{"id": "a"}]}',
             "query 'u', document {'id': 'a'}: is not text", "write ids as text", file="a.json"),
    BadInput("json_by_query_with_half_a_pair", '{"u": {"\\ud800": 1}}',
             "query 'u', document '\\ud800': holds half of a surrogate pair",
             "write the ids as UTF-8", file="a.json"),
    BadInput("json_by_query_in_latin_1", '{"u": {"é": 1}}'.encode("latin-1"),
             "byte 0xe9 is not UTF-8", UTF8, file="a.json"),
    BadInput("json_by_query_with_true_as_score", '{"u": {"a": true}}',
             "pair 1, column 'score' (user 'u', item 'a'): 'true' is not a number; 1 row affected",
             PLAIN, file="a.json"),
    BadInput("predictions_of_mteb_of_two_splits",
             '{"mteb_model_meta": {}, "default": {"dev": {"u": {"a": 1}}, "test": {}}}',
             "holds several predictions: default/dev, default/test …",
             "write those of one subset and split", file="a.json"),
    BadInput("columns_of_json_by_query", '{"u": {"a": 1}}', "JSON by query has no column names",
             "leave out `models.m.columns`", file="a.json", settings={"columns": {"user": "x"}}),
    BadInput("json_by_query_with_scores_in_file_order", '{"u": {"a": 1, "b": 2}}',
             "lists: are in file order, which ignores the scores of JSON by query",
             "leave out `order: file`", file="a.json", settings={"order": "file"}),
    BadTruth("two_columns_of_documents", "qid,docno,corpus-id,label\nu,a,b,1\n",
             ("column 'item': is missing; the columns are: qid, docno, corpus-id, label",
              "column 'label': may hold the grades, and there is no column 'grade'"), None),
    BadTruth("two_columns_of_queries", "qid,session_id,docno,label\nu,s,b,1\n",
             "column 'user': is missing; the columns are: qid, session_id, docno, label", None),
    BadTruth("search_names_only_beside_those_of_queries", "user,docno\nu,b\n",
             "column 'item': is missing; the columns are: user, docno",
             "did you mean 'docno'? Else name its own column: `data.truth.columns: {item: …}`"),
    BadTruth("two_columns_of_grades", "qid,docno,label,score\nu,b,1,0.5\n",
             "column 'label': may hold the grades, as may 'score', and there is no column 'grade'",
             None),
    BadTruth("score_before_grades", "query_id,doc_id,score,label\nu,b,0.5,1\n",
             "column 'label': may hold the grades, as may 'score', and there is no column 'grade'",
             "name it: `data.truth.columns: {grade: label}`; "
             "if every row has grade 1: `data.truth.columns: {grade: null}`"),
    BadTruth("grades_of_a_judge_only", "user,item,predicted\nu,b,0\n",
             "column 'predicted': may hold the grades, and there is no column 'grade'",
             "name it: `data.truth.columns: {grade: predicted}`; "
             "if every row has grade 1: `data.truth.columns: {grade: null}`; "
             "`ppi` reads grades of people for some queries and of a judge for all"),
    BadTruth("score_as_grade_without_the_header_of_beir", "qid,docno,score\nu,b,1\n",
             "column 'score': may hold the grades, and there is no column 'grade'", None),
    BadInput("trec_line_with_five_values", "u Q0 a 1 2.5 x\n\nu Q0 b 2 2.5\n",
             "line 3: has 5 values, not the 6 of `user Q0 item rank score tag`", LINE,
             file="a.run", page=9),
    BadInput("trec_line_of_three_values_and_no_rank", "u\ta\t2.5\n",
             "line 1: has 3 values, not the 6 of `user Q0 item rank score tag`", LINE,
             file="a.trec"),
    Bad("neither_rank_nor_score", "user,item\nu,a\n", "lists: there are neither ranks nor scores",
        "set `order: file` if the rows are in rank order", page=19),
    Bad("order_by_missing_score", f"{LISTS}u,a,1\n",
        "lists: there is no score to order them by", "choose another `order`",
        settings={"order": "score"}),
    BadParquet("columns_of_wrong_types",
               pa.table({"user": [True], "item": [{"id": 1}], "rank": [b"1"]}),
               ("column 'user': is of type bool", "column 'item': is of type struct<id: int64>",
                "column 'rank': is of type binary"), (ID_TYPE, ID_TYPE, NUMBER_TYPE), page=43),
    *(BadInput(f"{role}_of_type_{str(kind).partition('[')[0].partition('<')[0]}",
               _row(**{role: pa.array(values, kind)}), f"column '{role}': is of type {kind}",
               ID_TYPE if role in ("user", "item") else NUMBER_TYPE, file="a.arrow", page=68)
      for role, values, kind in (
          ("user", [b"u"], pa.binary()),
          ("item", [1], pa.duration("s")),
          ("score", [1], pa.time32("s")),
          ("score", [datetime(2026, 1, 1, tzinfo=UTC)], pa.timestamp("us")),
          ("score", [True], pa.bool_()),
          ("rank", [[("a", 1)]], pa.map_(pa.string(), pa.int8())),
      )),
]  # fmt: skip

JSON = [
    BadJson("json_begins_with_text", "nope\n", "starts with 'nope', which is not a JSON object",
            "write one JSON object a line"),
    BadJson("json_key_only_in_later_line",
            '{"user":"u","items":["a"]}\n{"user":"v","items":["a"],"scores":[1]}\n',
            "line 2: has `scores`, which the first line lacks", LINE),
    BadJson("json_lines_without_lists",
            '{"user":"u","items":["a"],"scores":[1]}\nnope\n{"user":"v","items":5}\n'
            '{"user":"w","items":["a","b"],"scores":[1]}\n[1]\n',
            ("line 2: is not a JSON object", "line 3: has no list `items`",
             "line 4: `scores` is not as long as `items`", "line 5: is not a JSON object"), LINE),
    BadJson("json_key_twice", '{"user":"u","items":["a"]}\n{"user":"v","items":["a"],"user":"w"}\n',
            "line 2: has a duplicate key", LINE),
    BadJson("json_key_twice_in_row",
            '{"user":"u","item":"a"}\n{"user":"v","item":"b","item":"c"}\n',
            "line 2: has a duplicate key", LINE),
    BadJson("json_ids_of_other_kinds", '{"user":1.5,"items":["a",true,null]}\n',
            ("line 1, column 'user' (item 'a'): '1.5' is neither text nor a 64-bit integer;"
             " 3 rows affected", "line 1, column 'item': is missing; 1 row affected",
             "line 1, column 'item': 'true' is neither text nor a 64-bit integer; 1 row affected"),
            (IDS, MISSING_ID, IDS)),
    BadJson("json_id_beyond_2_to_the_53", '{"user":9007199254740993.0,"items":["a"]}\n',
            "line 1, column 'user' (item 'a'): '9007199254740992.0' is neither text nor a 64-bit"
            " integer; 1 row affected", IDS),
    BadJson("json_score_true", '{"user":"u","items":["a"],"scores":[true]}\n',
            "line 1, column 'score' (user 'u', item 'a'): 'true' is not a number; 1 row affected",
            PLAIN),
]  # fmt: skip

VALUES = [
    BadInput("score_beyond_2_to_the_53_in_trec", f"u Q0 a 1 {ABOVE_2_53} m\n",
             f"line 1, column 'score' (user 'u', item 'a'): '{ABOVE_2_53}' is beyond 2^53, where"
             " numbers lose digits; 1 row affected", None, file="a.run",
             settings={"order": "score"}),
    Bad("score_has_decimal_comma", 'user,item,points\nu,a,1\nu,b,"1,5"\nv,a,abc\n',
        "line 3, column 'points' (user 'u', item 'b'): '1,5' is not a number; 2 rows affected",
        PLAIN, settings={"columns": {"score": "points"}}, page=10),
    *(Bad(f"score_is_{text}", f"user,item,score\nu,a,{text}\nu,b,1\n",
          f"line 2, column 'score' (user 'u', item 'a'): '{text}' is not a number; 1 row affected",
          PLAIN, page=page)
      for text, page in (("much", 23), ("1_000", None), ("true", None), ("1e400", 63))),
    BadJson("json_score_is_1e400", '{"user":"u","item":"a","score":1e400}\n',
            "line 1, column 'score' (user 'u', item 'a'): '1e400' is not a number; 1 row affected",
            PLAIN, page=63),
    Bad("score_is_nan", "user,item,score\nu,a,1\nu,b,nan\n",
        "line 3, column 'score' (user 'u', item 'b'): is NaN; 1 row affected", NAN, page=20),
    Bad("score_is_missing", "user,item,score\nu,a,1\nu,b,\n",
        "line 3, column 'score' (user 'u', item 'b'): is missing; 1 row affected", MISSING_SCORE,
        page=22),
    Bad("rank_has_fraction", f"{LISTS}u,a,1\nu,b,2.5\n",
        "line 3, column 'rank' (user 'u', item 'b'): '2.5' is not a whole number; 1 row affected",
        PLAIN),
    *(BadParquet(f"rank_is_{rank}", pa.table({"user": ["u"], "item": ["a"], "rank": [rank]}),
                 f"row 1, column 'rank' (user 'u', item 'a'): {rank} is not a valid rank", None)
      for rank in (2**63 - 1, -(2**63))),
    Bad("id_is_blank", f"{LISTS},a,1\n  ,b,1\n",
        "line 2, column 'user' (user '', item 'a'): is blank; 2 rows affected", MISSING_ID,
        page=26),
    Bad("id_is_blank_and_unseen", f"{LISTS}\u200b\u200b,a,1\nv,a,1\n",
        "line 2, column 'user' (user '\\u200b\\u200b', item 'a'): is blank; 1 row affected",
        MISSING_ID),
    Bad("space_before_id", f"{LISTS}u, c,1\n",
        "line 2, column 'item' (user 'u', item ' c'): ' c' starts or ends with a space;"
        " 1 row affected", SPACES, page=27),
    Bad("line_break_in_id", f'{LISTS}"v\nw",a,1\n',
        "line 2, column 'user' (user 'v\\nw', item 'a'): 'v\\nw' contains a line break or NUL;"
        " 1 row affected", QUOTES),
    Bad("nul_in_id", f"{LISTS}u,a,1\nu,b\x00,2\n",
        "line 3, column 'item' (user 'u', item 'b\\x00'): 'b\\x00' contains a line break or NUL;"
        " 1 row affected", QUOTES, page=13),
    Bad("terminal_code_in_id", f"{LISTS}u\x1b[2J,a,x\n",
        "line 2, column 'rank' (user 'u\\x1b[2J', item 'a'): 'x' is not a whole number;"
        " 1 row affected", PLAIN),
    Bad("several_wrong_values_at_once",
        'user,item,rank,score\n,a,1,1\n  ,b,2,\nu, c,1,NaN\n"v\nw",a,1,3\nx,y,,1\n',
        ("line 2, column 'user' (user '', item 'a'): is blank; 2 rows affected",
         "line 5, column 'user' (user 'v\\nw', item 'a'): 'v\\nw' contains a line break or NUL;"
         " 1 row affected",
         "line 4, column 'item' (user 'u', item ' c'): ' c' starts or ends with a space;"
         " 1 row affected",
         "line 7, column 'rank' (user 'x', item 'y'): is missing; 1 row affected",
         "line 3, column 'score' (user '  ', item 'b'): is missing; 1 row affected",
         "line 4, column 'score' (user 'u', item ' c'): is NaN; 1 row affected"),
        (MISSING_ID, QUOTES, SPACES, MISSING_SCORE.replace("score", "rank"), MISSING_SCORE, NAN)),
    BadParquet("values_missing_in_parquet",
               pa.table({"user": ["u", None, "v"], "item": ["a", "b", None],
                         "score": [1.0, float("nan"), None]}),
               ("row 2, column 'user' (item 'b'): is missing; 1 row affected",
                "row 3, column 'item' (user 'v'): is missing; 1 row affected",
                "row 3, column 'score' (user 'v'): is missing; 1 row affected",
                "row 2, column 'score' (item 'b'): is NaN; 1 row affected"),
               (MISSING_ID, MISSING_ID, MISSING_SCORE, NAN), page=25),
    *(BadParquet(f"id_is_{recommended}", pa.table({"user": users, "item": [1, 2], "rank": [1, 1]}),
                 f"row 2, column 'user' (item 2): '{recommended}' is neither text nor a 64-bit"
                 " integer", None, page=page)
      for users, recommended, page in (
          ([1.0, 2.5], "2.5", 30),
          ([1.0, 2.0**53], "9007199254740992.0", 30),
          (np.array([1, 2**63], np.uint64), "9223372036854775808", 31),
      )),
    *(BadParquet(f"id_of_float{bits}_is_2_to_the_{power}",
                 _row(user=np.array([2**power], f"float{bits}")),
                 f"row 1, column 'user' (item 'a'): '{float(2**power)}' is neither text nor a"
                 " 64-bit integer; 1 row affected",
                 IDS.replace("2^53", f"2^{power}"), page=30)
      for bits, power in ((16, 11), (32, 24), (64, 53))),
    *(BadInput(f"score_beyond_2_to_the_53_in_{name}", content,
               f"{where}, column 'score' (user 'u', item 'a'): '{score}' is beyond 2^53, where"
               " numbers lose digits; 1 row affected", None, file=f"a.{name}",
               page=63 if name == "csv" else None)
      for name, content, where, score in (
          ("csv", f"user,item,score\nu,a,{ABOVE_2_53}\nu,b,1\n", "line 2", ABOVE_2_53),
          ("tsv", f"user\titem\tscore\nu\ta\t{10**19}\n", "line 2", 10**19),
          ("csv.gz", gzip.compress(f"user,item,score\nu,a,{ABOVE_2_53}.0\n".encode()), "line 2",
           f"{ABOVE_2_53}.0"),
          ("jsonl", f'{{"user":"u","item":"a","score":-{ABOVE_2_53}}}\n', "line 1", -ABOVE_2_53),
          ("ndjson", f'{{"user":"u","item":"a","score":"{ABOVE_2_53}.0"}}\n', "line 1",
           f'"{ABOVE_2_53}.0"'),
          ("parquet", _row(score=[ABOVE_2_53]), "row 1", ABOVE_2_53),
          ("arrow", _row(score=pa.array([ABOVE_2_53]).cast(pa.decimal256(60, 4))), "row 1",
           f"{ABOVE_2_53}.0000"),
      )),
]  # fmt: skip


def _ids_with_unseen_ends() -> Iterator[BadInput]:
    for code in (0x3000, 0x2003, 0x200B, 0xAD, 0xFEFF, 0x202E, 0x85, 0x1F):
        id_ = f"u{chr(code)}"
        escaped = ascii(id_)
        problem = (
            f"column 'user' (user {escaped}, item 'a'): {escaped} starts or ends with an "
            "invisible character; 1 row affected"
        )
        name = f"id_ends_with_unseen_{code:04x}"
        page = 27 if code == 0x200B else None
        yield Bad(name, f"{LISTS}{id_},a,1\nv,a,1\n", f"line 2, {problem}", None, page=page)
        yield BadParquet(f"{name}_in_parquet", _row(user=[id_]), f"row 1, {problem}", None)


RANKS = [
    Bad("item_twice_in_list", f"{LISTS}u,a,1\nu,b,2\nu,a,3\n",
        "line 2 and line 4 (user 'u', item 'a'): the item occurs more than once in the list;"
        " 1 row of 1 user affected", ONCE, page=14),
    Bad("padding", f"{LISTS}u,a,1\nu,-1,2\nu,-1,3\n",
        "line 3 and line 4 (user 'u', item '-1'): the item occurs more than once in the list;"
        " 1 row of 1 user affected", "remove the padding, -1, where the table is made"),
    Bad("rank_twice_in_list", f"{LISTS}u,a,1\nu,b,1\n",
        "line 2 and line 3, column 'rank' (user 'u'): rank 1 occurs twice in the list;"
        " 1 user affected",
        OWN_RANK, page=15),
    Bad("rank_twice_in_scored_list", "user,item,rank,score\nu,a,1,2\nu,b,1,1\n",
        "line 2 and line 3, column 'rank' (user 'u'): rank 1 occurs twice in the list;"
        " 1 user affected",
        "give each item of a list its own rank, or set `order: score` or `order: file`"),
    Bad("rank_twice_in_lists_of_sessions",
        "user,session_id,when,item,rank\nu,1,7,a,1\nu,1,7,b,2\nu,2,8,c,1\nv,1,9,a,1\n",
        "line 2 and line 4, column 'rank' (user 'u'): rank 1 occurs twice in the list;"
        " 1 user affected", SESSIONS("ground truth", OWN_RANK), page=72),
    BadInput("item_twice_in_lists_of_sessions",
        "".join(f'{{"user":"u","session_id":{n},"items":["a","b"],"scores":[2,1]}}\n'
                for n in (1, 2)),
        "line 1 and line 2 (user 'u', item 'a'): the item occurs more than once in the list;"
        " 2 rows of 1 user affected", SESSIONS("ground truth", ONCE),
        file="a.jsonl", page=72),
    Bad("item_twice_in_scored_lists_of_sessions",
        "user,session_id,item,score\nu,1,a,3\nu,1,b,2\nu,2,a,1\n",
        "line 2 and line 4 (user 'u', item 'a'): the item occurs more than once in the list;"
        " 1 row of 1 user affected", SESSIONS("ground truth", ONCE), page=72),
    Bad("rank_twice_beside_a_number_of_the_row",
        "row,user,item,rank\n1,u,a,1\n2,u,b,2\n3,u,c,1\n",
        "line 2 and line 4, column 'rank' (user 'u'): rank 1 occurs twice in the list;"
        " 1 user affected", OWN_RANK),
    Bad("gap_between_ranks", f"{LISTS}u,a,1\nu,b,2\nu,c,4\nv,a,1\n",
        "line 4, column 'rank' (user 'u'): rank 2 is followed by rank 4; 1 user affected", GAPS,
        page=16),
    Bad("ranks_from_0", f"{LISTS}u,a,0\nu,b,1\nv,a,0\nw,a,1\n",
        "line 2, column 'rank' (user 'u'): the list starts at rank 0, not at 1; 2 users affected",
        BASE_1, page=17),
    Bad("ties_where_they_are_refused", "user,item,score\nu,a,1\nu,b,1\n",
        "line 2 and line 3, column 'score' (user 'u'): score 1.0 occurs more than once in the"
        " list; 2 rows of 1 user affected",
        "make the scores of a list differ, or set `conventions.ties` to another policy, "
        "and `conventions.preset` to custom",
        conventions={"ties": "error"}),
    Bad("wrong_values_ranks_and_duplicates_at_once",
        f"{LISTS},a,1\nu,a,1\nu,a,2\nu,b,4\nv,a,0\nw,a,x\nw,b,1\n",
        ("line 2, column 'user' (user '', item 'a'): is blank; 1 row affected",
         "line 7, column 'rank' (user 'w', item 'a'): 'x' is not a whole number; 1 row affected",
         "line 6, column 'rank' (user 'v'): the list starts at rank 0, not at 1; 1 user affected",
         "line 5, column 'rank' (user 'u'): rank 2 is followed by rank 4; 1 user affected",
         "line 3 and line 4 (user 'u', item 'a'): the item occurs more than once in the list;"
         " 1 row of 1 user affected"), (MISSING_ID, PLAIN, BASE_1, GAPS, ONCE)),
    *(Bad(f"wrong_line_after_{lines}_lines_before_the_header", f"{before}{LISTS}u,a,1\nu,b,x\n",
          f"line {lines + 3}, column 'rank' (user 'u', item 'b'): 'x' is not a whole number", None)
      for lines, before in ((1, "\ufeff\n"), (2, "\r\n\r\n"))),
]  # fmt: skip

SHAPES = [
    BadParquet("scores_not_as_long_as_items",
               pa.table({"user": ["u", "v"], "items": [["a", "b"], ["c"]],
                         "scores": [[2.0, 1.0], [1.0, 2.0]]}),
               "row 2: 'scores' is not as long as 'items'", None),
    BadParquet("list_of_items_missing", pa.table({"user": ["u", "v"], "items": [["a"], None]}),
               "row 2: has no list 'items'", None),
    BadParquet("item_of_list_missing", pa.table({"user": ["u", "v"], "items": [["a"], [None]]}),
               "row 2, list position 1, column 'item' (user 'v'): is missing", None),
    BadParquet("one_score_for_a_list", pa.table({"user": ["u"], "items": [["a"]], "score": [1.0]}),
               "column 'score': holds one value a row, but the items are in", None),
    BadParquet("two_columns_with_item",
               pa.table({"user": ["u"], "first": [[{"item": "a"}]], "second": [[{"item": "a"}]]}),
               "the columns 'first' and 'second' have a field 'item'", "keep one of them"),
    BadParquet("lists_of_structs_with_other_names",
               pa.table({"who": [1], "recommendations": [[{"movie": 5, "rating": 0.5}]]}),
               "column 'user': is missing; the columns are: who, movie, rating", None),
    BadParquet("lists_of_structs_with_scores_of_another_name",
               pa.table({"user": [1], "recommendations": [[{"item": 5, "prediction": 0.5}]]}),
               "lists: there are neither ranks nor scores", None),
]  # fmt: skip

FOLDERS = [
    BadParts("folder_without_parts", {"p/_SUCCESS": ""}, "contains no part", PARTS),
    *(BadParts(f"folder_with_{name}", {"p/sub/part.parquet": ROWS, f"p/sub/{file}": content},
               f"contains 'sub/{file}', which is not a part", PARTS)
      for name, file, content in (
          ("csv", "x.csv", ""),
          ("pipe", "p.parquet", _pipe),
          ("broken_link", "gone.parquet", lambda path: path.symlink_to("nowhere")),
      )),
    *(BadParts(f"hidden_part_{name}", {"p/a.parquet": ROWS, f"p/{name}": ROWS},
               f"contains {name.partition('/')[0]!r} with rows, and readers of folders skip such"
               " a name", None)
      for name in (".b.parquet", "_b.parquet", "_temporary/0/b.parquet", ".x/b.parquet")),
    BadParts("parts_of_different_tables",
             {"p/a.parquet": pa.table({"user": [1], "item": [1], "rank": [1]}),
              "p/b.parquet": pa.table({"user": ["1"], "item": [1]})},
             ("/b.parquet: column 'user': is string, but int64 in a.parquet",
              "/b.parquet: column 'rank': is missing, but int64 in a.parquet"), SAME_TYPES,
             page=42),
    BadParts("column_only_in_later_part", {"p/a.parquet": ROWS, "p/b.parquet": _row(rank=[1])},
             "/a.parquet: column 'rank': is missing, but int64 in b.parquet", None, page=42),
    BadParts("score_of_a_part_missing",
             {"p/a.parquet": ROWS, "p/b.parquet": pa.table(
                 {"user": ["v", "v"], "item": ["b", "c"], "score": [0.5, None]})},
             "b.parquet, row 2, column 'score' (user 'v', item 'c'): is missing", None),
    BadParts("item_of_a_list_of_a_part_missing",
             {"p/0.parquet": pa.table({"user": ["u"], "items": [["a"]]}),
              "p/1.parquet": pa.table({"user": ["v", "w"], "items": [["a"], ["a", None]]})},
             "1.parquet, row 2, list position 2, column 'item' (user 'w'): is missing", None),
    BadParts("key_of_partition_missing",
             {"p/user=__HIVE_DEFAULT_PARTITION__/a.parquet": ROWS.drop_columns(["user"])},
             "row 1, column 'user' (item 'a'): is missing; 2 rows affected", None),
    BadParts("link_to_folder",
             {"p/a.parquet": ROWS, "other/a.parquet": ROWS,
              "p/linked": lambda path: path.symlink_to(Path("other").resolve())},
             "contains 'linked', a link to a folder, which DVC does not follow", None),
    *(BadParts(f"table_of_{lake.partition(' ')[2]}",
               {"p/a.parquet": ROWS, f"p/{name}/v1.metadata.json": ""},
               f"is {lake} table: its files also contain rows that were deleted", None, page=60)
      for name, lake in ((".hoodie", "a Hudi"), ("metadata", "an Iceberg"))),
    BadParts("folder_of_csv", {"p/x": ""}, "is a folder, but csv is not read in parts",
             "write one file, or parts in parquet", settings={"format": "csv"}),
    BadParts("part_truncated", {"p/a.parquet": ROWS, "p/b/c.parquet": _bytes(ROWS)[:100]},
             "/b/c.parquet: is damaged or incomplete", None),
]  # fmt: skip

TRUTH = [
    *(BadTruth(f"grade_is_{text or 'missing'}", f"{GRADED}u,a,{text}\nu,b,1\n",
               f"line 2, column 'grade' (user 'u', item 'a'): {problem}; 1 row affected", fix,
               page=page)
      for text, problem, fix, page in (
          ("-1", "-1.0 is negative", NEGATIVE, 48),
          ("nan", "is NaN", "correct the grade, or drop the row where the table is made", None),
          ("inf", "is infinite", GRADES, None),
          ("", "is missing", MISSING_GRADE, 22),
          ("x", "'x' is not a number", PLAIN.replace("models.m", "data.truth"), None),
      )),
    BadTruth("grades_beyond_2_to_the_53", f"{GRADED}u,a,1e308\nu,b,1e308\n",
             "line 2, column 'grade' (user 'u', item 'a'): 1e+308 is beyond 2^53, where sums of"
             " grades lose digits; 2 rows affected", "write lower grades", page=64),
    BadTruth("two_forms_of_one_id_in_truth", "user,item\nu,1\nv,1.0\n",
             "column 'item': contains both '1.0' and '1'; `.0` is stripped from ids, so they"
             " would become one id", TWO_FORMS, page=65),
    BadTrain("two_forms_of_one_id_in_train", "user,item\n2,1\n2.0,3\n",
             "column 'user': contains both '2.0' and '2'; `.0` is stripped from ids, so they"
             " would become one id", TWO_FORMS),
    BadTruth("item_judged_twice", f"{GRADED}u,a,1\nu,a,2\n",
             "line 2 and line 3 (user 'u', item 'a'): the item is judged more than once for the"
             " user; 1 row affected", ONE_ROW, page=47),
    BadTruth("item_judged_twice_for_a_subtopic",
             "user,item,aspect\nu,a,1\nu,a,2\nu,b,2\nu,b,2\n",
             "line 4 and line 5 (user 'u', item 'b'): the item is judged more than once for the"
             " user and subtopic '2'; 1 row affected",
             "keep one row for each user, item and subtopic, or set `input.repeated_grade` to first"
             " or highest", settings={"columns": {"subtopic": "aspect"}}),
    BadTruth("subtopic_missing", "user,item,aspect\nu,a,\n",
             "line 2, column 'aspect' (user 'u', item 'a'): is blank; 1 row affected",
             MISSING_ID, settings={"columns": {"subtopic": "aspect"}}),
    BadTruth("subtopic_of_qrels_under_another_name", "u 1 a 1\n",
             "a TREC file has no column names",
             "its second field is `data.truth.columns: {subtopic: iteration}`", file="a.qrels",
             settings={"columns": {"subtopic": "aspect"}}),
    BadTruth("item_judged_twice_by_session", "user,session_id,item,grade\nu,1,a,1\nu,2,a,2\n",
             "line 2 and line 3 (user 'u', item 'a'): the item is judged more than once for the"
             " user; 1 row affected", SESSIONS("recommendations", ONE_ROW), page=72),
    BadTruth("item_judged_twice_by_session_without_grades", "user,session_id,item\nu,1,a\nu,2,a\n",
             "line 2 and line 3 (user 'u', item 'a'): the item is judged more than once for the"
             " user; 1 row affected", SESSIONS("recommendations", ONE_ROW),
             settings={"columns": {"grade": None}}),
    BadTruth("item_judged_twice_at_two_times",
             "user,timestamp,item,grade\nu,1,a,1\nu,2,a,2\nv,1,a,1\n",
             "line 2 and line 3 (user 'u', item 'a'): the item is judged more than once for the"
             " user; 1 row affected", ONE_ROW),
    BadTruth("policy_does_not_hide_wrong_rows",
             f"{GRADED}u,a,3\nu,a,abc\nu,a,\nu,a,-1\nu,b,1\n",
             ("line 4, column 'grade' (user 'u', item 'a'): is missing; 1 row affected",
              "line 3, column 'grade' (user 'u', item 'a'): 'abc' is not a number; 1 row affected",
              "line 5, column 'grade' (user 'u', item 'a'): -1.0 is negative; 1 row affected"),
             (MISSING_GRADE, PLAIN.replace("models.m", "data.truth"),
              NEGATIVE), policies={"repeated_grade": "highest"}),
    BadTruth("only_negative_grades", f"{GRADED}u,a,-1\n",
             "has no rows left: every grade is negative",
             "set `input.negative_grade: zero`", policies={"negative_grade": "unjudged"}),
    BadTruth("truth_without_rows", GRADED, "has no rows", "check what wrote it", page=45),
]  # fmt: skip

BACKGROUND = [
    BadItems("ids_of_catalogue_with_space_and_twice", "item,categories\na,x\n b,\nc,x\na,q\n",
             ("line 3, column 'item' (item ' b'): ' b' starts or ends with a space;"
              " 1 row affected", "line 2 and line 5: item 'a' occurs more than once;"
              " 1 row affected"), (SPACES, "keep one row for each item")),
    BadUsers("user_twice", "user,plan\nu1,a\nu2,b\nu1,b\n",
             "line 2 and line 4: user 'u1' occurs more than once; 1 row affected",
             "keep one row for each user", page=57),
    BadUsers("users_without_column_user", "id,plan\nu1,a\n",
             "column 'user': is missing; the columns are: id, plan",
             "name its own column: `background.users.columns: {user: …}`"),
    BadUsers("column_of_users_twice", "user,plan,plan\nu1,a,b\n", "column 'plan': occurs 2 times",
             OWN_NAMES),
    BadUsers("users_without_rows", "user,plan\n", "has no rows", "check what wrote it"),
    BadUsers("columns_of_users_differ_in_capitals", "user,Plan,plan\na,1,2\n",
             "column 'plan': and 'Plan' would be one column: they differ only in case, or one"
             " is mapped to the other", "rename or remove one of them"),
    BadUsers("column_beside_the_one_mapped_to_its_name", "customer,user,plan\na,b,c\n",
             "column 'user': and 'customer' would be one column: they differ only in case, or"
             " one is mapped to the other", "rename or remove one of them",
             settings={"columns": {"user": "customer"}}),
    BadItems("category_is_blank", "item,categories\na,x|y\nc,x||y\n",
             "column 'categories' (item 'c'): a category is blank; 1 item affected", CATEGORIES,
             page=58),
    BadItems("catalogue_separated_by_semicolons", "item;categories\na;x\n",
             "line 1: the columns are separated by semicolons, not by commas: 'item;categories'",
             "separate them by commas"),
    BadItems("catalogue_with_ragged_row", "item,categories\na,x\nb\n",
             "line 3: has 1 values, but the header has 2 columns", RAGGED),
    BadItems("catalogue_of_another_encoding", b"item,categories\na,x\nb,\xe9\n",
             "line 3: byte 0xe9 is not UTF-8", UTF8),
    BadItems("vectors_of_two_lengths", '{"item":1,"v":[1,2]}\n{"item":"x","v":[1]}\n',
             "column 'v' (item 'x'): vectors have different lengths: [1, 2]; 1 item affected",
             VECTOR, file="i.jsonl", settings={"columns": {"vector": "v"}}, page=59),
    BadItems("number_of_vector_missing",
             '{"item":1,"vector":[1,2]}\n{"item":"x","vector":[1,null]}\n',
             "column 'vector' (item 'x'): a number is missing or not finite; 1 item affected",
             VECTOR, file="i.jsonl", page=59),
    BadItems("number_of_vector_is_nan",
             pa.table({"item": [1, 2], "vector": [[1.0], [float("nan")]]}),
             "column 'vector' (item 2): a number is missing or not finite; 1 item affected", VECTOR,
             file="i.parquet"),
    BadItems("vectors_of_fixed_size_missing",
             _bytes(pa.table({"item": ["a", "b"], "vector": FIXED_SIZE})),
             "has a column of fixed-size lists of which some are missing", None, file="i.parquet"),
    BadItems("key_of_catalogue_twice", '{"item":1,"price":2,"price":3}\n',
             "line 1: has a duplicate key", LINE, file="i.jsonl"),
    BadItems("categories_of_two_kinds",
             '{"item":1,"categories":["x"]}\n{"item":"2","categories":"y|z"}\n',
             "column 'categories': has values of different kinds: list of text, text",
             "write values of one kind in all lines", file="i.jsonl"),
    BadItems("categories_are_numbers", pa.table({"item": [1], "categories": [3]}),
             "column 'categories': is of type Int64", CATEGORIES, file="i.parquet", page=59),
    *(BadItems(f"title_of_type_{name}", pa.table({"item": ["a"], "title": [title]}),
               "column 'title': is of type ", None, file="i.parquet")
      for name, title in (("list", ["a"]), ("binary", b"a"), ("struct", {"a": 1}))),
    BadItems("mapped_categories_missing", "item,genre\na,x\n",
             "column 'genres': is missing; the columns are: item, genre",
             "change `background.items.columns`", settings={"columns": {"categories": "genres"}}),
    BadItems("catalogue_as_trec_file", "u Q0 a 1 2 x\n",
             "is a TREC file, which has no such columns",
             "give it as parquet, arrow, csv, tsv or jsonl", file="i.run"),
    BadItems("ids_of_catalogue_are_lists", '{"item": ["1", "2"], "categories": ["a", "b"]}\n',
             "line 1, column 'item': '[\"1\",\"2\"]' is neither text nor a 64-bit integer", None,
             file="i.jsonl"),
    BadItems("catalogue_truncated", _bytes(pa.table({"item": [1], "title": ["x"]}))[:-9],
             "is damaged or incomplete", None, file="i.parquet"),
    BadTrain("time_is_a_word", "user,item,time\na,b,2020-01-01\na,c,soon\n",
             "line 3, column 'time' (user 'a', item 'c'): 'soon' is neither a number nor a time"
             " such as 2026-05-30 08:10; 1 row affected",
             PLAIN.replace("models.m", "background.train"),
             settings={"columns": {"time": "time"}}),
    BadTrain("ids_of_train_blank", "user,item\na,\n ,b\n",
             ("line 3, column 'user' (user ' ', item 'b'): is blank; 1 row affected",
              "line 2, column 'item' (user 'a', item ''): is blank; 1 row affected"), MISSING_ID),
]  # fmt: skip
BAD_INPUTS = [
    *FILES, *COLUMNS, *JSON, *VALUES, *_ids_with_unseen_ends(), *RANKS, *SHAPES, *FOLDERS, *TRUTH,
    *BACKGROUND,
]  # fmt: skip
