"""Start and end of `concord compare` and `concord evaluate`: progress, imports, last messages."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import ROOT, attempt_process

_WITH_MODULES = """
import sys
from concord.pipeline.commands.cli import main
from concord.pipeline.running import messages, stage

heavy = {"polars", "duckdb", "pyarrow", "numpy"}
unused = {"pandas", "pydantic", "ruamel", "yaml", "jinja2", "dvc", "mlflow", "scipy.stats"}
unused |= {"concord.pipeline.params.model", sys.argv[1]}

class Recorded(messages.Progress):
    def __enter__(self):
        print(self.line(), heavy & {*sys.modules}, file=sys.stderr)
        return super().__enter__()

messages.Progress = Recorded
stage.end_process = lambda code: print(sorted(unused & {*sys.modules}), file=sys.stderr)
main(sys.argv[2:])
"""


@pytest.mark.parametrize(
    ("command", "unused", "title"),
    [
        ("compare popularity.csv item-knn.parquet als.run.gz", "", "compare 3 files …"),
        ("evaluate als.run.gz", "concord.metrics_core.comparison.compare", "evaluate 1 file …"),
    ],
)
def test_progress_is_shown_before_slow_imports_and_no_unused_module_is_imported(
    command: str, unused: str, title: str
) -> None:
    words = [*command.split(), "--truth", "truth.parquet", "-q"]
    done = subprocess.run(
        [sys.executable, "-c", _WITH_MODULES, unused, *words],
        cwd=ROOT / "data/demo",
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stderr == f"{title} set()\n[]\n"


def test_an_error_is_the_last_line_of_the_process(tmp_path: Path) -> None:
    (tmp_path / "lists.csv").write_text("user,item\na,b\na,c\nb,c\n", encoding="utf-8")
    (tmp_path / "truth.csv").write_text("user,item\na,b\nb,c\n", encoding="utf-8")

    command = ("concord", "evaluate", "lists.csv", "--truth", "truth.csv")
    done = attempt_process(tmp_path, *command)

    assert done.returncode == 2
    assert "leaked" not in done.stderr
