"""Read and check the grades of people and of a judge, and measure how they agree."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from concord.metrics_core.analyses.ppi.estimates import LabelValues
from concord.metrics_core.analyses.ppi.prediction_powered import MIN_SAMPLED, weighted_kappa
from concord.metrics_core.analyses.ppi.result import JudgeAgreement
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.data.input_table import PREDICTED, InputTable, words_of_table
from concord.metrics_core.data.policies import Policies
from concord.metrics_core.data.relations import registered_only
from concord.metrics_core.data.side_data import read_truth
from concord.metrics_core.data.tables import read_frame
from concord.metrics_core.errors import Problem, refuse
from concord.metrics_core.evaluation.model_result import ModelResult
from concord.metrics_core.metrics.label import Label, is_pooled

_PAIR = ("user", "item")


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


def refuse_sample(sample: str | None, location: str) -> None:
    """Raise an InputError unless the sample is declared as random."""
    if sample != "random":
        problem = f"is {sample!r}, and only a random sample of queries corrects the judge's errors"
        fix = (
            "set it to 'random' if the queries that people judged were drawn at random from all "
            "queries; estimates from chosen queries are biased, whatever the judge"
        )
        raise refuse(location, problem, fix)


def refuse_several(tables: object, location: str) -> None:
    """Raise an InputError if there are several tables of judgements."""
    if isinstance(tables, list | tuple) and tables:
        problem = "names several tables of judgements, and prediction-powered estimates read one"
        fix = "write all grades into one table, with those of people in the column `grade`"
        raise refuse(location, problem, fix)


def unsupported_problems(config: ComparisonConfig) -> Iterator[Problem]:
    """Yield what prediction-powered estimates do not cover."""
    conventions, settings = config.conventions, config.settings
    if config.replicates:
        yield Problem("models", "have replicates", "name one list of each model")
    for name in ("unit_mean", "propensity"):
        if getattr(conventions, name) is not None:
            yield Problem(("conventions", name), "is set", "leave it out: queries count equally")
    for label in config.labels:
        if why := unsupported_reason(label, conventions):
            location = settings.location(*settings.metrics)
            yield Problem(location, f"{label} {why}", "leave it out; `compare` computes it")


def unsupported_reason(label: Label, conventions: Conventions) -> str:
    """Return why a label has no prediction-powered estimate; empty if it has one."""
    if label.metric.reads_subtopics:
        return "reads subtopics, and grades of a judge have none"
    if label.metric.family == "beyond" or is_pooled(label, conventions):
        return "is not a mean of values that depend on the grades of a query"
    return ""


def judged_depth(labels: list[Label], conventions: Conventions) -> int | None:
    """Return the rank up to which the labels read lists; None if one reads whole lists."""
    depths = [label.depth(conventions) for label in labels]
    return None if None in depths else max(depths)  # type: ignore[type-var]


def refuse_size(n_sampled: int, n_others: int) -> None:
    """Raise an InputError if there are too few sampled queries, or too few others."""
    if n_sampled < MIN_SAMPLED:
        problem = f"people judged only {n_sampled} of the queries"
        raise refuse("truth", problem, "let people judge a random sample of 20 queries or more")
    if n_others < 2:  # noqa: PLR2004 - a variance needs two
        problem = f"people judged {'all queries' if not n_others else 'all queries but one'}"
        raise refuse("truth", problem, "use `compare` with the grades of people alone")


def refuse_gaps(
    results: Mapping[str, ModelResult], labels: JudgeLabels, config: ComparisonConfig
) -> None:
    """Raise an InputError if the judge, or people in a sampled query, left out a document."""
    metrics, conventions = config.labels, config.conventions
    depth = judged_depth(metrics, conventions)
    as_text = [pl.col(name).cast(pl.String) for name in _PAIR]
    people, judge = (frame.select(as_text) for frame in (labels.people, labels.judge))
    places = "all documents" if depth is None else f"the first {depth} documents"
    for model, result in results.items():
        lists = read_frame(result.lists).drop_nulls("item")  # a copy is a miss without a grade
        lists = lists.with_columns(as_text).sort("user", "rank", "item")
        top = lists if depth is None else lists.filter(pl.col("rank") <= depth)
        sampled = top.join(people, on="user", how="semi")
        for who, queries, listed, graded in (
            ("the judge", "query", top, judge),
            ("people", "sampled query", sampled, people),
        ):
            ungraded = listed.join(graded, on=_PAIR, how="anti", maintain_order="left")
            if n := len(ungraded):
                query, document, rank = ungraded.select(*_PAIR, "rank").row(0)
                problem = (
                    f"query {query!r} is judged in part: {who} did not grade document "
                    f"{document!r} (rank {rank} of {model}); {n:,} such documents in all"
                )
                fix = f"let {who} grade {places} of every model for each {queries}"
                if depth is None:
                    whole = next(each for each in metrics if each.depth(conventions) is None)
                    problem += f". {whole} reads whole lists"
                    other = f"write {whole}@10" if whole.metric.takes_k else f"leave out {whole}"
                    if whole.k is not None:
                        value = {"RR": "rr_cutoff to k", "nDCG": "ideal to retrieved_at_k"}
                        other = f"set conventions.{value[whole.name]}"
                    fix = f"{other}, or {fix}"
                raise refuse("truth", problem, fix)


def refuse_low_predictions(
    labels: JudgeLabels, conventions: Conventions, truth: InputTable
) -> None:
    """Raise an InputError if no grade of the judge reaches the relevance threshold."""
    least = conventions.relevance_threshold
    highest: Any = labels.judge["grade"].max()
    if least is not None and highest < least:
        problem = (
            f"is at most {highest:g}, and the relevance threshold is {least:g}: no document is "
            "relevant to the judge"
        )
        fix = (
            "put the judge's grades on the scale of people, such as 1 for a probability of 0.5 "
            f"or more, or name their column: {truth.settings.of_table('columns', PREDICTED)}"
        )
        raise refuse(truth.location(PREDICTED), problem, fix)


def refuse_undefined(
    results: Mapping[str, ModelResult], values: LabelValues, queries: pl.Series
) -> None:
    """Raise an InputError if a sampled query has no value by people, or a query without a list."""
    label, conventions = values.label, values.label.conventions(values.config.conventions)
    for model, result in results.items():
        users = read_frame(result.lists)["user"].cast(pl.String).unique()
        is_listed = queries.is_in(users.implode()).to_numpy()
        undefined = np.isnan(values.judge[model]) & ~is_listed
        undefined[values.is_sampled] |= np.isnan(values.people[model])
        if undefined.any():
            first = int(np.argmax(undefined))
            has_list = is_listed[first]
            why = "by the grades of people" if has_list else f"because {model} has no list for it"
            problem = (
                f"{label} of query {queries[first]!r} is undefined {why}; "
                f"{np.count_nonzero(undefined):,} such queries in all"
            )
            cases = ["user_empty_truth"] if has_list else ["user_no_recs", "user_both_empty"]
            names = [case for case in cases if getattr(conventions, case) in ("drop", "nan")]
            fix = f"set {' and '.join(names or ['undefined'])} to zero, so that all queries count"
            raise refuse("conventions", problem, fix)


def judge_agreement(people: pl.DataFrame) -> JudgeAgreement:
    """Return how far grades of people and of the judge agree."""
    grades = people["grade"].to_numpy(), people["predicted"].to_numpy()
    counts = people.group_by("grade", "predicted").len().sort("grade", "predicted")
    return JudgeAgreement(
        n_documents=len(people),
        kappa=weighted_kappa(*grades),
        equal=float((grades[0] == grades[1]).mean()),
        confusion=tuple(counts.rows()),
    )
