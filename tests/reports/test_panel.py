"""The section and the picture of other definitions: order, cuts, colours, models without a value."""

import re
from xml.etree import ElementTree

import pytest

from concord.metrics_core.comparison.comparison import Comparison
from concord.metrics_core.comparison.parts import Definition
from concord.reports.charts.bump import Frame, bump_chart, has_chart
from concord.reports.charts.palette import COLOURS
from concord.reports.sections.panel import Entry, entries, lines, names_and_meanings
from tests.reports.samples import sample
from tests.reports.samples.rendered import markdown
from tests.reports.samples.typed import typed

QUESTION = "Would another definition change the answer?"


@pytest.fixture(scope="module")
def five() -> Comparison:
    return typed(sample.five_models())


@pytest.fixture(scope="module")
def many() -> Comparison:
    return typed(sample.many_models())


def _first(comparison: Comparison) -> Entry:
    return entries(comparison)[0]


def _value(definition: Definition, model: str) -> float:
    value = definition.values[model]
    assert value is not None
    return value


def _with(change: dict[str, dict[str, object]]) -> sample.Content:
    """The five models with other contents of the second definition of the first metric."""
    content = sample.five_models()
    definition = content["panel"][0]["definitions"][1]
    for key, changed in change.items():
        definition[key] = {**definition[key], **changed}
    return content


def test_definitions_stand_from_the_pinned_one_to_the_farthest(five: Comparison) -> None:
    for entry in entries(five):
        pinned = entry.definitions[0]
        assert pinned.name == "as pinned"
        away = [
            max(abs(_value(d, m) - _value(pinned, m)) for m in five.models)
            for d in entry.definitions
        ]
        assert away == sorted(away)


def test_a_definition_without_values_is_the_farthest() -> None:
    nothing = dict.fromkeys(sample.FIVE)
    comparison = typed(_with({"values": nothing, "ranks": nothing}))
    assert _first(comparison).definitions[-1].values == nothing


def test_a_line_has_values_ranks_that_moved_flips_and_verdicts_that_change(
    five: Comparison,
) -> None:
    entry = _first(five)
    pinned = {change.model: change.before for line in lines(five, entry) for change in line.changes}
    assert pinned
    for line, definition in zip(lines(five, entry), entry.definitions, strict=True):
        assert line.names == list(dict.fromkeys([definition.name, *definition.presets]))
        for model, cell in zip(entry.models, line.cells, strict=True):
            before, after = entry.pinned.ranks[model], definition.ranks[model]
            assert cell.text == f"{definition.values[model]:.3f}"
            assert cell.rank == (f"rank {after}" if before == after else f"rank {before} → {after}")
        assert line.flips == [(b, a) for a, b in definition.flips]
        assert [change.model for change in line.changes] == list(definition.verdicts_changed)


def test_names_are_explained_where_the_comparison_says_what_they_stand_for(
    five: Comparison,
) -> None:
    assert names_and_meanings(entries(five))["ir_measures"]
    silent = sample.five_models()
    for entry in silent["panel"]:
        for definition in entry["definitions"]:
            definition["stands_for"] = []
    assert names_and_meanings(entries(typed(silent))) == {}


def test_a_model_without_a_value_has_a_dash_and_the_lowest_line() -> None:
    content = _with({"values": {"als": None}, "ranks": {"als": None}})
    name = content["panel"][0]["definitions"][1]["name"]
    comparison = typed(content)
    entry = _first(comparison)
    line = lines(comparison, entry)[[d.name for d in entry.definitions].index(name)]
    cell = line.cells[entry.models.index("als")]
    assert (cell.text, cell.rank, cell.moved) == ("–", "no value", True)
    assert f"als, {name}: no value" in bump_chart(comparison, entry, narrow=False)


@pytest.mark.parametrize("content", [sample.without_numbers(), sample.one_model()])
def test_without_values_or_others_there_is_no_chart(content: sample.Content) -> None:
    assert not has_chart(_first(typed(content)))


def test_of_many_models_the_first_five_are_shown(many: Comparison) -> None:
    entry = _first(many)
    assert [entry.pinned.ranks[model] for model in entry.models] == [1, 2, 3, 4, 5]
    chart = bump_chart(many, entry, narrow=False)
    shown = {about.split(",")[0] for about in re.findall(r"<title>([^<]+, [^<]+: rank)", chart)}
    assert shown == set(entry.models)


def test_long_lists_of_flips_are_cut_with_those_of_shown_models_first(many: Comparison) -> None:
    entry = _first(many)
    shown = lines(many, entry)
    flipped = {d.name: len(d.flips) for d in entry.definitions}
    assert any(line.more_flips for line in shown)
    for line in shown:
        assert len(line.flips) + line.more_flips == flipped[line.names[0]]
        first = [set(flip) <= set(entry.models) for flip in line.flips]
        assert first == sorted(first, reverse=True)


@pytest.mark.parametrize("narrow", [True, False])
def test_every_line_is_named_at_both_ends_in_colours_of_the_scheme_and_a_shape_of_its_own(
    five: Comparison, *, narrow: bool
) -> None:
    chart = bump_chart(five, _first(five), narrow=narrow)
    root = ElementTree.fromstring(chart)
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert all(texts.count(model) == 2 for model in five.models)
    painted = {element.get(paint) for element in root.iter() for paint in ("fill", "stroke")}
    assert painted - {None, "none", "transparent"} <= {shades[0] for shades in COLOURS.values()}
    looks = set(re.findall(r' d="([^"]+)"[^>]*><title>[^<]+, as pinned: rank', chart))
    assert len(looks) == 5


def test_models_that_share_a_rank_do_not_cover_each_other() -> None:
    ranks = {"ease": 1, "als": 1, "item-knn": 3, "random-walk": 4, "popularity": 5}
    content = _with({"ranks": dict(ranks)})
    name = content["panel"][0]["definitions"][1]["name"]
    comparison = typed(content)
    chart = bump_chart(comparison, _first(comparison), narrow=False)
    marks = re.findall(rf'transform="translate\(([^)]+)\)"[^>]*><title>[^<]+, {name}: rank', chart)
    assert len(set(marks)) == len(marks) == 5


def test_the_narrow_chart_runs_downwards() -> None:
    frame = Frame(definitions=7, lowest=5, upright=True)
    assert frame.spot(1, 1)["y"] > frame.spot(0, 1)["y"]
    assert frame.spot(0, 2)["x"] > frame.spot(0, 1)["x"]


def test_the_markdown_table_has_a_row_a_definition(five: Comparison) -> None:
    text = markdown(sample.five_models()).split(QUESTION)[1].split("## Data quality")[0]
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == sum(1 + len(row.definitions) for row in five.panel)
