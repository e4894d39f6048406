"""No query reads another file, loads an extension or unlocks the connection."""

import ast
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import duckdb
import polars as pl
import pytest
from duckdb import DuckDBPyConnection

from concord.metrics_core.data.relations import connect, in_memory
from concord.pipeline.running.connections import isolated_connection
from tests.project import ROOT

PACKAGES = ("metrics_core", "pipeline", "reports", "docs")
FORBIDDEN = {
    "a file": "SELECT content FROM read_text('/etc/hostname')",
    "a file by its name": "SELECT * FROM '../secret.csv'",
    "a file as CSV": "SELECT * FROM read_csv('/etc/hostname')",
    "a way up": "SELECT content FROM read_text('../secret.txt')",
    "a folder": "SELECT * FROM glob('/etc/*')",
    "another database": "ATTACH 'other.db'",
    "writing a file": "COPY (SELECT 1) TO 'out.csv'",
    "writing all": "EXPORT DATABASE 'out'",
    "installing": "INSTALL httpfs",
    "installing from elsewhere": "INSTALL h3 FROM community",
    "loading": "LOAD httpfs",
    "loading a file": "LOAD './own.duckdb_extension'",
    "the network": "SELECT * FROM read_csv('https://localhost/a.csv')",
    "an object store": "SELECT * FROM read_parquet('s3://bucket/a.parquet')",
    "a setting": "SET threads = 1",
    "access": "SET enable_external_access = true",
    "the lock": "RESET lock_configuration",
    "the paths": "SET allowed_paths = ['/etc/hostname']",
    "a pragma": "PRAGMA memory_limit = '9GB'",
    "a variable of Python": "SELECT * FROM in_python",
}
# Opening a connection, or using the one that duckdb shares.
OPENING = {"connect", "execute", "sql", "query", "read_parquet", "read_csv", "read_json"}


CONNECTIONS: dict[str, Callable[[], AbstractContextManager[DuckDBPyConnection]]] = {
    "in memory": connect,
    "shared": in_memory,
    "with a file": lambda: connect(reads=[Path("given.parquet")]),
    "workspace": isolated_connection,
}


@pytest.fixture(params=CONNECTIONS)
def locked(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[DuckDBPyConnection]:
    monkeypatch.chdir(tmp_path)
    for name in ("secret.txt", "secret.csv"):
        (tmp_path.parent / name).write_text("secret\n1\n", encoding="utf-8")
    pl.DataFrame({"user": ["a"]}).write_parquet("given.parquet")
    with CONNECTIONS[request.param]() as connection:
        yield connection


@pytest.mark.parametrize("kind", FORBIDDEN)
def test_a_locked_connection_refuses(locked: DuckDBPyConnection, kind: str) -> None:
    in_python = pl.DataFrame({"secret": [1]})
    assert len(in_python) == 1
    with pytest.raises(
        duckdb.Error, match=r"disabled|locked|(secret.csv|in_python) does not exist"
    ):
        locked.execute(FORBIDDEN[kind]).fetchall()
    assert os.listdir() == ["given.parquet"]  # noqa: PTH208


def test_only_the_files_that_were_given_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a1", "given's"):
        pl.DataFrame({"user": [name]}).write_parquet(f"{name}.parquet")
    Path("way.parquet").symlink_to("a1.parquet")
    with connect(reads=[Path("given's.parquet")]) as connection:
        assert connection.read_parquet("given's.parquet").fetchall() == [("given's",)]
        for other in ("a1.parquet", "./*.parquet", str(tmp_path / "a1.parquet"), "way.parquet"):
            with pytest.raises(duckdb.PermissionException):
                connection.read_parquet(other).fetchall()


def test_a_locked_connection_still_spills(tmp_path: Path) -> None:
    few = {"memory_limit": "60MB", "threads": 1, "temp_directory": str(tmp_path)}
    with connect(config=few) as connection:
        rows = (
            "SELECT range AS n, 'x' || range AS text, hash(range) AS order_by FROM range(2000000)"
        )
        connection.execute(f"CREATE TABLE held AS {rows}")
        connection.execute("CREATE TABLE sorted AS SELECT * FROM held ORDER BY order_by")
        assert connection.execute("SELECT count(*) FROM sorted").fetchall() == [(2_000_000,)]
        spilled = connection.execute("SELECT sum(size) > 0 FROM duckdb_temporary_files()")
        assert spilled.fetchall() == [(True,)]


def test_nothing_opens_duckdb_but_the_locked_module() -> None:
    results = {
        f"{file.relative_to(ROOT)}: duckdb.{node.attr}"
        for package in PACKAGES
        for file in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "duckdb"
        and node.attr in OPENING
    }
    assert results == {"metrics_core/data/relations.py: duckdb.connect"}


def test_uses_of_the_shared_database_see_nothing_of_each_other() -> None:
    with in_memory() as one, in_memory() as other:
        one.execute("CREATE TABLE lists AS SELECT 1 AS user")
        one.register("given", pl.DataFrame({"user": [1]}).to_arrow())
        for name in ("lists", "given"):
            with pytest.raises(duckdb.CatalogException, match=f"{name} does not exist"):
                other.execute(f"SELECT * FROM {name}")
        other.execute("CREATE TABLE lists AS SELECT 2 AS user")
        assert one.execute("SELECT user FROM lists").fetchall() == [(1,)]


def test_a_use_that_fails_leaves_nothing() -> None:
    def schemas(connection: DuckDBPyConnection) -> set[str]:
        result = connection.execute("SELECT schema_name FROM duckdb_schemas() WHERE NOT internal")
        return {name for (name,) in result.fetchall()}

    with in_memory() as connection:
        before = schemas(connection)
    with pytest.raises(duckdb.CatalogException), in_memory() as connection:
        connection.execute("CREATE TABLE lists AS SELECT 1 AS user; SELECT * FROM truth")
    with in_memory() as connection:
        assert len(schemas(connection)) == len(before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_has_a_database_of_its_own() -> None:
    with in_memory() as connection:
        connection.execute("SELECT 1").fetchall()
    child = os.fork()
    if not child:
        with in_memory() as connection:
            os._exit(connection.execute("SELECT 7").fetchall()[0][0])
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
