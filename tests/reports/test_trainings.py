"""The report on models that were trained several times: first screen, section, picture, Markdown, tables."""

import re
from functools import cache
from typing import Any
from xml.etree import ElementTree

import altair as alt
import pytest
from altair.utils import schemapi

from concord.metrics_core.comparison.exports import exports
from concord.reports.charts.palette import COLOURS
from concord.reports.charts.svg import Layers, picture
from concord.reports.charts.trainings import training_chart
from concord.reports.commenting.comment import Comment, render_comment
from concord.reports.markdown import render_markdown
from concord.reports.notebook import render_notebook
from concord.reports.page import render_html
from concord.reports.sections import trainings
from concord.reports.writing.numbers import difference_digits_of, signed, signed_interval
from tests.reports.samples import sample
from tests.reports.samples.markup import Markup
from tests.reports.samples.rendered import html
from tests.reports.samples.trained import trained
from tests.reports.samples.typed import typed

LABEL = "nDCG@3"
QUESTION = "Would it hold if trained again?"
HOSTILE = ("<b>als</b>", "a|b*c*", "pop&amp;")


@cache
def _page(comparison_of: tuple[int, int, int] = (3, 4, 1)) -> str:
    return render_html(trained(comparison_of))


def _text(page: str, start: str, end: str) -> str:
    found = re.search(f"{start}.*?{end}", page, re.DOTALL)
    assert found is not None
    return " ".join("".join(Markup(found[0]).text).split())


def _first_screen(page: str) -> str:
    return _text(page, '<header id="answer"', "</header>")


def _section(page: str) -> str:
    return _text(page, '<section id="trainings"', "</section>")


def _single(chart: str) -> list[str]:
    """The differences of single trainings, as a hover tells them."""
    return re.findall(r"a single training: ([+−][0-9.]+)", chart)


def test_who_did_not_ask_sees_nothing_of_it() -> None:
    content = sample.five_models()
    comparison = typed(content)
    told = [html(content), render_markdown(comparison), render_notebook(comparison)]

    assert not any(QUESTION in text or "trainings" in text for text in told)
    assert not {"trainings", "retrained"} & set(exports(comparison))


def test_the_first_screen_answers_at_once() -> None:
    comparison = trained()
    shown = _first_screen(_page())
    found = comparison.replicates
    assert found is not None

    assert all(" ".join(answer.split()) in shown for answer in found.answers)
    assert shown.index(QUESTION) < shown.index(comparison.verdicts[1][:30])
    assert "3 more answers" in shown
    assert "Models3, of 8 trainings" in shown


def test_a_card_has_the_interval_over_users_and_that_over_new_trainings() -> None:
    comparison = trained()
    digits = difference_digits_of(comparison, LABEL)
    users = comparison.difference("als", "pop", LABEL)
    again = comparison.retrained("als", "pop", LABEL)
    assert users is not None
    assert again is not None

    shown = _first_screen(_page())

    over_users = signed_interval(users.ci_low, users.ci_high, digits)
    assert f"{signed(users.difference, digits)} ({over_users}) users only" in shown
    over = signed_interval(again.ci_low, again.ci_high, digits)
    assert f"Trained again{over} users and new trainings: better" in shown


def test_the_section_has_every_model_and_every_pair() -> None:
    comparison = trained()
    shown = _section(_page())
    found = comparison.replicates
    assert found is not None

    assert 'href="#trainings"' in _page()
    for score in found.scores:
        if score.label in comparison.primary:
            means = sorted(mean for mean in score.means if mean is not None)
            assert ", ".join(f"{mean:.3f}" for mean in means) in shown
    for label in comparison.labels:
        for row in trainings.pairs(comparison, label):
            assert f"minus {row.pair.b}" in shown
            assert f"{row.over_trainings}{'' if row.pair.over_users else ', users as they are'}" in shown  # fmt: skip
            assert f"{row.trainings}df {row.degrees}" in shown
    assert "those of the users are 59" in shown
    assert "pop1" in shown.replace(" ", "")
    assert "trained once" in shown


def test_a_pair_is_told_by_its_numbers() -> None:
    comparison = trained()
    pair = comparison.retrained("als", "ease", LABEL)
    assert pair is not None
    (row,) = [each for each in trainings.pairs(comparison, LABEL) if each.pair == pair]

    assert row.turned == f"{pair.turned} of {pair.of}" == "3 of 12"
    assert row.degrees == f"{pair.trainings_df:.1f}"
    assert row.trainings == "3 and 4"
    assert row.share == f"{100 * (pair.share or 0):.1f}\N{NO-BREAK SPACE}%"
    assert row.settles == "neither alone"
    assert row.over_users != row.over_trainings


def test_two_trainings_have_no_interval_and_say_so() -> None:
    shown = _section(_page((2, 3, 1)))

    assert "als was trained twice: too few for an interval over new trainings, which takes 3." in shown  # fmt: skip
    assert "too few for an interval" in shown
    assert "3 trainings, for an interval" in shown


def test_the_picture_has_a_mark_for_every_training() -> None:
    comparison = trained()
    found = comparison.replicates
    baseline = comparison.score("pop", LABEL).mean
    assert found is not None
    assert baseline is not None
    digits = difference_digits_of(comparison, LABEL)
    gaps = {
        model: [signed(mean - baseline, digits) for mean in score.means if mean is not None]
        for model in ("als", "ease")
        if (score := found.score(model, LABEL)) is not None
    }

    for narrow in (True, False):
        chart = training_chart(comparison, LABEL, narrow=narrow)
        assert _single(chart) == [*gaps["als"], *gaps["ease"]]
        assert "users and new trainings" not in chart
        assert ElementTree.fromstring(chart).get("width") == ("350" if narrow else "940")


def test_paired_trainings_are_held_against_their_own_seed() -> None:
    comparison = trained((4, 4, 4), paired=True)
    found = comparison.replicates
    assert found is not None
    als, pop = (found.score(model, LABEL) for model in ("als", "pop"))
    assert als is not None
    assert pop is not None

    shown = trainings.shown(comparison, "als", LABEL)

    assert shown == [a - b for a, b in zip(als.means, pop.means, strict=True) if a and b]


def test_a_model_of_one_training_is_held_against_each_of_the_baseline() -> None:
    comparison = trained((3, 1, 3))

    assert len(trainings.shown(comparison, "ease", LABEL)) == 3
    assert len(trainings.shown(trained((3, 1, 1)), "ease", LABEL)) == 0


def test_the_picture_follows_the_scheme_and_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    layers: list[alt.Chart] = []

    def keeping(found: Layers, *rest: Any) -> str:
        layers.extend(found)
        return picture(found, *rest)

    monkeypatch.setattr("concord.reports.charts.trainings.picture", keeping)
    root = ElementTree.fromstring(training_chart(trained(), LABEL, narrow=False))
    painted = {element.get(paint) for element in root.iter() for paint in ("fill", "stroke")}

    assert painted - {None, "none", "transparent"} <= {light for light, _ in COLOURS.values()}
    assert layers
    with schemapi.debug_mode(True):
        for layer in layers:
            layer.to_dict()


def test_names_are_text_wherever_they_stand() -> None:
    comparison = trained(names=HOSTILE)
    page = render_html(comparison)

    assert "<b>als</b>" not in page
    assert Markup(page).unclosed == []
    assert "<b>als" not in render_markdown(comparison)


def test_markdown_comment_and_notebook_answer_too() -> None:
    comparison = trained()
    found = comparison.replicates
    assert found is not None
    head = found.answers[0].partition(". ")[0].replace("@", "&#64;")
    texts = [render_markdown(comparison), render_comment(Comment("", comparison, None))]

    for text in texts:
        assert f"**{QUESTION}** " in text
        assert "not surely: als need not stay ahead of ease." in text
    assert head.partition(", ")[2] in render_notebook(comparison)
    for row in trainings.pairs(comparison, LABEL):
        assert f"| {row.pair.a} − {row.pair.b} | {row.difference} | {row.over_users}: " in texts[0]
        assert f"| {row.over_trainings}: " in texts[0]


def test_the_tables_have_every_training_and_every_difference() -> None:
    comparison = trained()
    found = comparison.replicates
    assert found is not None

    tables = exports(comparison)

    means = [mean for score in found.scores for mean in score.means]
    assert tables["trainings"]["mean"].to_list() == means
    assert tables["trainings"].filter(label=LABEL, model="ease")["training"].to_list() == ["1", "2", "3", "4"]  # fmt: skip
    assert [row["ci_low"] for row in tables["retrained"].to_dicts()] == [p.ci_low for p in found.pairs]  # fmt: skip
