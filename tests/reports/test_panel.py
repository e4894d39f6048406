import copy
import re
from xml.etree import ElementTree

import pytest

from concord.metrics_core.comparison.comparison import Comparison
from concord.metrics_core.comparison.parts import Definition
from concord.reports.charts.bump import Frame, bump_chart, has_chart
from concord.reports.charts.palette import COLOURS
from concord.reports.markdown import render_markdown
from concord.reports.page import render_html
from concord.reports.sections.panel import Entry, entries, lines, names_and_meanings
from tests.reports.samples import sample
from tests.reports.samples.markup import Markup
from tests.reports.samples.rendered import html, markdown
from tests.reports.samples.typed import typed

QUESTION = "Would another definition change the answer?"


@pytest.fixture(scope="module")
def five() -> Comparison:
    return typed(sample.five_models())


@pytest.fixture(scope="module")
def fourteen() -> Comparison:
    return typed(sample.many_models(14))


def _first(comparison: Comparison) -> Entry:
    return entries(comparison)[0]


def _by_name(comparison: Comparison, name: str) -> int:
    return [d.name for d in _first(comparison).definitions].index(name)


def _value(definition: Definition, model: str) -> float:
    value = definition.values[model]
    assert value is not None
    return value


def _with(change: dict[str, dict[str, object]]) -> sample.Content:
    """The five models with other contents of the second definition of the first metric."""
    content = copy.deepcopy(sample.five_models())
    definition = content["panel"][0]["definitions"][1]
    for key, changed in change.items():
        definition[key] = {**definition[key], **changed}
    return content


def _section(page: str) -> str:
    found = re.search(r'<section id="definitions">.*?</section>', page, re.DOTALL)
    assert found is not None
    return found[0]


@pytest.mark.parametrize("panel", [[], "absent"])
def test_without_a_panel_there_is_no_section_and_no_link_to_it(panel: object) -> None:
    content = sample.five_models()
    content["panel"] = panel
    if panel == "absent":
        del content["panel"]
    page = html(content)
    assert QUESTION not in page
    assert "#definitions" not in page
    assert QUESTION not in markdown(content)


def test_the_sentence_of_every_metric_is_told(five: Comparison) -> None:
    page, text = render_html(five), render_markdown(five)
    for row in five.panel:
        assert f"<p>{row.sentence}</p>" in _section(page)
        assert f"{row.metric}: {row.sentence}" in text


def test_definitions_are_told_from_the_pinned_one_to_the_farthest(five: Comparison) -> None:
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


def test_all_presets_with_the_same_values_are_named_in_one_row(five: Comparison) -> None:
    line = lines(five, _first(five))[_by_name(five, "ranx")]
    assert line.names == ["ranx", "ir_measures"]
    assert lines(five, _first(five))[0].names == ["as pinned", "standard", "wikipedia"]


def test_value_and_rank_of_every_model_are_in_the_table(five: Comparison) -> None:
    entry = _first(five)
    line = lines(five, entry)[_by_name(five, "torchmetrics")]
    definition = entry.definitions[_by_name(five, "torchmetrics")]
    cells = dict(zip(entry.models, line.cells, strict=True))
    assert cells["ease"].text == f"{definition.values['ease']:.4f}"
    assert (cells["ease"].rank, cells["ease"].moved) == ("rank 1", False)
    assert (cells["random-walk"].rank, cells["random-walk"].moved) == ("rank 4 → 3", True)


def test_flips_name_the_model_that_is_above_now_first(five: Comparison) -> None:
    line = lines(five, _first(five))[_by_name(five, "torchmetrics")]
    assert line.flips == [("random-walk", "item-knn")]
    shown = " ".join("".join(Markup(_section(render_html(five))).text).split())
    assert "random-walk above item-knn" in shown
    assert "random-walk above item-knn" in render_markdown(five)


def test_verdicts_that_change_are_told_before_and_after(five: Comparison) -> None:
    line = lines(five, _first(five))[_by_name(five, "torchmetrics")]
    (change,) = line.changes
    assert (change.model, change.before, change.after) == ("item-knn", "better", "equivalent")
    assert "item-knn: better → equivalent" in render_markdown(five)


def test_another_top_two_is_marked_in_words(fourteen: Comparison) -> None:
    changed = [line for line in lines(fourteen, _first(fourteen)) if not line.top_two_hold]
    assert changed
    section = _section(render_html(fourteen))
    of_first = section.split("</table>")[0]
    assert of_first.count('<span class="tag change">top two</span>') == len(changed)
    assert "**changed:**" in render_markdown(fourteen)


def test_presets_that_are_left_out_are_told_with_the_reason(five: Comparison) -> None:
    page, text = render_html(five), render_markdown(five)
    assert "Left out: <b>rectools</b>, ideal full_k needs gain: binary." in page
    assert r"Left out: rectools (ideal full\_k needs gain: binary)." in text


def test_names_are_explained_where_the_comparison_says_what_they_stand_for(
    five: Comparison,
) -> None:
    meanings = names_and_meanings(entries(five))
    assert meanings["ir_measures"] == "ir_measures, as its manual has it."
    silent = copy.deepcopy(sample.five_models())
    for entry in silent["panel"]:
        for definition in entry["definitions"]:
            definition["stands_for"] = []
    assert names_and_meanings(entries(typed(silent))) == {}
    assert "names stand for" not in html(silent)


def test_a_model_without_a_value_has_a_dash_and_the_lowest_line() -> None:
    content = _with({"values": {"als": None}, "ranks": {"als": None}})
    comparison = typed(content)
    entry = _first(comparison)
    line = lines(comparison, entry)[_by_name(comparison, "ranx")]
    cell = line.cells[entry.models.index("als")]
    assert (cell.text, cell.rank, cell.moved) == ("–", "no value", True)
    chart = bump_chart(comparison, entry, narrow=False)
    assert "als, ranx: no value" in chart
    section = _section(html(content))
    assert "models without a value" in section
    assert not re.search(r"\b(nan|NaN|None)\b", section)


def test_where_no_model_has_a_value_there_is_no_chart() -> None:
    comparison = typed(sample.without_numbers())
    assert not has_chart(_first(comparison))
    assert "<svg xmlns" not in _section(html(sample.without_numbers()))


def test_one_model_has_a_table_and_no_chart() -> None:
    comparison = typed(sample.one_model())
    assert not has_chart(_first(comparison))
    assert '<table class="sortable compact panel">' in html(sample.one_model())


def test_from_twelve_models_on_the_first_five_are_shown(
    fourteen: Comparison, five: Comparison
) -> None:
    entry = _first(fourteen)
    ranks = entry.pinned.ranks
    assert [ranks[model] for model in entry.models] == [1, 2, 3, 4, 5]
    chart = bump_chart(fourteen, entry, narrow=False)
    told = {about.split(",")[0] for about in re.findall(r"<title>([^<]+, [^<]+: rank)", chart)}
    assert told == set(entry.models)
    assert "for the first 5 of 14 models" in _section(render_html(fourteen))
    assert len(_first(five).models) == 5
    assert len(_first(typed(sample.many_models(11))).models) == 11


def test_long_lists_of_flips_are_cut_with_those_of_shown_models_first(fourteen: Comparison) -> None:
    entry = _first(fourteen)
    told = lines(fourteen, entry)
    flipped = {d.name: len(d.flips) for d in entry.definitions}
    assert any(line.more_flips for line in told)
    for line in told:
        assert len(line.flips) + line.more_flips == flipped[line.names[0]]
        shown = [set(flip) <= set(entry.models) for flip in line.flips]
        assert shown == sorted(shown, reverse=True)


@pytest.mark.parametrize("narrow", [True, False])
def test_every_line_is_named_at_both_ends(five: Comparison, *, narrow: bool) -> None:
    root = ElementTree.fromstring(bump_chart(five, _first(five), narrow=narrow))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert all(texts.count(model) == 2 for model in five.models)
    assert "as pinned +2" in texts


@pytest.mark.parametrize("n", [5, 8, 11])
def test_lines_use_colours_that_follow_the_scheme_and_shapes_of_their_own(n: int) -> None:
    comparison = typed(sample.many_models(n))
    chart = bump_chart(comparison, _first(comparison), narrow=False)
    root = ElementTree.fromstring(chart)
    painted = {element.get(paint) for element in root.iter() for paint in ("fill", "stroke")}
    light = {shades[0] for shades in COLOURS.values()}
    assert painted - {None, "none", "transparent"} <= light
    looks = set(re.findall(r' d="([^"]+)"[^>]*><title>[^<]+, as pinned: rank', chart))
    assert len(looks) == min(n, 8)


def test_models_that_share_a_rank_do_not_cover_each_other() -> None:
    ranks = {"ease": 1, "als": 1, "item-knn": 3, "random-walk": 4, "popularity": 5}
    comparison = typed(_with({"ranks": dict(ranks)}))
    chart = bump_chart(comparison, _first(comparison), narrow=False)
    marks = re.findall(r'transform="translate\(([^)]+)\)"[^>]*><title>[^<]+, ranx: rank', chart)
    assert len(set(marks)) == len(marks) == 5


def test_the_narrow_chart_runs_downwards_and_fits_a_phone(five: Comparison) -> None:
    chart = bump_chart(five, _first(five), narrow=True)
    assert 'width="350"' in chart
    frame = Frame(definitions=7, lowest=5, upright=True)
    assert frame.spot(1, 1)["y"] > frame.spot(0, 1)["y"]
    assert frame.spot(0, 2)["x"] > frame.spot(0, 1)["x"]


def test_hostile_names_do_no_harm_and_are_shown() -> None:
    content = sample.hostile_names()
    entry = content["panel"][0]
    entry["sentence"] = sample.HOSTILE[0]
    entry["definitions"][1].update(
        name=sample.HOSTILE[0], presets=list(sample.HOSTILE), says=sample.HOSTILE[2]
    )
    entry["definitions"][1]["flips"] = [[sample.HOSTILE[1], sample.HOSTILE[2]]]
    entry["definitions"][1]["verdicts_changed"] = [sample.HOSTILE[1]]
    entry["left_out"] = [{"preset": sample.HOSTILE[1], "why": sample.HOSTILE[0]}]
    page, text = html(content), markdown(content)
    markup = Markup(page)
    assert markup.unclosed == []
    assert len(markup.all("script")) == 1
    assert not markup.all("img")
    assert not [key for _, attributes in markup.tags for key in attributes if key.startswith("on")]
    shown = "".join(Markup(_section(page)).text)
    assert all(name in shown for name in sample.HOSTILE)
    tags = set(re.findall(r"<[^ >]+>?", text))
    assert tags == {"<details>", "<summary>", "</summary>", "</details>"}


def test_the_markdown_table_has_a_row_a_definition(five: Comparison) -> None:
    text = render_markdown(five).split(QUESTION)[1].split("## Data quality")[0]
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == sum(1 + len(row.definitions) for row in five.panel)
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {6}
    assert r"| ranx, ir\_measures | user\_empty\_truth: zero | ease 0." in text
