"""`concord cases`: output, page and errors."""

from dataclasses import replace
from pathlib import Path

import pytest

from concord.metrics_core.analyses.cases.cases import ExampleSelection
from concord.pipeline.commands import cases as command
from concord.pipeline.commands.cli import build_parser
from concord.pipeline.params.model import Params
from concord.pipeline.stages.evaluations import load_cases
from tests.pipeline.refusals import refusal_of
from tests.pipeline.stages.compare_project import params_of, write_evaluation


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    params = params_of(tmp_path, ["als", "ease"], metrics=["R", "RR", "Coverage"], ks=[2])
    write_evaluation(
        params, "als", {"R@2": [0.0, 1.0, 0.5], "RR@2": [1.0, 0.0, 0.0], "Coverage@2": [1.0] * 3}
    )
    write_evaluation(
        params, "ease", {"R@2": [1.0, 1.0, 1.0], "RR@2": [0.5, 0.5, 0.0], "Coverage@2": [1.0] * 3}
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setattr("concord.pipeline.dvc.current_results.warn_if_stale", lambda _: None)
    monkeypatch.setattr("concord.pipeline.params.read.read_params", lambda **_: params)
    return params


def run_cases(*arguments: str) -> None:
    command.run(build_parser().parse_args(["cases", *arguments]))


def test_terminal_and_page_show_the_same_cases(
    params: Params, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = replace(params.comparison_config, primary=["RR@2", "R@2"])
    expected = load_cases(params, config, ExampleSelection(("als", "ease"), 1, item="i2"))

    run_cases(
        "als",
        "--versus",
        "ease",
        "--worst",
        "1",
        "--metric",
        "RR@2",
        "--item",
        "i2",
        "--html",
        "page.html",
    )

    assert (tmp_path / "page.html").read_text(encoding="utf-8") == expected.to_html()
    output = " ".join(capsys.readouterr().out.split())
    for text in (
        "1 of 3 users have a lower RR@2 with als than with ease",
        "1 a higher one, 1 the same",
        "Only users with item i2 in the ground truth or in a list",
        "1. user 1: RR@2 \N{MINUS SIGN}0.500",
        "als 0.000 hit at 1; RR = 1 / 1",
        "i1 1 1 1",
        "1 \N{BLACK CIRCLE} i1",
        "wrote page.html",
    ):
        assert text in output


@pytest.mark.parametrize(
    ("arguments", "where", "kind"),
    [
        (("alz", "--versus", "ease"), "MODEL", "did you mean 'als'?"),
        (("als", "--versus", "als"), "--versus", "is the model itself"),
        (("als", "--versus", "ease", "--worst", "0"), "--worst", "write a whole number above 0"),
        (("als", "--versus", "ease", "--segment", "a=b"), "--segment", "add some to `segments`"),
        (("als", "--versus", "ease", "--metric", "Coverage@2"), "--metric", "one number over all"),
        (("als", "--versus", "ease", "--html", "lists"), "--html", "is a folder"),
        (
            ("als", "--versus", "ease", "--html", "lists/als.parquet"),
            "--html",
            "is not a file that this command writes",
        ),
    ],
)
@pytest.mark.usefixtures("params")
def test_error_names_the_argument(arguments: tuple[str, ...], where: str, kind: str) -> None:
    message = refusal_of(lambda: run_cases(*arguments))

    assert message.startswith(f"command line: {where}: ")
    assert kind in message
