"""HTML pages: well-formed markup, no requests, hostile names, titles of charts and tables."""

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape

import pytest

import concord as cc
from concord.metrics_core.results.comparison_parts import MIRROR
from concord.metrics_core.results.history import History, InputChange
from concord.reports.charts.history import history_chart, new_verdicts
from concord.reports.page import prose, render_history, render_html
from concord.reports.text.verdict_styles import VERDICTS
from tests.metrics_core.analyses.study.study_data import comparison_of
from tests.reports.samples import sample
from tests.reports.samples.markup import Markup
from tests.reports.samples.rendered import html, markdown
from tests.reports.samples.sample_error_analysis import cases
from tests.reports.samples.sample_history import FIRST, GONE, HISTORY, REUSE, SECOND, standing
from tests.reports.samples.sample_replicates import replicate_sample
from tests.reports.samples.sample_study import MEANS


@pytest.fixture(scope="module")
def page() -> str:
    return html(sample.gated())


SHAPES = {
    "gated": sample.gated,
    "many": sample.many_models,
    "hostile": sample.hostile_names,
    "nothing": sample.without_numbers,
    "one": sample.one_model,
}


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_of_comparison_gives_well_formed_markup(name: str) -> None:
    markup = Markup(html(SHAPES[name]()))
    assert markup.unclosed == []
    ids = [a["id"] for _, a in markup.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert {str(a["href"])[1:] for a in markup.all("a")} <= set(ids)
    assert len(markup.all("caption")) == len(markup.all("table"))
    assert all(a.get("scope") in {"col", "row", "rowgroup"} for a in markup.all("th"))


def test_a_link_to_a_folded_section_opens_it_without_a_script(page: str) -> None:
    """A browser opens the folds around the target of a link, but not those inside of it."""
    folds = re.findall(
        r'<details class="reference">.*?(?=<details class="reference">|</main>)', page, re.DOTALL
    )
    assert len(folds) > 3
    assert all(re.search(r'</summary>\n<section id="\w+"', fold) for fold in folds)


@pytest.mark.parametrize("key", [{}, None], ids=["empty", "absent"])
def test_without_a_part_there_is_no_section_and_no_link(key: object) -> None:
    content = sample.five_models()
    parts = {
        "tradeoffs": "tradeoffs",
        "segments": "segments",
        "panel": "definitions",
    }
    for part in parts:
        content[part] = []
        if key is None:
            del content[part]

    page = html(content)

    for section in parts.values():
        assert f'id="{section}"' not in page
        assert f"#{section}" not in page
    assert "Would another definition change the answer?" not in page + markdown(content)


def test_no_time_host_or_absolute_path_is_in_the_page(page: str) -> None:
    assert not re.search(r"/(root|home|work|tmp|usr|Users)/", page)
    assert not re.search(r"\b20\d\d-\d\d-\d\d\b", page)


def _history_with(name: str) -> str:
    revision = replace(
        FIRST,
        name=name,
        tags=(name,),
        subject=name,
        standings=(standing(name, 0.3, "better"),),
        changed=(InputChange("truth", name),),
    )
    return render_history(replace(HISTORY, title=name, revisions=(FIRST, revision), notes=(name,)))


def _study_with(name: str) -> str:
    means = {f"{model}{name}": mean for model, mean in MEANS.items()}
    comparisons = {
        f"d{i}{name}": comparison_of(means | {f"only {i}{name}": 0.1}, i, title=name)
        for i in range(5)
    }
    return cc.study(comparisons, title=name, sources=dict.fromkeys(comparisons, name)).to_html()


PAGES: dict[str, Callable[[str], str]] = {
    "report": lambda _: html(sample.hostile_names()),
    "trainings": lambda name: render_html(replicate_sample(names=(name, "a|b*c*", "pop&amp;"))),
    "cases": lambda name: cases(name=name, title=name).to_html(),
    "history": _history_with,
    "study": _study_with,
}


@pytest.mark.parametrize("kind", PAGES)
def test_names_become_no_markup_and_a_page_fetches_nothing_and_runs_its_one_script(
    kind: str,
) -> None:
    hostile = '<script>alert("x")</script><img src=x onerror=alert(1)>`\'"&'
    page = PAGES[kind](hostile)
    markup = Markup(page)

    assert markup.unclosed == []
    assert hostile not in page
    assert not markup.all("img")
    for attributes in (a for _, a in markup.tags):
        assert not [key for key in attributes if key.startswith("on")]
        for key in ("src", "href", "xlink:href", "srcset", "action", "data"):
            assert str(attributes.get(key, "#")).startswith(("#", "data:,"))
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", page)
    (policy,) = [str(a["content"]) for a in markup.all("meta") if "http-equiv" in a]
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'; ")
    assert f"script-src 'sha256-{digest}';" in policy
    assert "unsafe-eval" not in policy
    assert "unsafe-inline' 'sha" not in policy


def test_every_picture_is_named_and_has_a_table_behind_it(page: str) -> None:
    charts = re.findall(
        r'<svg xmlns[^>]*class="chart" role="img"[^>]*>(<title>[^<]+</title><desc>)', page
    )
    assert len(charts) == page.count('class="chart"')
    assert page.count("as a table</summary>") == len(sample.PRIMARY) + 3


def test_every_verdict_has_a_shape_of_its_own() -> None:
    by_order = VERDICTS["undecided_by_order"]
    assert replace(by_order, meaning="") == replace(VERDICTS["undecided"], meaning="")
    others = [verdict for verdict in VERDICTS.values() if verdict != by_order]
    looks = {(verdict.path, verdict.filled) for verdict in others}
    assert len(looks) == len({verdict.word for verdict in others}) == len(others)
    assert all(MIRROR[MIRROR[name]] == name for name in MIRROR)


def test_missing_numbers_are_not_printed_as_none_or_nan() -> None:
    numbers, _, _ = html(sample.without_numbers()).partition('<section id="definitions">')
    assert not re.search(r"\b(nan|NaN|None|inf)\b", numbers)


def test_many_models_are_compared_with_baseline_and_leader_and_fewer_in_a_matrix(page: str) -> None:
    many = html(sample.many_models())
    assert page.count('<table class="matrix">') == len(sample.PRIMARY)
    assert '<table class="matrix">' not in many
    assert (
        f"{sample.PRIMARY[0]}: 25 pairs in full" in many
    )  # 13 with the baseline, 12 more with the leader
    assert "only the pairs with popularity and with the leader are compared" in many
    assert len(many) < 1_000_000  # pages lie in git


def test_code_in_a_sentence_is_escaped() -> None:
    assert prose("a `b_c: d` <i> `<b>`") == "a <code>b_c: d</code> &lt;i&gt; `&lt;b&gt;`"


@pytest.mark.parametrize("name", sample.HOSTILE_IDS)
def test_a_hostile_name_in_code_is_text(name: str) -> None:
    text = f"set `columns={{{name!r}: 1}}`, `{name}` or {name}"
    html = prose(text).replace("<code>", "`").replace("</code>", "`")

    assert not {"<", ">"} & {*html}
    assert unescape(html) == text


def test_a_serious_warning_comes_first_in_a_history() -> None:
    page = render_history(replace(HISTORY, reuse=replace(REUSE, severity="serious")))

    assert page.index("Read this first") < page.index('<section id="metric-1">')


def test_lines_break_where_conventions_did_and_verdicts_that_turned_are_marked() -> None:
    chart = str(history_chart(HISTORY, "R@1", narrow=False))
    unbroken = str(history_chart(replace(HISTORY, revisions=(FIRST, SECOND)), "R@1", narrow=False))

    assert new_verdicts(HISTORY, "R@1") == {"better", "worse"}
    assert chart.count("stroke-dasharray") == 1
    assert "stroke-dasharray" not in unbroken
    assert "<title>bbb2222, als: 0.250 (0.240 to 0.260), worse</title>" in chart
    assert chart == str(history_chart(HISTORY, "R@1", narrow=False))


def test_the_picture_of_a_history_says_what_changed_and_when() -> None:
    texts = re.findall(
        r"<text[^>]*>([^<]*)</text>", str(history_chart(HISTORY, "R@1", narrow=True))
    )

    assert {"other lists: als; als: train.als.al…", "gain: linear → exp2", "2026-11-23"} <= {*texts}


def test_a_history_of_which_nothing_is_known_says_so() -> None:
    assert "No results" in render_history(History("", 0.95, (GONE,), None))


@pytest.mark.parametrize("n", [1, 50])
def test_a_history_of_one_revision_and_of_many_has_two_charts(n: int) -> None:
    many = tuple(replace(SECOND, name=f"r{i:06}") for i in range(n))

    assert render_history(replace(HISTORY, revisions=many)).count('class="chart"') == 2
