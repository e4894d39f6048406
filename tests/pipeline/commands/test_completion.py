"""Completion in real shells: bash always, fish where it is installed."""

import shutil
from pathlib import Path

import pytest

from tests.project import ROOT, run

ASK = """eval "$(concord completion bash)"
complete -p concord
COMP_LINE=$1; COMP_POINT=${#1}; _concord concord "" ""
printf '%s\\n' "${COMPREPLY[@]}"
"""
CASES = [
    ("concord leaderb", ["leaderboard"]),
    ("concord -q rec", ["reconcile"]),
    ("concord explain u1 AP@5 --model e", ["ease", "ease-recent"]),
    ("concord explain u1 AP@5 --versus lenskit_", ["lenskit_java", "lenskit_log2"]),
    ("concord explain u1 AP@5 --v", ["--verbose", "--versus"]),
    ("concord cases als --versus it", ["item-knn"]),
    ("concord leaderboard --metric Cov", ["Coverage@10"]),
    ("concord pin rectools_a", ["rectools_achievable"]),
    ("concord presets diff standard bel", ["bellei"]),
    ("concord stage load-background ", ["items", "train", "users"]),
    ("concord stage evaluate al", ["als"]),
    ("concord xyz ", []),
    ("concord diff ", []),
]


def _asked(shell: str, line: str) -> list[str]:
    if shell == "bash":
        return _bash(ROOT, line)
    script = f'concord completion fish | source; complete -C "{line}"'
    return sorted(run(ROOT, "fish", "--no-config", "-c", script).splitlines())


def _bash(project: Path, line: str) -> list[str]:
    told, *words = run(project, "bash", "--norc", "-c", ASK, "bash", line).splitlines()
    assert told == "complete -o default -F _concord concord"
    return [word for word in words if word]


@pytest.mark.parametrize("shell", [each for each in ("bash", "fish") if shutil.which(each)])
@pytest.mark.parametrize(("line", "words"), CASES)
def test_commands_options_models_labels_and_presets_are_completed(
    shell: str, line: str, words: list[str]
) -> None:
    assert _asked(shell, line) == words


@pytest.mark.parametrize(
    ("line", "words"),
    [  # bash breaks words at `@` and `=`, and replaces what stands behind the last of them
        ("concord explain u1 nDCG@1", ["1", "10"]),
        ("concord explain u1 nDCG@", ["1", "10", "20", "3", "5"]),
        ("concord explain u1 P@5 --model=it", ["item-knn"]),
        (r"concord leaderboard --metric RBP\(p=0.8\)@2", ["20"]),
        ("concord leaderboard --metric 'RBP(p=0.8)@2", ["RBP(p=0.8)@20"]),
    ],
)
def test_bash_is_given_what_it_puts_behind_its_own_word_breaks(line: str, words: list[str]) -> None:
    assert _bash(ROOT, line) == words


def test_what_means_something_to_bash_is_escaped() -> None:
    assert r"RBP\(p=0.8\)@20" in _bash(ROOT, "concord leaderboard --metric RB")


def test_without_a_project_it_offers_what_needs_none(tmp_path: Path) -> None:
    assert _bash(tmp_path, "concord explain u1 AP@5 --model ") == []
    assert _bash(tmp_path, "concord pin rectools_a") == ["rectools_achievable"]


INSTALLED = [shell for shell in ("bash", "zsh", "fish") if shutil.which(shell)]


@pytest.mark.parametrize("shell", INSTALLED)
def test_the_shell_finds_no_fault_in_its_script(shell: str) -> None:
    assert run(ROOT, "sh", "-c", f"concord completion {shell} | {shell} -n") == ""


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_shells_that_break_no_words_are_given_whole_ones(shell: str) -> None:
    """What their scripts call: the words of the line, the last one begun."""
    words = run(ROOT, "concord", "completion", shell, "concord", "explain", "u1", "--model", "e")
    labels = run(ROOT, "concord", "completion", shell, "concord", "leaderboard", "--metric", "RBP(p=0.8)@2")  # fmt: skip
    every = run(ROOT, "concord", "completion", shell, "concord", "stage", "")

    assert words == "ease\nease-recent\n"
    assert labels == "RBP(p=0.8)@20\n"
    assert "load-truth\n" in every
