"""`concord pin` on copies of the real params.yaml: values change, every other byte stays."""

from collections.abc import Callable
from pathlib import Path

import pytest

import concord as cc
from concord.metrics_core.conventions.preset_table import STANDARD
from concord.metrics_core.conventions.registry import CONVENTION
from concord.metrics_core.errors import InputError
from concord.pipeline.init.pin import pin
from concord.pipeline.params.read import check_params, read_params
from tests.pipeline.refusals import refusal_of
from tests.project import ROOT

REAL = (ROOT / "params.yaml").read_bytes().decode()
PARAMS = Path("params.yaml")
Start = Callable[[str], None]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    monkeypatch.chdir(tmp_path)
    return lambda text: _write(text)


def _write(text: str) -> None:
    PARAMS.write_bytes(text.encode())


def _now() -> str:
    return PARAMS.read_bytes().decode()


def _changed(before: str, old: str, new: str) -> str:
    assert before.count(old) == 1
    return before.replace(old, new)


def _around_value(line: str) -> tuple[str, str]:
    """Return the key with its indentation, and the comment with the space before it."""
    key, _, remainder = line.partition(": ")
    value, marker, comment = remainder.partition("#")
    return key, value[len(value.rstrip()) :] + marker + comment


@pytest.mark.parametrize("name", cc.presets())
def test_only_values_differ_params_are_accepted_and_the_way_back_gives_the_same_bytes(
    start: Start, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    start(REAL)

    pin(name)
    output = capsys.readouterr().out

    before, after = REAL.splitlines(keepends=True), _now().splitlines(keepends=True)
    assert [_around_value(line) for line in after] == [_around_value(line) for line in before]
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
    assert ("next: dvc repro" in output) is (not problems and bool(set(after) - set(before)))
    pinned, conventions = params.parsed_conventions, cc.preset(name)
    actual = {
        knob
        for knob in STANDARD
        if CONVENTION[knob].sets_scale and conventions.preset_values()[knob] is not None
    }
    assert {k: v for k, v in pinned.as_dict().items() if k not in actual} == {
        k: v for k, v in conventions.as_dict().items() if k not in actual
    }
    pin("standard")
    assert _now() == REAL


def test_line_ends_lists_spaces_and_quotes_stay_as_they_were_written(start: Start) -> None:
    text = _changed(REAL, "  ks: [1, 3, 5, 10, 20]", "  ks:\n  - 1\n  - 5")
    text = _changed(text, "title: Demo shop", "title:   'Demo shop'")
    text = _changed(text, "  gain: linear #", '  gain:   "linear"   #')
    text = _changed(text, "  round: null #", "  round: ~ #").replace("\n", "\r\n")
    start(text)

    pin("wikipedia_exp")

    expected = _changed(text, "preset: standard", "preset: wikipedia_exp")
    expected = _changed(expected, "ties: item_asc", "ties: given")
    expected = _changed(expected, "duplicates: error", "duplicates: keep")
    assert _now() == _changed(expected, '"linear"', '"exp2"')


def test_a_file_without_a_last_line_end_gets_none(start: Start) -> None:
    head, section, remainder = REAL.partition("conventions:\n")
    conventions, _, others = remainder.partition("\n\nreport:")
    start(f"{head}report:{others}\n{section}{conventions}")

    pin("recbole")

    assert _now().endswith(
        "# per metric, such as {RR: {rr_cutoff: none}}; RR@k: for its labels with a cutoff"
    )
    assert read_params().parsed_conventions.preset == "recbole"


def test_empty_values_and_null_are_replaced(start: Start) -> None:
    start(_changed(REAL, "  round: null #", "  round: #"))

    pin("recbole")

    assert "  round: {mean: 4} # null |" in _now()
    assert read_params().parsed_conventions.round == {"mean": 4}


def test_grade_scale_stays_unless_the_preset_has_null(start: Start) -> None:
    start(_changed(REAL, "relevance_threshold: 1", "relevance_threshold: 2"))

    pin("ranx")
    remaining = read_params().parsed_conventions
    pin("ms_recommenders")
    nulled = read_params().parsed_conventions

    assert (remaining.relevance_threshold, remaining.err_max_grade) == (2, 3)
    assert (nulled.relevance_threshold, nulled.err_max_grade) == (None, 3)
    assert "  relevance_threshold: null # the lowest grade" in _now()


def test_missing_conventions_are_added_in_order_with_allowed_values(
    start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    without = ("  hlu_norm:", "  ties:", "  overrides:")
    remaining = [line for line in REAL.splitlines(keepends=True) if not line.startswith(without)]
    start("".join(remaining))

    pin("standard")

    new = [line for line in _now().splitlines() if line.startswith(without)]
    ties = f"  ties: item_asc # {CONVENTION['ties'].allowed_values()}"
    assert new == [ties, "  hlu_norm: ideal # ideal | none", "  overrides: {}"]
    assert [
        line for line in _now().splitlines(keepends=True) if line.rstrip() not in new
    ] == remaining
    assert list(read_params().conventions) == ["preset", *STANDARD, "overrides"]
    assert "hlu_norm: (was missing) → ideal" in capsys.readouterr().out


@pytest.mark.parametrize("remainder", ["conventions:\n", ""])
def test_a_section_without_entries_is_filled(start: Start, remainder: str) -> None:
    head, section, tail = REAL.partition("conventions:\n")
    after = tail[tail.index("\nreport:") :]
    start(head + remainder + after)

    pin("standard")

    assert section
    assert read_params().parsed_conventions == cc.preset("standard")
    assert _now().startswith(head)
    assert after.rstrip() in _now()


def test_overrides_over_several_lines_give_way(start: Start) -> None:
    block = "  overrides: # mine\n    RR:\n      rr_cutoff: none\n\nreport:"
    text = _changed(REAL, "preset: standard", "preset: custom")
    line = next(line for line in REAL.splitlines() if line.startswith("  overrides:"))
    start(_changed(text, f"{line}\n\nreport:", block))

    pin("standard")

    assert "  overrides: {} # mine\n\nreport:" in _now()
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
        "pinned recohut_method0 in params.yaml; next: dvc repro\n"
    )


def test_a_change_of_the_name_alone_is_reported(
    start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    start(_changed(REAL, "preset: standard", "preset: custom"))

    pin("standard")
    pin("standard")

    assert capsys.readouterr().out == (
        "preset: custom → standard\n"
        "pinned standard in params.yaml; next: dvc repro\n"
        "params.yaml already has every value of standard.\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "name", "message"),
    [
        ("Demo shop", "Demo shop", "rankx", "'rankx' is not a preset\n  fix: did you mean 'ranx'?"),
        ("Demo shop", "Demo shop", "params.yaml", "params.yaml has these values already"),
        ("engine: duckdb #", "engine: pandas #", "ranx", "evaluation.engine: is 'pandas'"),
        ("  gain: linear", "  gian: linear", "ranx", "conventions.gian: is not a conven"),
        ("report:\n", "models:\n", "ranx", "key 'models' occurs more than once"),
        ("conventions:\n", "'conventions':\n", "ranx", "cannot be edited in place"),
    ],
)
def test_refused_change_leaves_the_file_unchanged(
    start: Start, old: str, new: str, name: str, message: str
) -> None:
    text = _changed(REAL, old, new)
    start(text)

    assert message in refusal_of(lambda: pin(name))
    assert _now() == text
    assert [path.name for path in Path().iterdir()] == ["params.yaml"]


@pytest.mark.usefixtures("start")
def test_outside_a_project_the_fix_names_the_folder() -> None:
    with pytest.raises(InputError, match="`concord init` writes both"):
        pin("ranx")
