"""The tables of an audit as views of one connection, ids of one type in all of them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from duckdb import DuckDBPyConnection

from concord.metrics_core.checking.id_types import share_id_types
from concord.metrics_core.checking.relations import Table, files, schema, view
from concord.metrics_core.checking.row_checks import only_row
from concord.metrics_core.comparing.evidence.evaluated import Ground, Models, lists_of


@dataclass(frozen=True)
class Tables:
    """Views `train` (user, item [, time, last]), `truth` (user, item, grade [, time]; of all folds) and maybe `items`.

    timed  : have both train and truth times? Then there is `begins`: user, `began` and `ended` of their truth
    copied : columns of `items` that tell copies
    lists  : name of lists -> their view, and the view of the truth that they were judged by
    """

    connection: DuckDBPyConnection
    timed: bool
    copied: tuple[str, ...]
    lists: Mapping[str, tuple[str, str]]

    @cached_property
    def sizes(self) -> Mapping[str, tuple[int, int]]:
        """Rows and items of `truth` and `train`."""
        counted = "SELECT count(*), count(DISTINCT item) FROM"
        return {name: _two(self.connection, f"{counted} {name}") for name in ("truth", "train")}

    @cached_property
    def users(self) -> int:
        """Of the truth."""
        return int(only_row(self.connection, "SELECT count(DISTINCT user) FROM truth")[0])


def _two(connection: DuckDBPyConnection, query: str) -> tuple[int, int]:
    one, other = only_row(connection, query)
    return one, other


@contextmanager
def opened(models: Models, ground: Ground) -> Iterator[Tables]:
    """The tables, for as long as the block lasts. `ground` has a train."""
    assert ground.train is not None, "refused before"
    truths = dict(ground.folds) or {"": ground.truth}
    number = {fold: f"truth_{n}" for n, fold in enumerate(truths)}
    singles = lists_of(models)
    of_lists = {name: f"lists_{n}" for n, name in enumerate(singles)}
    tables: dict[str, Table] = {"train": ground.train}
    tables |= {number[fold]: truth for fold, truth in truths.items()}
    tables |= {of_lists[name]: single.lists for name, single in singles.items()}
    if ground.items is not None:
        tables["items"] = ground.items
    with ground.connecting(files(tables.values())) as connection:
        for name, table in tables.items():
            view(connection, f"{name}_table", table)
        share_id_types(connection, {name: f"{name}_table" for name in tables})
        every = " UNION ALL BY NAME ".join(f"FROM {name}" for name in number.values())
        connection.execute(f"CREATE TEMP VIEW truth AS {every}")
        timed = all("time" in schema(table) for table in (ground.train, *truths.values()))
        if timed:
            connection.execute(
                "CREATE TEMP TABLE begins AS "
                "SELECT user, min(time) AS began, max(time) AS ended FROM truth GROUP BY user"
            )
        judged_by = {
            name: (of_lists[name], number[single.quality["fold"]] if ground.folds else number[""])
            for name, single in singles.items()
        }
        known = () if ground.items is None else schema(ground.items)
        copied = tuple(name for name in ("title", "vector") if name in known)
        yield Tables(connection, timed, copied, judged_by)
