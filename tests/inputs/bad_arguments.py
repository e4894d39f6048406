"""Invalid arguments of `evaluate`: frames, dicts and options as users pass them.

`test_refused.py` tests each of them. Invalid files are in `bad_inputs.py`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd
import polars as pl

LISTS = pl.DataFrame({"user": ["u", "u", "v"], "item": ["a", "b", "b"], "score": [0.9, 0.5, 0.7]})
TRUTH = pl.DataFrame({"user": ["u", "v"], "item": ["b", "b"], "grade": [1.0, 1.0]})
RATED = TRUTH.rename({"grade": "rating"})


@dataclass(frozen=True)
class BadArgument:
    """Arguments of `evaluate` that differ from valid ones, and a part of the message."""

    id: str
    changes: dict[str, Any]
    message: str


def _columns(**columns: list[Any]) -> pl.DataFrame:
    return pl.DataFrame({"user": ["u"], "item": ["a"], "rank": [1]} | columns)


TABLES = {
    "list": ([1, 2], "recs: list is not a frame, path or dict"),
    "number": (3, "recs: int is not a frame, path or dict"),
    "none": (None, "recs: NoneType is not a frame, path or dict"),
    "polars_series": (pl.Series(["a"]), "recs: Series is not a frame, path or dict"),
    "pandas_series": (pd.Series({"u": ["a"]}), "recs: Series is not a frame, path or dict"),
    "ids_in_the_index": (LISTS.to_pandas().set_index(["user", "item"]),
                         "recs: the index holds 'user' and 'item'"),
    "query_in_the_index": (LISTS.rename({"user": "qid"}).to_pandas().set_index("qid"),
                           "recs: the index holds 'qid'\n  fix: give `frame.reset_index()`"),
    "lists_as_text": (pl.DataFrame({"user": ["u"], "items": ["[1, 2]"]}),
                      "recs: column 'items' holds lists as text: '[1, 2]'"),
    "empty_text": ("", "recs: is an empty path"),
    "content_of_a_file": ("user,item,rank\n" * 300, "is not a valid path: File name too long"),
    "missing_path": ("recs.parquet", "recs.parquet: there is no such file"),
    "home_of_unknown_user": ("~no one/recs.csv", "~no one/recs.csv: there is no such file"),
    "set_as_list": ({"u": {"a", "b"}}, "recs['u']: is a set, which has no order"),
    "text_as_list": ({"u": "abc"}, "recs['u']: is 'abc', which is not a list"),
    "lists_for_some_users_only": ({"u": ["a"], "v": {"b": 1}}, "some users have a list and some"),
    "pairs_of_item_and_score": ({"u": [("a", 0.5)]}, "{item: score}"),
    "fraction_as_id": ({1.5: ["a"]}, "'1.5' is neither text nor a 64-bit integer"),
    "id_beyond_64_bits": ({2**70: ["a"]}, "recs: column 'user': has integers beyond 64 bits"),
    "true_as_id": ({True: ["a"]}, "is of type bool"),
    "bytes_as_ids": ({b"u": [b"a"]}, "is of type binary"),
    "score_beyond_64_bits": ({"u": {"a": 2**70, "b": 1}}, "'score': has integers beyond 64 bits"),
    "item_twice": ({1: [10, 10]}, "occurs more than once"),
    "mixed_objects": (pd.DataFrame({"user": ["u", 1], "item": ["a", "b"], "rank": [1, 1]}),
                      "recs: column 'user': has values that do not fit in one column: int, str"),
    "tuple_as_id": (_columns().with_columns(user=pl.Series([("u", 1)], dtype=pl.Object)),
                    "recs: column 'user': has values that do not fit in one column: tuple"),
    "column_twice": (pd.DataFrame([["u", "a", 1, 2]], columns=["user", "item", "rank", "rank"]),
                     "recs: column 'rank': occurs 2 times"),
    "128_bit_id": (_columns().with_columns(user=pl.lit(2**70, dtype=pl.Int128)),
                   "recs: cannot be read as a table"),
    "no_common_user": ({"w": ["b"]}, "recs: column 'user': no user id occurs in"),
    "id_in_another_unicode_form": ({"e\u0301": ["b"], "u": ["b"]}, "in one Unicode form"),
    "float_that_lost_digits": (
        {"u": ["12345678901234567.0"]},
        "without `.0`: '12345678901234567.0' here, '12345678901234567' there"),
}  # fmt: skip
JUDGED = {"é": ["b"], "u": ["12345678901234567", "b"]}
JUDGEMENTS = {
    "text_as_judgements": ({"u": "abc"}, "truth['u']: is 'abc', which is not a list"),
    "infinite_grade": ({"u": {"a": math.inf}}, "is infinite"),
    "missing_grade": ({"u": {"a": None, "b": 1}}, "is missing"),
    "items_of_two_types": ({1: ["a", 2]}, "has values that do not fit in one column: int, str"),
    "unnamed_grades": (RATED, "`columns={'truth': {'grade': 'rating'}}`"),
    "unnamed_grades_may_be_ignored": (RATED, "`columns={'truth': {'grade': None}}`"),
    "unnamed_grades_by_place": (_columns().select("user", item_1="item", rating_1="rank"),
                                "may hold the grades"),
    "unnamed_grades_in_lists": (_columns(items=[["a"]], ratings=[[0]]).drop("item", "rank"),
                                "may hold the grades"),
    **{f"grades_called_{name}": (TRUTH.rename({"grade": name}), f"{name!r}: may hold the grades")
       for name in ("Grade", "grades", "GRADES", " grade", "Ratings", "weights", "user_rating")},
}  # fmt: skip
OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "policies_as_text": ({"input": "zero"}, "input: 'zero' is not a dict"),
    "unknown_policy": ({"input": {"nan": "last"}}, "input: nan: is not a policy"),
    "unknown_value_of_policy": ({"input": {"nan_score": "first"}}, "choose 'error' | 'last'"),
    "columns_as_text": ({"columns": "zero"}, "columns: is not a dict"),
    "column_as_text": ({"columns": {"recs": "user"}},
                       "columns: 'recs': is 'user', not a dict of column names"),
    "propensity_of_all_tables": ({"columns": {"propensity": "p"}},
                                 "or name a table: {'truth': {'propensity': 'p'}}"),
    "unknown_column_of_all_tables": ({"columns": {"usr": "u"}},
                                     "fix: choose user, item, rank, score, grade, time"),
    "mapped_column_in_the_index": (
        {"recs": LISTS.rename({"user": "kunde"}).to_pandas().set_index("kunde"),
         "columns": {"user": "kunde"}, "truth": TRUTH.rename({"user": "kunde"})},
        "recs: the index holds 'kunde'"),
    "swapped_columns": ({"columns": {"userId": "user"}},
                        "columns: 'userId': is named 'user': are the two swapped?"),
    "swapped_columns_of_a_table": ({"columns": {"truth": {"rating": "grade"}}},
                                   "write {'grade': 'rating'}: Concord's name, then yours"),
    "swapped_columns_of_items": ({"columns": {"items": {"movieId": "item"}}},
                                 "items: 'movieId': is named 'item': are the two swapped?"),
    "columns_of_unknown_table": ({"columns": {"lists": {}}},
                                 "columns: 'lists': is not a table of this call"),
    "unknown_column": ({"columns": {"recs": {"usr": "x"}}},
                       "'usr': is not a column that Concord reads"),
    "column_named_none": ({"columns": {"recs": {"user": None}}}, "None is not a column name"),
    "user_and_item_in_one_column": ({"columns": {"recs": {"user": "item"}}},
                                    "recs: column 'item': is mapped to both 'user' and 'item'"),
    "item_and_grade_in_one_column": ({"columns": {"truth": {"grade": "item"}}},
                                     "truth: column 'item': is mapped to both 'item' and 'grade'"),
    "rank_and_score_in_one_column": ({"recs": _columns(), "columns": {"recs": {"score": "rank"}}},
                                     "recs: column 'rank': is mapped to both 'rank' and 'score'"),
    "unknown_users": ({"only_users": ["zz"]},
                      "users to evaluate: none of them occurs in the recommendations"),
    "no_users": ({"only_users": []},
                 "users to evaluate: none of them occurs in the recommendations"),
    "users_as_text": ({"only_users": "u"}, "users: is 'u', which is not a list"),
    "metrics_as_text": ({"metrics": "RR"}, "metrics: 'RR' is not a list"),
    "no_metrics": ({"metrics": []}, "metrics: there is none"),
    "metrics_none": ({"metrics": None}, "metrics: None is not a list"),
    "metrics_as_number": ({"metrics": 5}, "not a list"),
    "metric_none": ({"metrics": [None]}, "must be a text such as"),
    "several_unknown_metrics": ({"metrics": ["foo", "bar"]}, "'bar'"),
    "conventions_as_number": ({"conventions": 3}, "must be a preset's name, a dict or"),
    "conventions_without_preset": ({"conventions": {"relevance_threshold": 4}},
                                   'add "preset": "standard"'),
    "preset_none": ({"conventions": {"preset": None}}, "preset"),
    "preset_as_list": ({"conventions": {"preset": ["a"]}}, "preset"),
    "convention_as_number": ({"conventions": {1: 2}}, "preset"),
    "pairs_in_train": ({"metrics": ["ARP@1"], "train": {"u": [(9, 8)]}},
                       "(9, 8), which is not an id"),
    "items_not_in_catalogue": (
        {"recs": {"u": ["a", "x", "y"]}, "items": {"a": [], "b": []}, "metrics": ["Coverage@3"]},
        "2 items in 2 rows of 1 user not in items, such as 'x' (user 'u')"),
}  # fmt: skip


def _rows() -> Iterator[BadArgument]:
    for id_, (table, message) in TABLES.items():
        yield BadArgument(id_, {"recs": table, "truth": JUDGED}, message)
    for id_, (table, message) in JUDGEMENTS.items():
        yield BadArgument(id_, {"truth": table}, message)
    for id_, (changes, message) in OPTIONS.items():
        yield BadArgument(id_, changes, message)


BAD_ARGUMENTS = [*_rows()]
