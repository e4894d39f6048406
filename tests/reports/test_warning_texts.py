"""Texts of warnings: every code has one, and files of older or newer versions can be shown."""

import ast
import string

import pytest

from concord.metrics_core.results.comparison_parts import DataWarning
from concord.reports.text import warnings as texts
from tests.project import ROOT


def _built_codes() -> set[str]:
    """Return the codes of all warnings that the code builds."""
    codes: set[str] = set()
    for file in (ROOT / "metrics_core").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "DataWarning":
                code = node.args[0]
                codes.add(ast.literal_eval(code))
    return codes


def test_every_code_has_a_text_and_every_text_a_code() -> None:
    assert set(texts._TEXTS) == _built_codes()


@pytest.mark.parametrize(
    ("details", "sentence"),
    [({}, "moon_phase"), ({"phase": "full", "users": 3}, "moon_phase: phase full and users 3")],
)
def test_a_code_of_a_newer_version_is_shown_with_its_details(
    details: dict[str, object], sentence: str
) -> None:
    warning = DataWarning("moon_phase", "notice", (), details)

    assert (warning.sentence, warning.fix) == (sentence, "")


def test_a_shown_warning_has_its_sentence_and_what_to_do() -> None:
    details = {"model": "als", "share": 0.25, "k": 10, "unit": "user"}
    shown = repr((DataWarning("short_lists", "notice", ("als",), details),))

    assert "<notice short_lists (als): Lists end before rank 10 for up to 25" in shown
    assert "What to do: write longer lists" in shown
    assert repr(DataWarning("moon_phase", "serious", (), {})) == "<serious moon_phase: moon_phase>"


TEMPLATES = [code for code, text in texts._TEXTS.items() if not callable(text)]


@pytest.mark.parametrize("code", TEMPLATES)
@pytest.mark.parametrize("models", [(), ("als", "ease")])
def test_a_template_has_its_text_for_some_and_for_all_models(
    code: str, models: tuple[str, ...]
) -> None:
    template = texts._TEXTS[code]
    assert not callable(template)
    fields = {
        (name, spec)
        for part in template
        for _, name, spec, _ in string.Formatter().parse(part)
        if name is not None
    }
    details = {name: 0.5 if spec else "text" for name, spec in fields if name != "names"}
    warning = DataWarning(code, "notice", models, details)

    assert not warning.sentence.startswith(code)
    if ("names", "") in fields:
        assert ("als and ease" if models else "all models") in warning.sentence + warning.fix
