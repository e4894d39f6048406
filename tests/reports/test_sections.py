"""Trade-offs, wins, spreads, segments, example users and warnings: what is shown, and that absent parts leave no trace."""

import re
from dataclasses import replace

import pytest

from concord.metrics_core.comparison.comparison import Comparison
from concord.metrics_core.comparison.parts import or_nan
from concord.reports.charts.distributions import at, distribution_chart, drawn, rows, the_same
from concord.reports.charts.tradeoffs import entries as tradeoffs
from concord.reports.charts.tradeoffs import sentence, tradeoff_chart
from concord.reports.page import prose
from concord.reports.sections.segments import entries, gaps, grids
from concord.reports.sections.summary import thresholds
from concord.reports.sections.tables import main_labels
from concord.reports.sections.warnings import who
from concord.reports.sections.wins import likely, wins
from concord.reports.writing import numbers
from tests.reports.samples import sample
from tests.reports.samples.markup import Markup
from tests.reports.samples.rendered import html, markdown
from tests.reports.samples.typed import typed

LABEL = "nDCG@10"


@pytest.fixture(scope="module")
def five() -> Comparison:
    return typed(sample.five_models())


@pytest.fixture(scope="module")
def page() -> str:
    return html(sample.five_models())


def _section(page: str, name: str) -> str:
    found = re.search(rf'<section id="{name}">.*?</section>', page, re.DOTALL)
    assert found is not None
    return found[0]


@pytest.mark.whole
@pytest.mark.parametrize(
    ("key", "section"),
    [
        ("tradeoffs", "tradeoffs"),
        ("distributions", "distributions"),
        ("segments", "segments"),
    ],
)
@pytest.mark.parametrize("part", ["empty", "absent"])
def test_without_a_part_there_is_no_section_and_no_link(key: str, section: str, part: str) -> None:
    content = sample.five_models()
    content[key] = []
    if part == "absent":
        del content[key]

    page = html(content)

    assert f'id="{section}"' not in page
    assert f"#{section}" not in page
    assert markdown(content)


def test_primary_labels_lead_the_leaderboard_and_others_follow_at_the_main_cutoff(
    five: Comparison,
) -> None:
    assert five.main_k == 10
    assert main_labels(five)[:2] == ["nDCG@10", "R@20"]
    assert set(main_labels(five)[2:]) == {
        *(f"{name}@10" for name in ("P", "R", "F1", "Hit", "AP", "RR", "RBP(p=0.8)", "ERR")),
        "Rprec",
    }


def test_segments_show_the_differences_with_verdict_and_interval(five: Comparison) -> None:
    entry = entries(five)[0]
    grid = next(grid for grid in grids(five, entry) if grid.label == LABEL)
    cells = {(c.model, c.segment): c for c in entry.cells if c.label == LABEL}

    assert [name for name, _ in grid.heads] == ["0 to 5", "6 to 20", "over 20"]
    assert [line.model for line in grid.lines] == [five.baseline, *five.challengers]
    for line in grid.lines:
        for (name, _), cell in zip(grid.heads, line.cells, strict=True):
            found = cells[line.model, name]
            if line.is_baseline:
                assert cell.text == numbers.number(found.mean, 3)
            else:
                assert cell.text == numbers.signed(found.difference, 3)
                assert cell.verdict == found.verdict
            assert cell.turns == found.turns


def test_what_is_shown_has_shares_and_no_verdict(five: Comparison) -> None:
    entry = next(e for e in entries(five) if e.kind == "recommended_item")
    (grid,) = grids(five, entry)

    assert {cell.verdict for line in grid.lines for cell in line.cells} == {None}
    assert all(cell.text.endswith("%") for line in grid.lines for cell in line.cells)


def test_segments_are_in_the_page_with_their_flags_and_questions(page: str) -> None:
    section = _section(page, "segments")

    for words in ("Does it depend on wanted items?", "something turns for activity “0 to 5”"):
        assert words in section
    assert "sign turns" in section
    assert section.count('class="matrix segments"') == 4  # two primary labels, two sides of items


def test_many_models_show_the_best_and_those_that_turn() -> None:
    comparison = typed(sample.many_models(30))
    entry, last = entries(comparison)[0], comparison.ranked[-1]
    cells = (
        replace(cell, turns=cell.model == last and cell.segment == "over 20")
        for cell in entry.cells
    )
    entry = replace(entry, cells=tuple(cells))

    grid = grids(comparison, entry)[0]

    shown = [line.model for line in grid.lines]
    assert shown == [comparison.baseline, *comparison.challengers[:3], last]
    assert len(shown) + len(grid.more) == 30


def test_gaps_are_told_with_their_interval(five: Comparison) -> None:
    (first, *_) = gaps(entries(five)[0])

    assert (first["gap_text"], first["interval"]) == ("0.012", "0.001 to 0.023")


def test_gaps_are_between_groups_of_enough_users() -> None:
    content = sample.five_models()
    content["segments"][1]["gaps"] = []
    section = _section(html(content), "segments")

    assert section.count("of the groups of at least 30 users") == 2
    assert section.count("not shown: fewer than two have 30 users") == 1


def test_wins_are_the_shares_of_the_differences(five: Comparison) -> None:
    for win in wins(five, LABEL):
        row = five.difference(win.model, five.baseline, LABEL)
        assert row is not None
        assert win.better == pytest.approx(100 * or_nan(row.better))
        assert win.words == tuple(map(numbers.share, (row.better, row.equal, row.worse)))
    assert [win.model for win in wins(five, LABEL)] == five.challengers
    assert {win.best_words for win in wins(five, LABEL)} == {"> 99.9\u00a0%", "< 0.1\u00a0%"}


@pytest.mark.parametrize(
    ("probability", "words"),
    [(0.0, "< 0.1 %"), (1.0, "> 99.9 %"), (0.664, "66.4 %"), (None, "")],
)
def test_resamples_give_no_certainty(probability: float | None, words: str) -> None:
    assert likely(probability).replace("\u00a0", " ") == words


def test_a_spread_is_drawn_at_its_percentiles(five: Comparison) -> None:
    (row, *_) = rows(five, LABEL)
    for narrow in (True, False):
        chart = str(distribution_chart(five, LABEL, narrow=narrow))
        for each in drawn(five, LABEL):
            assert f"{each.a}: percentiles 5 %: {at(five, each, 5)}" in chart
    assert at(five, row, 50) == numbers.signed(row.quantiles[50], 3)
    assert the_same(row) == numbers.share(row.n_zero / row.n_users)


def test_a_model_that_never_differs_is_told_in_the_table_alone() -> None:
    content = sample.five_models()
    content["distributions"][0]["quantiles"] = []
    comparison = typed(content)
    model = content["distributions"][0]["a"]

    assert model in [row.a for row in rows(comparison, LABEL)]
    assert model not in [row.a for row in drawn(comparison, LABEL)]
    assert numbers.MISSING in _section(html(content), "distributions")


def test_the_front_is_filled_and_the_others_are_hollow(five: Comparison) -> None:
    for entry in tradeoffs(five):
        chart = str(tradeoff_chart(five, entry))
        front = [p.model for p in entry.points if p.pareto]
        hollow = chart.count('fill="#fcfbf8"')
        assert hollow == len(entry.points) - len(front)
        assert all(model in sentence(five, entry) for model in front[:4])
        assert all(f"{p.model}: {entry.x}" in chart for p in entry.points)


@pytest.mark.parametrize("n", [2, 30])
def test_trade_offs_of_few_and_many_models(n: int) -> None:
    comparison = typed(sample.two_models() if n == 2 else sample.many_models(n))

    for entry in tradeoffs(comparison):
        assert str(tradeoff_chart(comparison, entry)) == str(tradeoff_chart(comparison, entry))


def test_beaten_is_told_as_it_is_tested(five: Comparison, page: str) -> None:
    entry = tradeoffs(five)[0]
    section = _section(page, "tradeoffs")

    assert sentence(five, entry).startswith("Beaten by no other model: ")
    assert "eaten on both" not in section
    assert section.count("at least as good on both metrics and better on one") == 1
    yes = sum(not point.pareto for each in tradeoffs(five) for point in each.points)
    assert section.count("<td>yes</td>") == yes > 0


def test_a_threshold_that_is_a_share_of_the_baseline_is_told_as_one() -> None:
    content = sample.five_models()
    for metric in content["metrics"]:
        metric["min_effect"] = "2%" if metric["label"] == LABEL else "0.005"

    found = thresholds(typed(content))

    (told,) = (effect for effect, labels in found.items() if LABEL in labels)
    assert told.endswith(f" (2\N{NO-BREAK SPACE}% of {content['baseline']})")
    assert html(content)


@pytest.mark.parametrize("upwards", [True, False])
def test_wins_are_told_by_the_direction_of_the_metric(*, upwards: bool) -> None:
    content = sample.five_models()
    (metric,) = (metric for metric in content["metrics"] if metric["label"] == LABEL)
    metric["higher_is_better"] = upwards

    lede = re.sub("<[^>]*>", "", _section(html(content), "wins"))

    word = "higher" if upwards else "lower"
    assert "has a better, the same and a worse value than popularity" in lede
    assert f"{LABEL} {'↑' if upwards else '↓'}, {word} is better" in lede


def test_serious_warnings_stand_above_every_number(five: Comparison, page: str) -> None:
    (warning,) = five.serious
    alarm = page.index("Read this first</h2>")

    assert page.index("<h1>") < alarm < page.index('class="cards"')
    assert "<code>user_no_recs: zero</code> decides" in page
    assert who(warning) == ", ".join(warning.who)
    assert "Scores tie across rank 10" in _section(page, "data")
    assert "Scores tie" not in page[: page.index('class="cards"')]


def test_nothing_wrong_is_said_once() -> None:
    content = sample.five_models()
    content["warnings"] = []
    page = html(content)

    assert "Read this first" not in page
    assert page.count("No sign of sampled candidates") == 1


@pytest.mark.parametrize(
    ("checked", "words"),
    [
        (
            ["sampled_candidates", "user_sets_differ"],
            "No sign of sampled candidates, of models with other users.",
        ),
        (["ties_at_cutoff"], "No sign of ties across the cutoff in lists that scores order."),
        ([], ""),
    ],
)
def test_only_checks_that_were_made_are_named(checked: list[str], words: str) -> None:
    content = sample.five_models() | {"warnings": [], "checked": checked}
    section = _section(html(content), "data")

    assert re.findall(r"No sign of[^<]*", section) == [words][: len(checked)]


def test_hostile_users_items_and_groups_are_text() -> None:
    content = sample.hostile_names()
    markup = Markup(html(content))

    assert len(markup.all("script")) == 1
    assert markup.all("img") == []
    assert all(not any(name.startswith("on") for name in tag) for _, tag in markup.tags)
    assert "<script" not in markdown(content)


def test_code_in_a_sentence_is_escaped() -> None:
    assert prose("a `b_c: d` <i> `<b>`") == "a <code>b_c: d</code> &lt;i&gt; `&lt;b&gt;`"
