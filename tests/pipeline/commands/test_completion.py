"""The scripts of `concord completion`: bash runs its own, the others are made."""

from pathlib import Path

import pytest

from concord.pipeline.commands.completion import print_script
from concord.pipeline.commands.declared import parser_of
from tests.project import run

TAB = """source {script}
COMP_WORDS=({line}) COMP_CWORD={last}
_shtab_concord concord "${{COMP_WORDS[-1]}}" "${{COMP_WORDS[-2]}}"
printf '%s\\n' "${{COMPREPLY[@]}}" | sort
"""


def _script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    print_script(parser_of(lambda _: None), shell)
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
        "concord explain u1 AP@5 --versus lenskit_": ["lenskit_java", "lenskit_log2"],
        "concord presets diff standard bel": ["bellei"],
        "concord split all.parquet --how l": ["leave-last-out"],
        "concord study stu": ["study.yaml"],
    }.items():
        tab = TAB.format(script=script, line=line, last=line.count(" "))
        assert run(tmp_path, "bash", "--norc", "-c", tab).split() == words


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_a_script_too(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "leaderboard" in _script(shell, capsys)
