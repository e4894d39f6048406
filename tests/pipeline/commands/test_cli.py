"""The command `concord`, as a stranger runs it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import ROOT

CONCORD = str(Path(sys.executable).parent / "concord")


def _run(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [CONCORD, *arguments], capture_output=True, text=True, cwd=cwd, check=False
    )


def test_without_arguments_it_prints_help() -> None:
    done = _run()

    assert done.returncode == 0
    assert "usage: concord" in done.stdout


def test_help_imports_nothing_heavy() -> None:
    script = "import sys, pipeline.commands.cli; print({'polars', 'duckdb', 'mlflow', 'pydantic'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True
    )

    assert done.stdout == "set()\n"


def test_metrics_and_presets_are_listed() -> None:
    assert "nDCG@k" in _run("metrics").stdout
    assert "bellei" in _run("presets").stdout
    assert "retrieved_at_k" in _run("presets", "bellei").stdout


@pytest.mark.parametrize(
    ("word", "fix"),
    [
        ("valdate", "did you mean 'validate'?"),
        ("Explain", "did you mean 'explain'?"),
        ("reconsile", "did you mean 'reconcile'?"),
        (
            "xyz",
            "known: diff, explain, gate, log, mend, metrics, pin, presets, reconcile, stage, validate",
        ),
    ],
)
def test_an_unknown_command_is_refused_with_what_may_be_meant(word: str, fix: str) -> None:
    done = _run(word)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"command line: {word!r} is not a command\n  fix: {fix}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("presets", "belei"),
            "command line: 'belei' is not a preset\n  fix: did you mean 'bellei'?\n",
        ),
        (
            ("explain", "u1", "P@5", "--model", "nobody"),
            "command line: 'nobody' is not among the models\n"
            "  fix: name one of: popularity, item-knn, ease, ease-recent, als\n",
        ),
    ],
)
def test_a_wrong_word_is_refused_with_a_remedy(arguments: tuple[str, ...], message: str) -> None:
    done = _run(*arguments)

    assert (done.returncode, done.stderr) == (2, message)


def test_outside_a_project_it_says_where_to_run(tmp_path: Path) -> None:
    done = _run("explain", "u1", "P@5", "--model", "als", cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr == (
        "params.yaml: there is no such file in this folder\n"
        "  fix: run in the root of the project, where dvc.yaml is\n"
    )
