"""Valid input files, with the rows and the quality that a stage writes.

`test_read.py` reads each of them with the stages of the pipeline.
"""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import polars as pl
import pyarrow as pa
from polars._typing import IpcCompression

from tests.inputs.inputs import Input

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, kw_only=True)
class GoodInput(Input):
    """A table that is read.

    Attributes
    ----------
    rows : list of tuple
        Rows that the stage writes: user, item, rank [, score], or grades of ground truth. NaN is
        None.
    quality : mapping
        Keys and values that the quality file must have.
    behaviour : str
        Text for docs/reference/robustness.md.
    """

    rows: Rows = field(kw_only=False)
    quality: Mapping[str, Any] = field(default_factory=dict)
    behaviour: str = ""


Good = partial(GoodInput, file="a.csv")
GoodRun = partial(GoodInput, file="a.run")
GoodByQuery = partial(GoodInput, file="a.json")
GoodJson = partial(GoodInput, file="a.jsonl")
GoodParquet = partial(GoodInput, file="a.parquet")
GoodArrow = partial(GoodInput, file="a.arrow")
GoodParts = partial(GoodInput, file="p")
GoodTruth = partial(Good, table="truth")
GoodItems = partial(GoodInput, file="i.csv", table="items")
GoodUsers = partial(GoodInput, file="u.csv", table="users")
GoodTrain = partial(GoodInput, file="t.csv", table="train")

LISTS = "user,item,rank\n"
SCORED = "user,item,score\n"
RANKED = "user,item,rank,score\n"
GRADED = "user,item,grade\n"
SHARED: dict[str, Any] = {"shared": {"user": "reader", "item": "book"}}
AB: Rows = [("u", "a", 1), ("u", "b", 2)]
SCORED_AB: Rows = [("u", "a", 1, 2.5), ("u", "b", 2, 1.5)]
EACH_ONE: Rows = [(2, 2, 1), (9, 9, 1), (10, 10, 1)]
BY_NAME = "columns recognised by their names: `"
NUMBER = "1 row: user ids such as '1.0' are read as '1'"
NOT_FLOATS = ("-0.0", "007.0", "1.10", "1234567890123456.0", "python 3.0", "v1.0")
ALS = {"user": "userId", "item": "movieId", "score": "rating"}
SPARK_ALS = pa.table({"userId": pa.array([1, 2], pa.int32()), "recommendations": pa.array(
    [[{"movieId": 5, "rating": 0.5}, {"movieId": 6, "rating": 0.25}],
     [{"movieId": 5, "rating": 0.5}]],
    pa.list_(pa.struct({"movieId": pa.int32(), "rating": pa.float32()})))})  # fmt: skip
BY_UUID = UUID("0f8fad5b-d9cb-469f-a165-70867728950e")
UUID_BYTES = pa.array([BY_UUID.bytes], pa.binary(16))
LONG = "a" * 9_000_000


def _parts(*names: str) -> dict[str, pa.Table]:
    """Two rows a part, whose user is the name of the last folder or of the part."""
    return {
        f"p/{name}": pa.table({"user": [str(n)] * 2, "item": ["a", "b"], "score": [2.0, 1.0]})
        for n, name in enumerate(names)
    }


def _keyed(*keys: str) -> dict[str, pa.Table]:
    part = pa.table({"item": ["a"], "score": [1.0]})
    return {f"p/date=2026-11-22/user={key}/part.parquet": part for key in keys}


def _by_polars(compression: IpcCompression, path: Path) -> None:
    """Write text as a view, which is what polars writes unless it is told otherwise."""
    rows = {"user": ["u", "u"], "item": ["b", "a"], "score": [1.5, 2.5]}
    pl.DataFrame(rows).write_ipc(path, compression=compression)


TEXT = [
    Good("ids_of_text_files_stay_as_written", f"{LISTS}007,1e3,1\n7,+5,1\n",
         [("007", "1e3", 1), ("7", "+5", 1)], quality={"user_type": "text", "item_type": "text"},
         page=29, behaviour="text: 007 is not 7"),
    Good("byte_order_mark_and_windows_line_ends", "\ufeffuser,item,rank\r\nu,a,1\r\nu,b,2\r\n", AB,
         page=12, behaviour="ignored"),
    Good("windows_line_ends_in_tsv", "user\titem\trank\r\nu\ta\t1\r\nu\tb\t2\r\n", AB,
         file="a.tsv"),
    Good("windows_line_ends_in_quotes", f'{LISTS}"u","a",1\n"u","b",2\n'.replace("\n", "\r\n"), AB),
    GoodJson("windows_line_ends_in_json_lines",
             '{"user": "u", "items": ["a"]}\r\n{"user": "v", "items": ["b"]}\r\n',
             [("u", "a", 1), ("v", "b", 1)]),
    GoodByQuery("windows_line_ends_in_json", '{"u": {"a": 2.5,\r\n "b": 1.5}}\r\n', SCORED_AB),
    GoodTruth("windows_line_ends_in_judgements", "u 0 x 2\r\n", [("u", "x", 2.0)],
              file="a.qrels"),
    GoodRun("byte_order_mark_in_trec", "\ufeffu Q0 a 1 2.5 x\r\nu Q0 b 2 1.5 x\r\n\r\n", SCORED_AB),
    GoodRun("trec_of_three_columns_with_blanks", "u a  1\nu b 2\n", AB),
    GoodRun("trec_aligned_with_blanks", "u   Q0\ta 1 2.5 x\n  u Q0 b  2 1.5 x \n", SCORED_AB),
    Good("quoted_values", f'{LISTS}"a,b","say ""hi""",1\n', [("a,b", 'say "hi"', 1)]),
    Good("other_columns_are_ignored", "when,uid,sku,pos,user\n1,u,a,1,x\n2,u,b,2,x\n", AB,
         settings={"columns": {"user": "uid", "item": "sku", "rank": "pos"}}),
    Good("scores_are_not_read", f"{LISTS[:-1]},score\nu,a,1,1\nu,b,2,2\n", AB,
         settings={"columns": {"score": None}}),
    Good("ids_with_blanks_and_ranks", f"{LISTS}u,[Director's cut],1\nu,12 34,2\n",
         [("u", "[Director's cut]", 1), ("u", "12 34", 2)]),
    Good("ids_in_brackets_and_ranks", f"{LISTS}u,['x'],1\n", [("u", "['x']", 1)]),
    GoodTruth("ids_in_brackets", "user,item\nu,[Director's cut]\n",
              [("u", "[Director's cut]", 1.0)]),
    GoodTruth("ids_with_blanks", "user,item\nu,12 34\n", [("u", "12 34", 1.0)]),
    Good("ids_with_blanks_in_file_order", "user,item\nu,12 34\n", [("u", "12 34", 1)],
         settings={"order": "file"}),
    Good("shared_names_of_columns", "reader,book,rank\nu,a,1\nu,b,2\n", AB, settings=SHARED),
    GoodTruth("shared_names_of_columns_of_truth", "reader,book\nu,x\n", [("u", "x", 1.0)],
              settings=SHARED),
    Good("own_name_precedes_shared_name", "reader,book,id,rank\nu,x,a,1\n", AB[:1],
         settings=SHARED | {"columns": {"item": "id"}}),
    GoodRun("trec_ignores_shared_names", "u Q0 a 1 2.5 m\n", SCORED_AB[:1], settings=SHARED),
    GoodRun("trec_of_lists_by_role", "u Q0 a 1 2.5 m\n", SCORED_AB[:1], file="a.trec"),
    GoodTruth("trec_of_judgements_by_role", "u 0 x 2\n", [("u", "x", 2.0)], file="a.trec"),
    GoodTruth("trec_of_train_by_role", "u 0 x 2\n", [("u", "x")], table="train", file="a.trec"),
    GoodTruth("qrels_in_tsv", "u\tQ0\tx\t2\n", [("u", "x", 2.0)], file="a.tsv",
              settings={"format": "trec"}),
    GoodRun("run_of_three_columns", "u\tb\t2\nu\ta\t1\n", AB, file="a.tsv",
            settings={"format": "trec"}, quality={"order": "rank"}),
    GoodRun("run_of_three_columns_from_rank_0", "u\ta\t0\nu\tb\t1\n", AB, file="a.trec",
            policies={"rank_base": 0}),
    GoodByQuery("json_by_query", '{"u": {"b": 1.5,\n "a": 2.5}}', SCORED_AB,
                settings=SHARED, quality={"order": "score"}),
    GoodByQuery("json_by_query_of_lists", '\ufeff{"u": ["a", "b"], "v": []}', AB),
    GoodByQuery("predictions_of_mteb",
                '{"mteb_model_meta": {"revision": null}, "default": {"test": '
                '{"u": {"a": 2.5, "b": 1.5}}}}', SCORED_AB),
    GoodByQuery("json_by_query_of_truth", '{"u": {"b": true, "a": 2}}',
                [("u", "a", 2.0), ("u", "b", 1.0)], table="truth"),
    GoodByQuery("json_by_query_of_truth_without_grades", '{"u": ["b", "a"]}',
                [("u", "a", 1.0), ("u", "b", 1.0)], table="truth"),
    GoodTruth("pooled_items_have_no_grade", f"{GRADED}u,a,1\nu,p,-1\n",
              [("u", "a", 1.0), ("u", "p", -1.0)], policies={"negative_grade": "pooled"},
              quality={"grades": {"1": 1}}),
    GoodTruth("header_of_beir", "query-id\tcorpus-id\tscore\nu\ta\t2\n", [("u", "a", 2.0)],
              file="a.tsv", quality={"notes": [f"{BY_NAME}user: query-id, item: corpus-id, "
                                               "grade: score`"]}),
    GoodTruth("names_of_search", "query_id,query,doc_id,relevance,iteration\nu,x,a,2,0\n",
              [("u", "a", 2.0)],
              quality={"notes": [f"{BY_NAME}user: query_id, item: doc_id, grade: relevance`"]}),
    Good("names_of_search_in_lists", "qid,docid,docno,rank,score,query\nu,7,a,1,2.5,x\n",
         SCORED_AB[:1], quality={"notes": [f"{BY_NAME}user: qid, item: docno`"]}),
    Good("own_names_precede_those_of_search", "qid,docno,user,item,rank\nx,x,u,a,1\n", AB[:1]),
    GoodJson("names_of_search_in_jsonl", '{"qid": "u", "pid": 7, "score": 2.5}\n',
             [("u", "7", 1, 2.5)], quality={"notes": [f"{BY_NAME}user: qid, item: pid`"]}),
    GoodParquet("names_of_search_and_named_users",
                pa.table({"QueryID": ["u"], "session": ["x"], "doc_id": ["a"], "rank": [1]}),
                AB[:1], settings={"columns": {"user": "QueryID"}},
                quality={"notes": [f"{BY_NAME}item: doc_id`"]}),
    GoodInput("format_is_given", "u Q0 a 1 2.5 x\n", SCORED_AB[:1], file="a.txt",
              settings={"format": "trec"}),
    GoodInput("wildcard_in_name_of_file",
              {"a1.csv": f"{LISTS}x,x,1\n", "a[1].csv": f"{LISTS}u,a,1\n"}, AB[:1],
              file="a[1].csv", page=44, behaviour="only the named file is read"),
    GoodInput("sql_in_name_of_file", f"{LISTS}u,a,1\n", AB[:1],
              file="a'); DROP TABLE source; --.csv"),
    GoodInput("gzip_of_several_members",
              gzip.compress(f"{LISTS}u,a,1\n".encode()) + gzip.compress(b"u,b,2\n"), AB,
              file="a.csv.gz"),
    GoodRun("trec_row_of_many_megabytes", f"u 0 {LONG} 1 2 m\nu 0 b 2 1 m\n",
            [("u", LONG, 1, 2.0), ("u", "b", 2, 1.0)]),
    GoodJson("integers_in_json_become_text",
             '{"user": 7, "items": [3, "03", 18446744073709551615]}\n',
             [("7", "3", 1), ("7", "03", 2), ("7", "18446744073709551615", 3)]),
    GoodJson("keys_of_json_are_mapped", '{"u\'1": 1, "re\\"cs": ["a", "b"], "w": [2, 1]}\n',
             [("1", "a", 1, 2.0), ("1", "b", 2, 1.0)],
             settings={"columns": {"user": "u'1", "item": 're"cs', "score": "w"}}),
    GoodJson("keys_of_flat_json_are_mapped", '{"uid": "u", "item": "a", "pos": 1}\n', AB[:1],
             settings={"columns": {"user": "uid", "rank": "pos"}}),
    GoodJson("escaped_key_is_that_key",
             '{"user": "u", "\\u0069tems": ["a"]}\n{"\\u0075ser": "v", "items": ["b"]}\n',
             [("u", "a", 1), ("v", "b", 1)]),
    GoodJson("nested_lists_have_no_rank_base", '{"user": "u", "items": ["a", "b"]}\n', AB,
             policies={"rank_base": 0}),
]  # fmt: skip

IDS = [
    *(GoodParquet(f"{kind}_ids_become_integers",
                  pa.table({"user": ids, "item": ids, "rank": [1, 1, 1]}), EACH_ONE,
                  quality={"user_type": "integer"}, page=30,
                  behaviour="whole floats are read as integers")
      for kind in ("int8", "uint16", "uint64", "float32", "float64")
      for ids in [np.array([2, 10, 9], kind)]),
    *(GoodArrow(f"{kind}_ids_and_scores",
                pa.table(dict.fromkeys(("user", "item", "score"), np.array([7, 8], kind))),
                [(7, 7, 1, 7.0), (8, 8, 1, 8.0)])
      for kind in ("float16", "float32", "float64")),
    *(GoodParquet(f"highest_id_of_{kind}", pa.table({"user": np.array([2**power - 1], kind),
                                                     "item": ["a"], "score": [1.0]}),
                  [(2**power - 1, "a", 1, 1.0)])
      for kind, power in (("float16", 11), ("float32", 24), ("float64", 53))),
    *(GoodArrow(f"arrow_file_of_polars_{compression}", partial(_by_polars, compression),
                SCORED_AB, quality={"format": "arrow", "rows": 2})
      for compression in ("uncompressed", "lz4", "zstd")),
    *(GoodArrow(f"text_as_{kind}_by_{index}",
                pa.table({"user": pa.DictionaryArray.from_arrays(
                    pa.array([0, 1, 0], index), pa.array(["u", "v"], kind)),
                    "item": pa.array(["a", "b", "c"], kind), "score": [2.0, 1.0, 1.0]}),
                [("u", "a", 1, 2.0), ("u", "c", 2, 1.0), ("v", "b", 1, 1.0)])
      for kind in (pa.string(), pa.large_string(), pa.string_view())
      for index in (pa.int8(), pa.uint32(), pa.int64())),
    *(GoodParquet(f"uuid_as_{name}", pa.table({"user": ids, "item": ["a"], "score": [1.0]}),
                  [(str(BY_UUID), "a", 1, 1.0)])
      for name, ids in (
          ("uuid", pa.ExtensionArray.from_storage(pa.uuid(), UUID_BYTES)),
          ("16_bytes", UUID_BYTES),
      )),
    Good("whole_floats_among_ids", f"{LISTS}1.0,a,1\n2,a,1\n",
         [("1", "a", 1), ("2", "a", 1)], quality={"notes": [NUMBER]}, page=65,
         behaviour="read as 1, with a warning"),
    GoodJson("whole_floats_in_json",
             '{"user": 1.0, "items": ["a"]}\n{"user": "2", "items": ["a"]}\n',
             [("1", "a", 1), ("2", "a", 1)], quality={"notes": [NUMBER]}),
    GoodParquet("whole_floats_as_text_in_parquet",
                pa.table({"user": ["1.0", "v2", "-3.0", "0.0"], "item": ["a"] * 4,
                          "rank": [1] * 4}),
                [("-3", "a", 1), ("0", "a", 1), ("1", "a", 1), ("v2", "a", 1)],
                quality={"notes": [NUMBER.replace("1 row", "3 rows")]}),
    Good("texts_that_no_float_writes",
         LISTS + "".join(f"{id_},a,1\n" for id_ in NOT_FLOATS),
         [(id_, "a", 1) for id_ in NOT_FLOATS]),
    Good("unseen_inside_id", f"{LISTS}x\u200cy,a,1\na b,a,1\n",
         [("a b", "a", 1), ("x\u200cy", "a", 1)]),
    GoodTruth("whole_floats_in_truth", "user,item\n1.0,5\n2,6.0\n",
              [("1", "5", 1.0), ("2", "6", 1.0)]),
]  # fmt: skip

NUMBERS = [
    *(GoodInput(f"score_{score}_in_{name}", content, [("u", "a", 1, score)], file=f"a.{name}")
      for score in (2.0**53, 0.12345678901234568, 2.0**53 + 2, 1.7e18)
      for name, content in (
          ("csv", f"{SCORED}u,a,{score!r}\n"),
          ("jsonl", f'{{"user":"u","item":"a","score":{score!r}}}\n'),
          ("ndjson", f'{{"user":"u","item":"a","score":"{score!r}"}}\n'),
      )),
    GoodParquet("decimal_score", pa.table({"user": ["u"], "item": ["a"], "score": pa.array(
        [0.1235]).cast(pa.decimal128(38, 4))}), [("u", "a", 1, 0.1235)]),
    GoodTruth("grade_has_fraction", f"{GRADED}u,a,0.5\n", [("u", "a", 0.5)], page=49,
              behaviour="kept"),
    *(GoodInput(f"grades_true_and_false_in_{name}", content, [("u", "a", 1.0), ("u", "b", 0.0)],
                file=f"a.{name}", table="truth", page=64, behaviour="true and false are 1 and 0")
      for name, content in (
          ("csv", f"{GRADED}u,a,True\nu,b,False\n"),
          ("jsonl", '{"user":"u","items":["a","b"],"grades":[true,false]}\n'),
          ("parquet", pa.table({"user": ["u", "u"], "item": ["a", "b"], "grade": [True, False]})),
      )),
    GoodTruth("truth_without_grades", "user,item\nu,b\nu,a\n", [("u", "a", 1.0), ("u", "b", 1.0)],
              quality={"grades": {"1": 2},
                       "notes": ["there is no column 'grade': every row has grade 1"]}),
    *(GoodInput(f"time_in_{unit}", pa.table({"user": ["u"], "item": ["a"], "time": pa.array(
        [1_700_000_000], pa.timestamp("s")).cast(pa.timestamp(unit, "Europe/Berlin"))}),
                [("u", "a", 1.0, 1.7e9)], file="a.arrow", table="truth",
                settings={"columns": {"time": "time"}})
      for unit in ("s", "ms", "us", "ns")),
]  # fmt: skip

RANKING = [
    *(Good(f"ties_{ties}", f"{SCORED}u,10,0.5\nu,9,0.5\nu,é,0.5\nu,z,0.7\n",
           [("u", item, rank, 0.7 if item == "z" else 0.5) for rank, item in enumerate(items, 1)],
           conventions={"ties": ties}, page=24, behaviour="`conventions.ties` decides")
      for ties, items in (("input", ["z", "10", "9", "é"]), ("item_asc", ["z", "10", "9", "é"]),
                          ("item_desc", ["z", "é", "9", "10"]), ("given", ["10", "9", "é", "z"]))),
    GoodParquet("tied_integers_are_compared_as_numbers",
                pa.table({"user": [1, 1], "item": [10, 9], "score": [0.5, 0.5]}),
                [(1, 9, 1, 0.5), (1, 10, 2, 0.5)],
                quality={"ties": {"rows": 2, "users": 1, "policy": "item_asc"}}),
    Good("minus_zero_ties_with_zero", f"{SCORED}u,b,0.0\nu,a,-0.0\n",
         [("u", "a", 1, 0.0), ("u", "b", 2, 0.0)]),
    *(Good(f"ties_in_{dtype}", f"{SCORED}u,b,0.10000000001\nu,a,0.1\n", rows,
           conventions={"score_dtype": dtype})
      for dtype, rows in (
          ("float64", [("u", "b", 1, 0.10000000001), ("u", "a", 2, 0.1)]),
          ("float32", [("u", "a", 1, 0.1), ("u", "b", 2, 0.10000000001)]))),
    *(Good(f"duplicates_{policy}", f"{LISTS}u,a,1\nu,b,2\nu,a,3\nu,c,4\nv,a,1\n", rows,
           conventions={"duplicates": policy},
           quality={"duplicates": {"rows": 1, "users": 1, "policy": policy}, "notes": [
               "1 row of 1 user repeat an item of the same list; "
               f"`duplicates: {policy}` was applied"]},
           page=14, behaviour="`conventions.duplicates` decides, an error by default")
      for policy, rows in (
          ("keep", [*AB, ("u", "a", 3), ("u", "c", 4), ("v", "a", 1)]),
          ("first", [*AB, ("u", None, 3), ("u", "c", 4), ("v", "a", 1)]),
          ("drop", [*AB, ("u", "c", 3), ("v", "a", 1)]))),
    Good("best_copy_is_the_first", f"{SCORED}u,a,1\nu,b,2\nu,a,3\n",
         [("u", "a", 1, 3.0), ("u", "b", 2, 2.0)], conventions={"duplicates": "drop"}),
    Good("ranks_and_scores_disagree", f"{RANKED}u,a,1,1\nu,b,2,inf\nv,a,1,1\n",
         [("u", "a", 1, 1.0), ("u", "b", 2, float("inf")), ("v", "a", 1, 1.0)],
         quality={"rank_score_disagreements": {"users": 1}, "infinite_scores": 1, "notes": [
             "ranks and scores disagree in the lists of 1 user; the ranks decided",
             "1 infinite score"]}, page=18,
         behaviour="ranks decide; the report counts the users"),
    Good("score_is_infinite", f"{SCORED}u,a,inf\n", [("u", "a", 1, float("inf"))],
         quality={"infinite_scores": 1}, page=21, behaviour="kept and counted"),
    *(Good(f"order_{order}", f"{RANKED}u,a,2,1\nu,b,1,2\nu,c,3,3\n",
           [("u", item, rank, float("abc".index(item) + 1)) for rank, item in enumerate(items, 1)],
           settings={"order": order} if order else {}, page=19 if order == "file" else None,
           behaviour="`order: file` uses the order of the rows")
      for order, items in ((None, "bac"), ("score", "cba"), ("file", "abc"))),
    Good("ranks_from_0", f"{LISTS}u,b,1\nu,a,0\n", AB, policies={"rank_base": 0}, page=17,
         behaviour="`input.rank_base: 0` reads them"),
]  # fmt: skip

POLICIES = [
    Good("nan_scores_last", f"{SCORED}u,a,nan\nu,b,-5\nu,c,1\nv,a,NaN\nv,b,0\n",
         [("u", "c", 1, 1.0), ("u", "b", 2, -5.0), ("u", "a", 3, None), ("v", "b", 1, 0.0),
          ("v", "a", 2, None)], policies={"nan_score": "last"},
         quality={"nan_score": {"rows": 2, "users": 2, "policy": "last"},
                  "notes": [
                      "2 rows of 2 users: NaN as score; `input.nan_score: last` was applied"]},
         page=20, behaviour="`input.nan_score: last` ranks it last"),
    Good("nan_is_below_minus_infinity_and_ties_with_nothing",
         f"{SCORED}u,z,1\nu,b,-inf\nu,a,nan\nu,c,nan\n",
         [("u", "z", 1, 1.0), ("u", "b", 2, -float("inf")), ("u", "a", 3, None),
          ("u", "c", 4, None)],
         policies={"nan_score": "last"}, conventions={"ties": "error"},
         quality={"infinite_scores": 1, "ties": {"rows": 0, "users": 0, "policy": "error"}}),
    Good("policy_that_changes_nothing", f"{SCORED}u,a,2\nu,b,1\n",
         [("u", "a", 1, 2.0), ("u", "b", 2, 1.0)], policies={"nan_score": "last"},
         quality={"nan_score": {"rows": 0, "users": 0, "policy": "last"}, "notes": []}),
    *(GoodTruth(f"negative_grade_{policy}", f"{GRADED}u,a,1\nu,b,-2\n", rows,
                policies={"negative_grade": policy},
                quality={"negative_grade": {"rows": 1, "users": 1, "policy": policy}, "rows": 2},
                page=48, behaviour="`input.negative_grade: zero`, `unjudged` or `pooled` decides")
      for policy, rows in (("zero", [("u", "a", 1.0), ("u", "b", 0.0)]),
                           ("unjudged", [("u", "a", 1.0)]),
                           ("pooled", [("u", "a", 1.0), ("u", "b", -2.0)]))),
    *(GoodTruth(f"repeated_grade_{policy}", f"{GRADED}u,a,1\nu,b,-2\nu,a,3\nv,a,2\nv,a,1\n",
                [("u", "a", grade), ("v", "a", 2.0)],
                policies={"repeated_grade": policy, "negative_grade": "unjudged"},
                quality={"repeated_grade": {"rows": 2, "users": 2, "policy": policy}},
                page=47, behaviour="`input.repeated_grade: first` or `highest` decides")
      for policy, grade in (("first", 1.0), ("highest", 3.0))),
    GoodTruth("repeated_row_without_grade", "user,item\nu,a\nu,a\n", [("u", "a", 1.0)],
              policies={"repeated_grade": "highest"}, quality={"grades": {"1": 1}}),
    Good("empty_lists_kept", LISTS, [], policies={"empty_lists": "keep"}),
]  # fmt: skip

SHAPES = [
    *(GoodParquet(f"rows_of_{name}",
                  pa.table({"user": [7, 8, 9], "items": pa.array([["b", "a"], [], ["a"]], kind)}),
                  [(7, "b", 1), (7, "a", 2), (9, "a", 1)], page=43,
                  behaviour="columns `items`, `scores`, `ranks` and `grades` are read")
      for name, kind in (
          ("lists", pa.list_(pa.string())), ("large_lists", pa.large_list(pa.large_string())),
          ("lists_of_categories", pa.list_(pa.dictionary(pa.int8(), pa.string()))))),
    *(GoodArrow(f"rows_of_{name}",
                pa.table({"user": [9, 8, 7], "items": pa.array([["a"], [], ["b", "a"]], kind)}),
                [(7, "b", 1), (7, "a", 2), (9, "a", 1)])
      for name, kind in (("list_views", pa.list_view(pa.string())),
                         ("large_list_views", pa.large_list_view(pa.string())))),
    GoodParquet("lists_of_scores_and_ranks", pa.table({"user": ["u"], "items": [["b", "a"]],
                                                       "scores": [[1.5, 2.5]], "ranks": [[2, 1]]}),
                SCORED_AB),
    GoodParquet("truth_of_lists", pa.table({"user": ["u", "v"], "items": [["b", "a"], ["c"]],
                                            "grades": [[1, 3], [2]]}),
                [("u", "a", 3.0), ("u", "b", 1.0), ("v", "c", 2.0)], table="truth"),
    GoodJson("lists_of_structs_in_jsonl",
             '{"u":"v","recs":[]}\n{"u":"u","recs":[{"doc":"b","s":1.5},{"doc":"a","s":2.5}]}\n',
             SCORED_AB, settings={"columns": {"user": "u", "item": "doc", "score": "s"}}),
    GoodParquet("numbered_columns_beside_lists_of_structs",
                pa.table({"user": ["u"], "f_1": [1], "f_2": [2],
                          "recs": [[{"item": "a", "score": 2.5}, {"item": "b", "score": 1.5}]]}),
                SCORED_AB),
    GoodParquet("names_of_search_in_lists_of_structs",
                pa.table({"qid": ["u"], "run": [[{"docid": "b", "score": 1.5},
                                                 {"docid": "a", "score": 2.5}]]}),
                SCORED_AB, quality={"notes": [f"{BY_NAME}user: qid, item: docid`"]}),
    GoodParquet("lists_of_spark_als", SPARK_ALS, [(1, 5, 1, 0.5), (1, 6, 2, 0.25), (2, 5, 1, 0.5)],
                settings={"columns": ALS}, page=43,
                behaviour="lists of structs are read; `columns` names their fields"),
]  # fmt: skip

FOLDERS = [
    GoodParts("parts_in_folders_of_folders",
              _parts("part-0.parquet", "2026/part-1.parquet", "2026/11/part-2.parquet")
              | dict.fromkeys(("p/_SUCCESS", "p/.part-0.parquet.crc", "p/2026/_SUCCESS"), ""),
              [(str(n), item, rank, 3.0 - rank)
               for n in range(3) for rank, item in ((1, "a"), (2, "b"))],
              quality={"rows": 6}, page=60,
              behaviour="all parts are read in the order of their paths"),
    GoodParts("parts_in_the_order_of_their_names",
              {"p/1.parquet": pa.table({"user": ["u"], "item": ["b"]}),
               "p/0.parquet": pa.table({"user": ["u"], "item": ["a"]})}, AB,
              settings={"order": "file"}),
    GoodParts("truth_in_folders_of_folders",
              {f"p/{'more/' * n}part.parquet": pa.table({"user": [n], "item": [1], "grade": [1]})
               for n in range(3)}, [(n, 1, 1.0) for n in range(3)], table="truth"),
    *(GoodParts(f"keys_of_partitions_{'_'.join(keys)}", _keyed(*keys),
                [(user, "a", 1, 1.0) for user in users], page=60,
                behaviour="partition keys (`user=1/`) are columns")
      for keys, users in (
          (["1", "12"], [1, 12]), (["1", "a%20b"], ["1", "a b"]), (["007"], ["007"]))),
    GoodParts("column_of_part_precedes_key", _parts("user=9/part.parquet"),
              [("0", "a", 1, 2.0), ("0", "b", 2, 1.0)]),
    GoodParts("parts_of_types_of_different_widths",
              {"p/0.parquet": pa.table({"user": pa.array([0], pa.int32()), "item": pa.array(
                  ["a"]).dictionary_encode(), "score": pa.array([0.5], pa.float32())}),
               "p/1.parquet": pa.table({"user": [1], "item": ["a"], "score": [0.5]}),
               "p/2.parquet": pa.table(dict.fromkeys(("user", "item", "score"), pa.nulls(0)))},
              [(0, "a", 1, 0.5), (1, "a", 1, 0.5)]),
]  # fmt: skip

BACKGROUND = [
    GoodItems("empty_categories_are_missing", 'item,categories\na,x|y\nb,\n\nc,"x\ny"\n',
              [("a", ["x", "y"]), ("b", None), ("c", ["x\ny"])], page=58,
              behaviour="a missing category or value is kept as missing"),
    GoodItems("blanks_around_categories", "item,categories\na,Action | Comedy\nb,Comedy \n",
              [("a", ["Action", "Comedy"]), ("b", ["Comedy"])], page=59,
              behaviour="spaces around categories are removed"),
    GoodItems("blanks_around_categories_of_json",
              '{"item": "a", "categories": ["Action", " Comedy"]}\n',
              [("a", ["Action", "Comedy"])], file="i.jsonl"),
    GoodItems("character_in_two_halves", '{"item": "b", "title": "x\\ud83d\\ude00"}\n',
              [("b", "x😀")], file="i.jsonl"),
    GoodItems("vectors_of_fixed_size",
              pa.table({"item": [2, 1],
                        "vector": pa.array([[1, 2], [3, 4]], pa.list_(pa.float32(), 2))}),
              [(1, [3.0, 4.0]), (2, [1.0, 2.0])], file="i.parquet"),
    GoodItems("vector_missing", pa.table({"item": ["a", "b"], "vector": [[1.0, 2.0], None]}),
              [("a", [1.0, 2.0]), ("b", None)], file="i.parquet"),
    *(GoodItems(f"vectors_of_{str(kind).partition('(')[0]}",
                pa.table({"item": ["a", "b"], "vector": pa.ListArray.from_arrays(
                    pa.array([0, 2, 4], pa.int32()),
                    pa.array([1, 0, 0, 2], pa.int64()).cast(kind, safe=False))}),
                [("a", [1.0, 0.0]), ("b", [0.0, 2.0])], file="i.parquet")
      for kind in (pa.float16(), pa.float32(), pa.int8(), pa.decimal128(21, 2))),
    GoodUsers("value_of_user_missing", "user,plan\nu1,a\nu2,\n", [("u1", "a"), ("u2", None)]),
    GoodUsers("columns_without_text_or_numbers",
              pa.table({"user": ["u"], "photo": [b"\xff"], "plan": ["free"]}), [("u", "free")],
              file="u.parquet", quality={"notes": [
                  "left out, as they are neither text nor numbers: 'photo' (binary)"]}),
    GoodTrain("repeated_interactions_keep_first_and_last_time",
              "user,item,time\nu,a,1\nu,a,100\nu,b,5\n",
              [("u", "a", 1.0, 100.0), ("u", "b", 5.0, 5.0)],
              settings={"columns": {"time": "time"}}, quality={"repeated": 1}),
]  # fmt: skip
GOOD_INPUTS = [*TEXT, *IDS, *NUMBERS, *RANKING, *POLICIES, *SHAPES, *FOLDERS, *BACKGROUND]
