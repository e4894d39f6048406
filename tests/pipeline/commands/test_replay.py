"""The stage `compare` writes a decision, which the project's files give again."""

from pathlib import Path

import polars as pl

from concord.metrics_core.results.stored import DECISION
from tests.in_process import run_concord
from tests.library import evaluated_project
from tests.metrics_core.decision import decisions
from tests.pipeline.stages.values_project import values_project
from tests.project import run_all_stages, run_stages

PATH = f"results/comparison/{DECISION}"


def exit_codes(project: Path) -> tuple[int, int]:
    """Return the exit codes without and with inputs."""
    ended = [run_concord(project, "replay", PATH, *more) for more in ((), ("--inputs", "."))]
    return ended[0].returncode, ended[1].returncode


def test_the_files_of_a_project_give_its_decision(tmp_path: Path) -> None:
    grades = pl.int_range(pl.len()) % 5 + 1  # a low threshold, whose setting a warning names
    tables = {
        "truth": decisions.truth().with_columns(grade=grades),
        "train": decisions.train(),
        "items": decisions.ITEMS,
        "users": decisions.users(),
        **decisions.MODELS,
    }
    changes = {
        "evaluation.metrics": ["nDCG", "R", "Coverage"],
        "evaluation.ks": [5],
        "comparison.baseline": "old",
        "comparison.primary": ["nDCG@5"],
        "segments": decisions.KINDS["segments"]["segments"],
        "gate": {"guardrails": {"nDCG@5": "2%"}},
    }
    project = evaluated_project(tmp_path, tables, changes, last="compare")
    first = (project / PATH).read_bytes()

    run_stages(project, "compare")

    assert (project / PATH).read_bytes() == first
    assert decisions.MARK.encode() not in first
    assert exit_codes(project) == (3, 0)
    assert '"setting": "' in (project / "results/comparison/comparison.json").read_text()
    (project / "new.parquet").write_bytes((project / "old.parquet").read_bytes())
    assert exit_codes(project) == (3, 1)


def test_values_of_another_tool_are_read_from_their_files(tmp_path: Path) -> None:
    project = values_project(tmp_path)
    run_all_stages(project, last="compare")

    assert exit_codes(project) == (3, 0)
