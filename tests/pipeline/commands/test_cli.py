"""The command `concord`, as a stranger runs it."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.project import ROOT, attempt

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
        ("leaderbord", "did you mean 'leaderboard'?"),
    ],
)
def test_an_unknown_command_is_refused_with_what_may_be_meant(word: str, fix: str) -> None:
    done = _run(word)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"command line: {word!r} is not a command\n  fix: {fix}\n"


def test_all_commands_are_named_where_none_may_be_meant() -> None:
    listed = [line.split()[0] for line in _run().stdout.partition("COMMAND\n")[2].splitlines()]

    assert _run("xyz").stderr.endswith(f"fix: known: {', '.join(sorted(listed))}\n")
    assert {"diff", "leaderboard", "stage", "validate"} <= set(listed)


def test_the_version_is_that_of_the_distribution() -> None:
    done = _run("--version")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"concord {version('concord-eval')}\n"


@pytest.mark.parametrize(
    ("arguments", "what", "fix"),
    [
        (("pin",), "`concord pin` needs preset", "write `concord pin preset`"),
        (("stage",), "`concord stage` needs NAME", "write `concord stage NAME [MODEL]`"),
        (("stage", "evalute", "als"), "'evalute' is not a stage", "did you mean 'evaluate'?"),
        (("stage", "report", "als"), "stage report takes no 'als'", "run `concord stage report`"),
        (("metrics", "P@5"), "`concord metrics` does not know P@5", "write `concord metrics`"),
        (("diff", "HEAD", "--metrc", "P@5"), "`concord diff` has no option --metrc", "did you mean '--metric'?"),
        (("diff", "HEAD", "--metr", "P@5"), "`concord diff` has no option --metr", "did you mean '--metric'?"),
        (("--quet",), "`concord` has no option --quet", "did you mean '--quiet'?"),
        (("leaderboard", "--metric"), "`concord leaderboard` argument --metric: expected one argument",
         "write `concord leaderboard [--metric LABEL]`"),
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_refused_with_how_it_is_written(
    arguments: tuple[str, ...], what: str, fix: str
) -> None:
    done = _run(*arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"command line: {what}\n  fix: {fix}\n"


@pytest.mark.parametrize(
    ("text", "label"),
    [("recall@20", "R@20"), ("map@10", "AP@10"), ("hr@10", "Hit@10"), ("mrr", "RR"), ("ndcg@5", "nDCG@5")],
)  # fmt: skip
@pytest.mark.parametrize("command", [("explain", "u1"), ("reconcile", "0.3", "--metric")])
def test_a_metric_as_people_write_it_is_told_the_label(
    command: tuple[str, ...], text: str, label: str
) -> None:
    done = _run(*command, text, "--model", "als")

    assert done.returncode == 2
    assert f"did you mean {label!r}?" in done.stderr


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


@pytest.mark.parametrize("more", [("--truth", "a.csv"), ("--model", "a=b.csv")])
def test_upgrade_takes_no_tables(more: tuple[str, str], tmp_path: Path) -> None:
    done = attempt(tmp_path, "concord", "init", "--upgrade", *more)

    assert done.returncode == 2
    assert done.stderr.startswith("command line: --upgrade keeps the tables that params.yaml names")


def test_outside_a_project_it_says_where_to_run(tmp_path: Path) -> None:
    done = _run("explain", "u1", "P@5", "--model", "als", cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr == (
        "params.yaml: there is no such file in this folder\n"
        "  fix: run where Concord's dvc.yaml and params.yaml are; `concord init` writes both\n"
    )
