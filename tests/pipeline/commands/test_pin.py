"""`concord pin` on copies of the real params.yaml: values change, comments stay."""

from collections.abc import Callable
from pathlib import Path

import pytest

import concord as cc
from concord.metrics_core.conventions.presets import STANDARD
from concord.metrics_core.conventions.registry import CONVENTION
from concord.pipeline.init.edit import pin
from concord.pipeline.params.read import check_params, read_params
from concord.typing import PresetName
from tests.pipeline.refusals import refusal_of
from tests.project import ROOT

REAL = (ROOT / "params.yaml").read_bytes().decode()
PARAMS = Path("params.yaml")
OMITTED = {name for name in STANDARD if CONVENTION[name].omits_default}
Start = Callable[[str], None]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    monkeypatch.chdir(tmp_path)
    return lambda text: write_params_file(text)


def write_params_file(text: str) -> None:
    PARAMS.write_bytes(text.encode())


def params_text() -> str:
    return PARAMS.read_bytes().decode()


def replace_once(before: str, old: str, new: str) -> str:
    assert before.count(old) == 1
    return before.replace(old, new)


def text_around_value(line: str) -> tuple[str, str]:
    """Return the key with its indentation, and the comment with the space before it."""
    key, _, remainder = line.partition(": ")
    value, marker, comment = remainder.partition("#")
    return key, value[len(value.rstrip()) :] + marker + comment


@pytest.mark.parametrize("name", cc.presets())
def test_pin_changes_only_values_and_pinning_back_restores_all_bytes(
    start: Start, name: PresetName, capsys: pytest.CaptureFixture[str]
) -> None:
    start(REAL)

    pin(name)
    output = capsys.readouterr().out

    before, after = REAL.splitlines(keepends=True), params_text().splitlines(keepends=True)
    required = [line for line in after if line.strip().split(":")[0] not in OMITTED]
    assert [text_around_value(line) for line in required] == [
        text_around_value(line) for line in before
    ]
    others = [
        line
        for line in before
        if line.strip().split(":")[0] not in {*STANDARD, "preset", "overrides"}
    ]
    assert [line for line in after if line in others] == others
    params, refusal = check_params()
    assert params is not None
    problems = refusal.problems if refusal else ()  # metrics that the preset rules out
    assert all("evaluation.metrics" in each.where and str(each) in output for each in problems)
    assert ("next: concord run" in output) is (not problems and bool(set(after) - set(before)))
    pinned, conventions = params.parsed_conventions, cc.preset(name)
    actual = {
        convention
        for convention in STANDARD
        if CONVENTION[convention].sets_scale and conventions.preset_values()[convention] is not None
    }
    assert {k: v for k, v in pinned.as_dict().items() if k not in actual} == {
        k: v for k, v in conventions.as_dict().items() if k not in actual
    }
    pin("standard")
    assert params_text() == REAL


def test_conventions_that_files_omit_are_added_in_order(start: Start) -> None:
    start(REAL)

    pin("rectools")

    assert "\n  ild_distance: hamming" in params_text()
    line = params_text().partition("\n  ild_distance:")[2].splitlines()[1]
    assert line == "  ild_one_item: zero # undefined | zero"


def test_comments_quotes_and_lists_of_other_sections_stay(start: Start) -> None:
    text = replace_once(REAL, "  ks: [1, 3, 5, 10, 20]", "  ks:\n    - 1\n    - 5")
    text = replace_once(text, "title: Demo shop", "title: 'Demo shop' # ours")
    start(text)

    pin("wikipedia_exp")

    expected = replace_once(text, "preset: standard", "preset: wikipedia_exp")
    expected = replace_once(expected, "ties: item_asc", "ties: given")
    expected = replace_once(expected, "duplicates: error", "duplicates: keep")
    assert params_text() == replace_once(expected, "gain: linear", "gain: exp2")


def test_empty_values_and_null_are_replaced(start: Start) -> None:
    start(replace_once(REAL, "  round: null #", "  round: #"))

    pin("recbole")

    assert "  round: {mean: 4} # null |" in params_text()
    assert read_params().parsed_conventions.round == {"mean": 4}


def test_grade_scale_stays_unless_the_preset_has_null(start: Start) -> None:
    start(replace_once(REAL, "relevance_threshold: 1", "relevance_threshold: 2"))

    pin("ranx")
    remaining = read_params().parsed_conventions
    pin("ms_recommenders")
    nulled = read_params().parsed_conventions

    assert (remaining.relevance_threshold, remaining.err_max_grade) == (2, 3)
    assert (nulled.relevance_threshold, nulled.err_max_grade) == (None, 3)
    assert "  relevance_threshold: null # lowest grade" in params_text()


def test_null_of_the_project_stays(start: Start) -> None:
    start(replace_once(REAL, "relevance_threshold: 1", "relevance_threshold: null"))

    pin("recbole")

    assert read_params().parsed_conventions.relevance_threshold is None


def test_missing_conventions_are_added_in_order_with_comments(
    start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    without = ("  hlu_norm:", "  ties:", "  overrides:")
    remaining = [line for line in REAL.splitlines(keepends=True) if not line.startswith(without)]
    start("".join(remaining))

    pin("standard")

    assert params_text() == REAL
    required = [name for name in STANDARD if name not in OMITTED]
    assert list(read_params().conventions) == ["preset", *required, "overrides"]
    assert "hlu_norm: (was missing) → ideal" in capsys.readouterr().out


@pytest.mark.parametrize("remainder", ["conventions:\n", ""])
def test_a_section_without_entries_is_filled(start: Start, remainder: str) -> None:
    head, section, tail = REAL.partition("conventions:\n")
    after = tail[tail.index("\nreport:") :]
    start(head + remainder + after)

    pin("standard")

    assert section
    assert read_params().parsed_conventions == cc.preset("standard")
    assert params_text().startswith(head)
    assert after.rstrip() in params_text()


def test_overrides_over_several_lines_are_replaced(start: Start) -> None:
    block = "  overrides: # mine\n    RR:\n      rr_cutoff: none\n\nreport:"
    text = replace_once(REAL, "preset: standard", "preset: custom")
    line = next(line for line in REAL.splitlines() if line.startswith("  overrides:"))
    start(replace_once(text, f"{line}\n\nreport:", block))

    pin("standard")

    assert "  overrides: {} # mine\nreport:" in params_text()
    assert read_params().parsed_conventions.overrides == {}


def test_changes_and_next_step_are_printed(
    start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    start(REAL)

    pin("recohut_method0")

    assert capsys.readouterr().out == (
        "preset: standard → recohut_method0\n"
        "ties: item_asc → given\n"
        "duplicates: error → keep\n"
        "discount: {log: 2} → {jk: 2}\n"
        "ideal: truth_at_k → retrieved\n"
        "pinned recohut_method0 in params.yaml; next: concord run\n"
    )


def test_a_change_of_the_name_alone_is_reported(
    start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    start(replace_once(REAL, "preset: standard", "preset: custom"))

    pin("standard")
    pin("standard")

    assert capsys.readouterr().out == (
        "preset: custom → standard\n"
        "pinned standard in params.yaml; next: concord run\n"
        "params.yaml already has every value of standard.\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "name", "message"),
    [
        ("Demo shop", "Demo shop", "rankx", "'rankx' is not a preset\n  fix: did you mean 'ranx'?"),
        ("Demo shop", "Demo shop", "params.yaml", "params.yaml has these values already"),
        ("  gain: linear", "  gian: linear", "ranx", "conventions.gian: is not a conven"),
        ("report:\n", "models:\n", "ranx", "key 'models' occurs more than once"),
    ],
)
def test_refused_change_leaves_the_file_unchanged(
    start: Start, old: str, new: str, name: str, message: str
) -> None:
    text = replace_once(REAL, old, new)
    start(text)

    assert message in refusal_of(lambda: pin(name))
    assert params_text() == text
    assert [path.name for path in Path().iterdir()] == ["params.yaml"]
