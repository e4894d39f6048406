"""The command `concord`: help, version, completion and errors of the command line."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from concord.pipeline.commands import completion
from concord.pipeline.commands.cli import build_parser, parse
from concord.pipeline.commands.registry import COMMANDS, FIRST, GROUPS
from tests.project import ROOT, attempt, run


def test_installed_program_without_arguments_prints_help() -> None:
    program = str(Path(sys.executable).parent / "concord")
    done = subprocess.run([program], capture_output=True, text=True, cwd=ROOT, check=True)

    assert "usage: concord" in done.stdout


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys, pipeline.commands.cli; print({'polars', 'duckdb', 'mlflow', 'pydantic'} "
        "& set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True
    )

    assert done.stdout == "set()\n"


def test_metrics_and_presets_are_listed() -> None:
    assert "nDCG@k" in run(ROOT, "concord", "metrics")
    assert "bellei" in run(ROOT, "concord", "presets")
    assert "retrieved_at_k" in run(ROOT, "concord", "presets", "bellei")


def test_error_of_an_unknown_command_lists_all_commands() -> None:
    first, _, more = run(ROOT, "concord").partition("COMMAND\n")[2].partition("more commands:\n")
    listed = [line.split()[0] for line in first.splitlines() if line]
    listed += [name for line in more.splitlines() for name in line.partition(": ")[2].split(", ")]

    refused = attempt(ROOT, "concord", "xyz").stderr
    assert refused.endswith(f"fix: known: {', '.join(sorted(listed))}\n")
    assert {"diff", "leaderboard", "stage", "validate"} <= set(listed)


def test_every_command_is_in_one_group_of_the_help() -> None:
    names = [*FIRST, *(name for group in GROUPS.values() for name in group)]
    modules = {path.stem for path in (ROOT / "pipeline/commands").glob("*.py")}

    assert len(names) == len({*names})
    assert {name.replace("-", "_") for name in names} == modules - {
        "__init__",
        "cli",
        "parser",
        "registry",
    }


def test_help_all_has_a_line_for_each_command() -> None:
    listed = run(ROOT, "concord", "help", "all").partition("COMMAND\n")[2].splitlines()

    assert [line.split()[0] for line in listed] == [*COMMANDS]
    assert all(COMMANDS[line.split()[0]].HELP in line for line in listed)


def test_help_of_a_command_is_that_of_its_option() -> None:
    assert run(ROOT, "concord", "help", "gate") == run(ROOT, "concord", "gate", "--help")
    assert "'gatte' is not a command" in attempt(ROOT, "concord", "help", "gatte").stderr


def test_the_version_is_that_of_the_distribution() -> None:
    assert run(ROOT, "concord", "--version") == f"concord {version('concord-eval')}\n"


UNKNOWN_FIX = (
    "choose one of `concord metrics` or docs/reference/metrics; `compare_values` compares scores "
    "of other tools, such as Ragas"
)


@pytest.mark.parametrize(
    ("arguments", "problem", "fix"),
    [
        ("valdate", "'valdate' is not a command", "did you mean 'validate'?"),
        ("Explain", "'Explain' is not a command", "did you mean 'explain'?"),
        ("pin", "`concord pin` needs preset", "write `concord pin preset`"),
        ("stage", "`concord stage` needs NAME", "write `concord stage NAME [MODEL]`"),
        ("stage evalute als", "'evalute' is not a stage", "did you mean 'evaluate'?"),
        ("stage report als", "stage report takes no argument", "run `concord stage report`"),
        ("metrics P@5", "`concord metrics` does not know P@5", "write `concord metrics`"),
        ("diff HEAD --metr P@5", "`concord diff` has no option --metr", "did you mean '--metric'?"),
        ("--quet", "`concord` has no option --quet", "did you mean '--quiet'?"),
        (
            "leaderboard --metric",
            "`concord leaderboard` argument --metric: expected one argument",
            "write `concord leaderboard [--metric LABEL]`",
        ),
        ("presets belei", "'belei' is not a preset", "did you mean 'bellei'?"),
        (
            "presets diff standard",
            "`presets diff standard` is not a valid command",
            "use `concord presets`, `concord presets NAME` or `concord presets diff A B`",
        ),
        (
            "explain u1 P@5 --model nobody",
            "'nobody' is not among the models",
            "name one of: popularity, item-knn, ease, ease-recent, als",
        ),
        (
            "explain u1 recal@20 --model als",
            "metric 'recal@20': 'recal' is unknown; did you mean 'R@20'?",
            UNKNOWN_FIX,
        ),
        (
            "reconcile 0.3 --metric mapp@10 --model als",
            "metric 'mapp@10': 'mapp' is unknown; did you mean 'AP@10'?",
            UNKNOWN_FIX,
        ),
    ],
)
def test_error_of_an_invalid_command_line_has_the_usage(
    arguments: str, problem: str, fix: str
) -> None:
    done = attempt(ROOT, "concord", *arguments.split())

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"command line: {problem}\n  fix: {fix}\n"


@pytest.mark.parametrize(
    ("arguments", "flags"),
    [
        ("validate", []),
        ("-q validate", ["--quiet"]),
        ("validate -v", ["--verbose"]),
        ("-q validate -v", ["--quiet", "--verbose"]),
        ("--debug -q stage report --log-json", ["--debug", "--quiet", "--log-json"]),
    ],
)
def test_flags_before_and_after_a_command_add_up(arguments: str, flags: list[str]) -> None:
    assert parse(arguments.split()).output_flags == flags


@pytest.mark.parametrize("more", [("--truth", "a.csv"), ("--model", "a=b.csv")])
def test_upgrade_refuses_tables(more: tuple[str, str], tmp_path: Path) -> None:
    done = attempt(tmp_path, "concord", "init", "--upgrade", *more)

    assert done.returncode == 2
    assert done.stderr.startswith("command line: --upgrade keeps the tables of params.yaml")


def test_fix_outside_a_project_names_the_folder(tmp_path: Path) -> None:
    done = attempt(tmp_path, "concord", "explain", "u1", "P@5", "--model", "als")

    assert done.returncode == 2
    assert done.stderr == (
        "params.yaml: there is no such file in this folder\n"
        "  fix: run where Concord's params.yaml is; `concord init` writes it\n"
    )


TAB = """source {script}
COMP_WORDS=({line}) COMP_CWORD={last}
_shtab_concord concord "${{COMP_WORDS[-1]}}" "${{COMP_WORDS[-2]}}"
printf '%s\\n' "${{COMPREPLY[@]}}" | sort
"""


def _script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    completion.run(build_parser().parse_args(["completion", shell]))
    return capsys.readouterr().out


def test_bash_completes_commands_options_words_and_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "concord.sh"
    script.write_text(_script("bash", capsys), encoding="utf-8")
    (tmp_path / "study.yaml").touch()
    run(tmp_path, "bash", "-n", str(script))

    for line, words in {
        "concord st": ["stage", "study"],
        "concord stage load-": ["load-background", "load-truth"],
        "concord explain u1 AP@5 --v": ["--verbose", "--versus"],
        "concord explain u1 AP@5 --versus recpa": ["recpack", "recpack_calibrated"],
        "concord presets diff standard bel": ["bellei"],
        "concord split all.parquet --how l": ["leave-last-out"],
        "concord study stu": ["study.yaml"],
    }.items():
        tab = TAB.format(script=script, line=line, last=line.count(" "))
        assert run(tmp_path, "bash", "--norc", "-c", tab).split() == words


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "leaderboard" in _script(shell, capsys)
