"""Ids of tables with different types meet as decimal text."""

from collections.abc import Mapping

from duckdb import DuckDBPyConnection

_IDS = ("user", "item")


def share_id_types(connection: DuckDBPyConnection, relations: Mapping[str, str]) -> None:
    """A view for each relation, {view: relation}; an id column is text in all where their types differ."""
    kinds = {
        relation: {
            name: kind for name, kind, *_ in connection.execute(f"DESCRIBE {relation}").fetchall()
        }
        for relation in relations.values()
    }
    for view, relation in relations.items():
        cast = ", ".join(
            f"CAST({column} AS VARCHAR) AS {column}"
            for column in _IDS
            if column in kinds[relation]
            and len({kind[column] for kind in kinds.values() if column in kind}) > 1
        )
        columns = f"* REPLACE ({cast})" if cast else "*"
        connection.execute(
            f"CREATE OR REPLACE TEMP VIEW {view} AS SELECT {columns} FROM {relation}"
        )
