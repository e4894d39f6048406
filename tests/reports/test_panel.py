"""The section and the chart of other definitions: order, limits, colours, missing values."""

import re
from dataclasses import replace

import pytest

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.stored import from_content
from concord.reports.charts.bump import bump_chart, has_chart
from concord.reports.text.panel import Entry, entries, lines, preset_meanings
from tests.reports.samples import sample
from tests.reports.samples.picture import Picture


@pytest.fixture(scope="module")
def five() -> Comparison:
    return from_content(sample.five_models())


@pytest.fixture(scope="module")
def many() -> Comparison:
    return from_content(sample.many_models())


def _first(comparison: Comparison) -> Entry:
    return entries(comparison)[0]


def _changed_sample(change: dict[str, dict[str, object]]) -> sample.Content:
    """Return the five models with a changed second definition of the first metric."""
    content = sample.five_models()
    definition = content["panel"][0]["definitions"][1]
    for key, changed in change.items():
        definition[key] = {**definition[key], **changed}
    return content


def test_a_definition_without_values_is_the_farthest() -> None:
    empty = dict.fromkeys(sample.FIVE)
    comparison = from_content(_changed_sample({"values": empty, "ranks": empty}))
    assert _first(comparison).definitions[-1].values == empty


def test_unknown_presets_are_not_explained() -> None:
    silent = sample.five_models()
    for entry in silent["panel"]:
        for definition in entry["definitions"]:
            definition["presets"] = ["future"]
    assert preset_meanings(entries(from_content(silent))) == {}


def test_a_model_without_a_value_has_a_dash_and_the_lowest_line() -> None:
    content = _changed_sample({"values": {"als": None}, "ranks": {"als": None}})
    name = content["panel"][0]["definitions"][1]["name"]
    comparison = from_content(content)
    entry = _first(comparison)
    line = lines(comparison, entry)[[d.name for d in entry.definitions].index(name)]
    cell = line.cells[entry.models.index("als")]
    assert (cell.text, cell.rank, cell.moved) == ("–", "no value", True)
    assert f"als, no value: {name}" in bump_chart(comparison, entry, narrow=False)


@pytest.mark.parametrize("content", [sample.without_numbers(), sample.one_model()])
def test_without_values_or_others_there_is_no_chart(content: sample.Content) -> None:
    assert not has_chart(_first(from_content(content)))


def test_of_many_models_the_first_five_are_shown(many: Comparison) -> None:
    entry = _first(many)
    assert [entry.pinned.ranks[model] for model in entry.models] == [1, 2, 3, 4, 5]
    chart = bump_chart(many, entry, narrow=False)
    models = {title.split(",")[0] for title in re.findall(r"<title>([^<]+, rank)", chart)}
    assert models == set(entry.models)


def test_long_lists_of_flips_are_cut_with_those_of_shown_models_first(many: Comparison) -> None:
    entry = _first(many)
    definition_lines = lines(many, entry)
    flipped = {d.name: len(d.flips) for d in entry.definitions}
    assert any(line.more_flips for line in definition_lines)
    for line in definition_lines:
        assert len(line.flips) + line.more_flips == flipped[line.names[0]]
        first = [set(flip) <= set(entry.models) for flip in line.flips]
        assert first == sorted(first, reverse=True)


@pytest.mark.parametrize("narrow", [True, False])
def test_every_line_is_named_at_both_ends_and_has_a_shape_of_its_own(
    five: Comparison, *, narrow: bool
) -> None:
    picture = Picture(bump_chart(five, _first(five), narrow=narrow))

    assert all(len(picture.texts_of(model, model)) == 2 for model in five.models)
    assert len({picture.mark(model).shape for model in five.models}) == 5


def test_models_that_share_a_rank_do_not_cover_each_other() -> None:
    ranks = {"ease": 1, "als": 1, "item-knn": 3, "random-walk": 4, "popularity": 5}
    content = _changed_sample({"ranks": dict(ranks)})
    name = content["panel"][0]["definitions"][1]["name"]
    comparison = from_content(content)
    picture = Picture(bump_chart(comparison, _first(comparison), narrow=False))

    tied = [m for model in ranks for m in picture.marks(model) if name in m.hover]
    assert len({mark.centre for mark in tied}) == len(tied) == 5


def test_the_narrow_chart_runs_downwards(five: Comparison) -> None:
    first, second = _first(five).models[:2]
    picture = Picture(bump_chart(five, _first(five), narrow=True))

    assert picture.marks(first)[1].y > picture.mark(first).y
    assert picture.mark(second).x > picture.mark(first).x


def test_definitions_that_rank_alike_have_no_chart(five: Comparison) -> None:
    entry = _first(five)
    alike = [
        replace(each, ranks=entry.pinned.ranks, top_two_hold=True) for each in entry.definitions
    ]

    assert has_chart(entry)
    assert not has_chart(replace(entry, definitions=alike))


def test_definitions_that_never_change_the_order_are_one_sentence() -> None:
    comparison = from_content(sample.two_models())
    row = comparison.panel[0]
    alike = tuple(
        replace(each, ranks=row.definitions[0].ranks, verdicts_changed=(), top_two_hold=True)
        for each in row.definitions
    )
    (entry,) = entries(replace(comparison, panel=(replace(row, definitions=alike),)))

    (single,) = entries(replace(comparison, panel=(replace(row, definitions=alike[:1]),)))
    assert single.sentence == "All definitions give the same values."
    n = len(alike)
    assert entry.sentence == (
        f"All {n} definitions give these models the same order; "
        f"all verdicts against the baseline hold under {n} of {n}."
    )


def test_one_model_has_no_order() -> None:
    assert (
        "one model: there is no ranking to change"
        in _first(from_content(sample.one_model())).sentence
    )
