"""The truth as it was left -> the table `source` of judged items, and what was found in it."""

from duckdb import DuckDBPyConnection

from concord.metrics_core.checking.problems import InputError, refuse
from concord.metrics_core.checking.row_checks import only_row
from concord.metrics_core.reading.columns.input_table import InputTable
from concord.metrics_core.reading.formats.source import Source, Watch, read_source, unwatched
from concord.metrics_core.reading.requests import with_hint
from concord.metrics_core.reading.rules.policies import Changed, Policies, settle_truth
from concord.metrics_core.reading.rules.truth_checks import repeated_judgements, truth_checks
from concord.metrics_core.reading.rules.value_checks import sound_rows, value_problems

COLUMNS = (("user", "item"), ("grade", "time", "propensity"))  # must be there, may be there


def read_truth(
    connection: DuckDBPyConnection,
    table: InputTable,
    policies: Policies,
    *,
    may_be_empty: bool = False,
    is_part: bool = False,
    watch: Watch = unwatched,
) -> tuple[Source, Changed]:
    """Read and check judgements into the table `source`; says what the policies of `input` changed.

    is_part : are there other parts of the table, so that nothing may be left of this one?

    Raises
    ------
    InputError : every problem of the table at once
    """
    source = read_source(connection, table, may_be_empty=may_be_empty or is_part, watch=watch)
    checks = truth_checks(source, policies)
    problems = value_problems(connection, source, checks)
    rows = sound_rows(checks) if problems else "source"
    if policies.repeated_grade == "error":
        problems += repeated_judgements(connection, source, rows)
    if problems:
        raise InputError(problems if is_part else with_hint(connection, source, problems))
    changed = settle_truth(connection, source, policies)
    left = is_part or only_row(connection, "SELECT count(*) FROM source")[0]
    if source.rows and not left:
        raise nothing_left(table)
    return source, changed


def nothing_left(table: InputTable) -> InputError:
    """The refusal of a truth all of whose rows the policies take away."""
    what = "has no row that is left: every grade is negative"
    return refuse(table.name, what, f"set {table.settings.input('negative_grade', 'zero')}")
