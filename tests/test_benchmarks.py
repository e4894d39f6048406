"""The benchmarks run on small files, and their page shows what was measured."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import concord
from benchmarks import charts, page, rows, run, scale, simulated_trec, simulations
from benchmarks.contestant import CONTESTANTS
from benchmarks.measured import Measured, replace_section
from benchmarks.peers import PEERS
from benchmarks.rows import Row, as_json, from_json
from benchmarks.workload import SMALL, Files, as_csv, make, shuffled

SIZES = run.Sizes(full=SMALL, tenth=SMALL, few=SMALL, times=1)
COST = Measured(1.5, 2.5, 300.0, 0.25)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return make(tmp_path_factory.mktemp("data"), SMALL, "integer")


def test_the_page_shows_the_stored_measurements() -> None:
    text = page.RESULTS.read_text(encoding="utf-8")
    known = {scale.HEADING: scale.section(scale.measured())}

    for heading, lines in {**page.sections(rows.stored()), **known}.items():
        assert replace_section(text, heading, lines) == text


def test_the_charts_show_the_stored_measurements(tmp_path: Path) -> None:
    charts.write_charts(rows.stored(), scale.measured(), tmp_path)

    written = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert "bench-peers.svg" in written
    for name, text in written.items():
        assert (charts.IMAGES / name).read_text(encoding="utf-8") == text


def test_polars_by_hand_agrees_with_concord_on_every_label(files: Files) -> None:
    means = PEERS["polars by hand"].start((str(files.lists), str(files.truth)))()

    expected = concord.evaluate(
        files.lists, files.truth, metrics=page.LABELS, conventions="standard"
    )
    assert {*means} == {*page.LABELS}
    for label, mean in means.items():
        assert mean == pytest.approx(expected[label], rel=1e-12)


def test_every_contestant_runs(files: Files) -> None:
    paths = (str(files.lists), str(files.truth))

    values = {name: start(paths)() for name, start in CONTESTANTS.items()}

    assert values["join"] > 0
    assert values["evaluate"] > 0


@pytest.mark.parametrize("change", [shuffled, as_csv])
def test_changed_files_have_the_same_means(files: Files, change: Callable[[Files], Files]) -> None:
    evaluate = CONTESTANTS["evaluate"]
    changed = change(files)

    assert evaluate((str(changed.lists), str(changed.truth)))() == (
        evaluate((str(files.lists), str(files.truth)))()
    )


@pytest.mark.parametrize(
    ("row", "is_missed"),
    [
        (Row("no bound", COST), False),
        (Row("figure", COST, 7.0, "x"), False),
        (Row("at most", COST, 7.0, "x", 6.0), True),
        (Row("at least", COST, 7.0, "x", 6.0, is_least=True), False),
        (Row("too little", COST, 1.5, "x", 1.7, is_least=True), True),
    ],
)
def test_a_row_knows_whether_its_bound_is_missed(row: Row, is_missed: bool) -> None:
    assert row.is_missed == is_missed


def test_rows_are_read_as_they_were_stored() -> None:
    written = [Row("with cost", COST, 2.0, "x", 3.0), Row("figure", None, 0.5, "s", 1.0)]

    assert from_json(as_json(written)) == written


def test_a_missed_bound_has_a_reason_or_the_page_says_that_there_is_none() -> None:
    missed = [Row("`x`", COST, 7.0, "x join", 6.0), Row("`y`", COST, 9.0, "s", 1.0)]

    *_, first, last = page.table(missed, {"`x`": "it reads twice"})

    assert first == "- `x`: it reads twice."
    assert last == "- Not explained yet: `y`."
    assert page.table([Row("`x`", COST, 5.0, "x join", 6.0)], {})[-1].endswith("| met |")


@pytest.mark.whole
@pytest.mark.parametrize("section", [run.calls, run.evaluate])
def test_a_section_runs_on_small_files(
    section: Callable[[run.Sizes], Iterator[Row]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "DATA", tmp_path)

    measured = [*section(SIZES)]

    assert all(row.cost is None or row.cost.seconds > 0 for row in measured)
    assert any(row.bound for row in measured)


@pytest.mark.whole
def test_cores_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "DATA", tmp_path)

    content = run.cores(SIZES)

    assert {*content["costs"]} <= {"evaluate", "join"}


@pytest.mark.nightly
@pytest.mark.parametrize("section", [run.demo, run.project])
def test_a_section_of_commands_runs_on_small_files(
    section: Callable[[run.Sizes], Iterator[Row]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "DATA", tmp_path)

    assert any(row.bound for row in section(SIZES))


@pytest.mark.nightly
def test_every_peer_agrees_with_its_preset_on_small_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "DATA", tmp_path)

    measured = run.peers(SIZES)["rows"]

    assert {row["name"] for row in measured} == {"Concord", *PEERS}
    assert all(row["is_equal"] for row in measured if row["name"] != "Concord")


def test_simulations_are_compared_apart_from_the_section_whose_data_few_have() -> None:
    page = f"# Simulations\n\n| 1 |\n\n{simulated_trec.HEADING}\n\nNot run\n\n## Pools\n\n| 2 |\n"

    assert simulations.changed_lines(page, page.replace("Not run", "| 5 % |")) == []
    assert simulations.changed_lines(page, page.replace("| 2 |", "| 3 |")) == ["-| 2 |", "+| 3 |"]
