"""Stage `load@<model>`: a model's file as it was left -> lists in rank order, and what was found in it."""

from pathlib import Path

from duckdb import DuckDBPyConnection

from metrics_core.ranking import Ranked, rank_all
from metrics_core.row_checks import ListsError
from pipeline.checks import InputError, Problem
from pipeline.loading.input_file import InputFile
from pipeline.loading.list_checks import list_checks, sound_rows, value_problems
from pipeline.loading.policies import settle_lists
from pipeline.loading.quality import describe_lists, in_numbers
from pipeline.loading.sorted_parquet import write_query
from pipeline.loading.sources import Source, format_of, input_path, read_source
from pipeline.loading.workspace import workspace
from pipeline.outputs import prepare, write_json
from pipeline.params import Params, read_params
from pipeline.running.unchanged import unchanged
from pipeline.stage import model_argument, run


def main() -> str:
    params = read_params()
    model = model_argument(params)
    prepare(params.results, params.results.lists, params.results.quality)
    with workspace() as connection:
        return load(connection, params, model)


def load(connection: DuckDBPyConnection, params: Params, model: str) -> str:
    """Write a model's ranked lists and its quality file, on refusal neither; says what was read."""
    file = lists_file(params, model)
    kept = params.input.empty_lists == "keep"
    with unchanged(file.path):
        source = read_source(connection, file, rank_base=params.input.rank_base, may_be_empty=kept)
        changed = settle_lists(connection, source, params.input)
        ranked = _ranked(connection, source, params, params.models[model].order)
        known = describe_lists(connection, source, ranked, params.pinned, changed)
    quality = {"model": model} | known
    lists = Path(params.results.lists) / f"{model}.parquet"
    write_query(connection, f"SELECT * FROM {ranked.relation}", lists)
    write_json(Path(params.results.quality) / f"{model}.json", quality)
    return in_numbers(quality)


def lists_file(params: Params, model: str) -> InputFile:
    key, entry = f"models.{model}", params.models[model]
    path = input_path(key, entry.path, allow_outside=params.input.allow_outside)
    form = format_of(key, path, entry.format)
    columns = {str(ours): theirs for ours, theirs in entry.columns.items()}
    return InputFile(key, path, form, ("user", "item"), ("rank", "score"), columns)


def _ranked(
    connection: DuckDBPyConnection, source: Source, params: Params, order: str | None
) -> Ranked:
    """The ranked lists; every problem of the file is collected before it is refused."""
    nan_last = params.input.nan_score == "last"
    checks = list_checks(source, nan_last=nan_last)
    problems = value_problems(connection, source, checks)
    try:
        ranked = rank_all(
            connection,
            sound_rows(checks) if problems else "source",
            params.pinned.rankings,
            has_rank="rank" in source.columns,
            has_score="score" in source.columns,
            order=order,
            rank_base=params.input.rank_base,
            nan_last=nan_last,
            into="ranked",
            place=source.raw.place,
        )
    except ListsError as error:
        path = source.file.path
        problems += [Problem(f"{path}: {where}", what, fix) for where, what, fix in error.problems]
    if problems:
        raise InputError(problems)
    return ranked


if __name__ == "__main__":
    run(main)
