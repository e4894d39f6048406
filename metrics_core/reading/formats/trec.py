"""TREC files: `user Q0 item rank score tag` (a run) and `user 0 item grade` (qrels), split at white space."""

import duckdb

from concord.metrics_core.checking.problems import refuse
from concord.metrics_core.reading.columns.input_table import InputTable, Raw, refuse_columns_mapping
from concord.metrics_core.reading.formats.text import read_lines

RUN = {"user": 1, "item": 3, "rank": 4, "score": 5}
QRELS = {"user": 1, "item": 3, "grade": 4}
SHAPES = {
    "grade": (QRELS, 4, "user 0 item grade"),
    "score": (RUN, 6, "user Q0 item rank score tag"),
}


def read_trec(connection: duckdb.DuckDBPyConnection, file: InputTable) -> Raw:
    refuse_columns_mapping(file, "a TREC file")
    if file.unit:
        what = f"a TREC file has no column {next(iter(file.unit.values()))!r}"
        raise refuse(file.name, what, f"write another format, or mend {file.settings.unit()}")
    judged = "grade" in file.fields or ".qrels" in file.path.suffixes
    places, width, shape = SHAPES["grade" if judged else "score"]
    places = {name: place for name, place in places.items() if name in file.fields}
    raw = read_lines(file)
    connection.register("lines", raw.batches)
    columns = ", ".join(f"part[{place}] AS {name}" for name, place in places.items())
    wrong = f"'has ' || len(part) || ' values, not the {width} of `{shape}`'"
    connection.execute(f"""
        CREATE OR REPLACE TEMP VIEW raw AS
        SELECT position, {columns}, CASE WHEN len(part) <> {width} THEN {wrong} END AS line_wrong
        FROM (
            SELECT position,
                CASE WHEN line = trim(line) AND NOT contains(line, '  ') AND NOT contains(line, chr(9))
                    THEN string_split(line, ' ')  -- four times as fast as the expression
                    ELSE string_split_regex(trim(line, ' ' || chr(9)), '\\s+') END AS part
            FROM lines WHERE trim(line, ' ' || chr(9)) <> '')""")
    raw.kinds = dict.fromkeys(places, "text")
    raw.marked = True
    return raw
