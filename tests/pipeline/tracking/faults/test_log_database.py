"""The `log` stage on databases that are broken: each is one line that says what is wrong and what to do."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from concord.pipeline.tracking.log import log
from concord.pipeline.tracking.store import TrackingError
from tests.pipeline.tracking.log_project import params_of, start_log

PUT_ASIDE = "put it aside (a new one is made)"
Break = Callable[[Path], None]


def _sql(statement: str) -> Break:
    def change(database: Path) -> None:
        with closing(sqlite3.connect(database)) as connection:
            connection.execute(statement)
            connection.commit()

    return change


def _circle(database: Path) -> None:
    database.unlink()
    other = database.with_name("other.db")
    database.symlink_to(other)
    other.symlink_to(database)


def _folder(database: Path) -> None:
    database.unlink()
    database.mkdir()


def _pipe(database: Path) -> None:
    database.unlink()
    os.mkfifo(database)


def _broken_pages(database: Path) -> None:
    pages = database.read_bytes()
    database.write_bytes(pages[:4096] + bytes(byte ^ 0x5A for byte in pages[4096:]))


def _cut(database: Path) -> None:
    os.truncate(database, database.stat().st_size // 2)


def _text(database: Path) -> None:
    database.write_text("rows, columns and other things that are no database\n")


CASES: dict[str, tuple[Break, str, str]] = {
    "links in a circle": (_circle, "cannot be opened", "no folder and no loop of links"),
    "a folder": (_folder, "cannot be opened", "no folder and no loop of links"),
    "a pipe": (_pipe, "cannot be opened", "no folder and no loop of links"),
    "broken pages": (_broken_pages, "is damaged", PUT_ASIDE),
    "cut off": (_cut, "is damaged", PUT_ASIDE),
    "text": (_text, "is damaged: file is not a database", PUT_ASIDE),
    "no table of runs": (_sql("DROP TABLE runs"), "lacks tables or columns", PUT_ASIDE),
    "no table of metrics": (_sql("DROP TABLE metrics"), "lacks tables or columns", PUT_ASIDE),
    "no table of experiments": (_sql("DROP TABLE experiments"), "lacks tables", PUT_ASIDE),
    "another column": (
        _sql("ALTER TABLE runs RENAME COLUMN status TO state"),
        "lacks tables or columns of MLflow's: (sqlite3.OperationalError) no such column: ",
        PUT_ASIDE,
    ),
    "no version": (
        _sql("DROP TABLE alembic_version"),
        "has the tables of another version of MLflow",
        "`mlflow db upgrade`",
    ),
    "a newer version": (
        _sql("UPDATE alembic_version SET version_num = 'ffffffffffff'"),
        "has the tables of another version of MLflow",
        "install the version that wrote it",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_broken_database_is_named_with_what_to_do(project: Path, name: str) -> None:
    breaks, reason, fix = CASES[name]
    breaks(project / "mlflow.db")
    with pytest.raises(TrackingError) as refused:
        log(params_of(project))

    message = str(refused.value)
    assert message.startswith(f"MLflow at sqlite:///mlflow.db {reason}")
    assert fix in message
    assert "SELECT" not in message
    assert "\n" not in message


def test_what_mlflow_raises_inside_leaves_one_line_on_stderr(project: Path) -> None:
    _sql("DROP TABLE runs")(project / "mlflow.db")
    _, stderr = (stage := start_log(project)).communicate(timeout=100)

    assert stage.returncode == 1
    assert stderr.count("\n") == 1
    assert stderr.startswith("TrackingError: MLflow at sqlite:///mlflow.db lacks tables")


def test_a_deleted_experiment_is_named_with_the_key_to_mend(project: Path) -> None:
    log(params_of(project))
    _sql("UPDATE experiments SET lifecycle_stage = 'deleted' WHERE name = 'demo'")(
        project / "mlflow.db"
    )
    with pytest.raises(TrackingError) as refused:
        log(params_of(project))

    message = str(refused.value)
    assert "has deleted the experiment: experiment 'demo' with the id 1 is deleted" in message
    assert "or name another as mlflow.experiment in params.yaml" in message
    assert "mlflow.tracking_uri" not in message
