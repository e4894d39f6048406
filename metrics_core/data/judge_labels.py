"""Ground truth with grades of people for some queries, and of a judge for all."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from concord.metrics_core.data.display_words import words_of_table
from concord.metrics_core.data.input_table import PREDICTED, InputTable
from concord.metrics_core.data.policies import Policies
from concord.metrics_core.data.relations import registered_only
from concord.metrics_core.data.side_data import read_truth
from concord.metrics_core.errors import refuse


@dataclass(frozen=True)
class JudgeLabels:
    """Grades of query-document pairs, sorted by query and document.

    Attributes
    ----------
    people : DataFrame
        user, item, grade, predicted: the pairs that people judged. A negative grade, which
        `input.negative_grade` may allow, is no judgement.
    judge : DataFrame
        user, item, grade: all pairs, with the judge's grades.
    words : dict or None
        The words that texts show for user and item; None if they show these.
    """

    people: pl.DataFrame
    judge: pl.DataFrame
    words: Mapping[str, str] | None


def read_judge_labels(table: InputTable, policies: Policies, exclude: str | None) -> JudgeLabels:
    """Read and check a ground truth with the columns `grade`, which may be null, and `predicted`.

    Raises
    ------
    InputError
        If a column is missing, a grade is invalid, or no pair has a grade of a person.
    """
    required = (*table.required, "grade", PREDICTED)
    table = replace(table, required=required, optional=())
    if policies.negative_grade == "unjudged":
        policies = replace(policies, negative_grade="pooled")  # the row has a grade of the judge
    with registered_only() as connection:
        source, _ = read_truth(connection, table, policies, exclude=exclude)
        query = f"SELECT user, item, grade, {PREDICTED} FROM source ORDER BY user, item"
        rows = pl.DataFrame(connection.sql(query).to_arrow_table())
    people = rows.filter(pl.col("grade") >= 0)
    if people.is_empty():
        message = f"{table.original_name('grade')!r} is null in every row: people judged no query"
        raise refuse(table.name, message, "add the grades of people for a random sample of queries")
    judge = rows.select("user", "item", pl.col(PREDICTED).alias("grade"))
    return JudgeLabels(people, judge, words_of_table(source.file))
