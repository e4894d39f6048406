import base64
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from concord.metrics_core.comparison.parts import MIRROR
from concord.reports.writing.verdicts import VERDICTS
from tests.reports.samples import sample
from tests.reports.samples.markup import Markup
from tests.reports.samples.rendered import html

CONTRACT_VERDICTS = (
    "better|worse|better_below_threshold|worse_below_threshold|better_without_interval|worse_without_interval|equivalent|undecided"
    "|too_few_users|identical|no_interval"
)


@pytest.fixture(scope="module")
def page() -> str:
    return html(sample.five_models())


@pytest.fixture(scope="module")
def hostile() -> str:
    return html(sample.hostile_names())


def test_the_first_verdict_is_the_headline(page: str) -> None:
    head, _, remark = sample.five_models()["verdicts"][0].partition(" (")
    assert f'<h1>{head}. <span class="aside">{remark.removesuffix(").")}</span></h1>' in page


def test_many_findings_are_folded_behind_the_first() -> None:
    content = sample.two_models()
    content["verdicts"] = [f"Finding {i}." for i in range(9)]
    page = html(content)
    assert all(f"Finding {i}." in page for i in range(9))
    assert "<summary>4 more findings</summary>" in page


def test_sections_stand_in_the_order_a_reader_asks(page: str) -> None:
    ids = [str(a["id"]) for a in Markup(page).all("section")]
    assert ids == [
        "differences",
        "leaderboard",
        "curves",
        "tradeoffs",
        "pairs",
        "wins",
        "distributions",
        "segments",
        "definitions",
        "data",
        "conventions",
        "provenance",
    ]


@pytest.mark.whole
@pytest.mark.parametrize(
    "content",
    [
        sample.five_models(),
        sample.two_models(),
        sample.many_models(12),
        sample.hostile_names(),
        sample.without_numbers(),
        sample.one_model(),
        sample.against_baseline_only(),
    ],
    ids=["five", "two", "twelve", "hostile", "null", "one", "baseline only"],
)
def test_every_kind_of_comparison_gives_well_formed_markup(content: sample.Content) -> None:
    markup = Markup(html(content))
    assert markup.unclosed == []
    ids = [a["id"] for _, a in markup.tags if "id" in a]
    assert len(ids) == len(set(ids))
    links = {str(a["href"])[1:] for a in markup.all("a")}
    assert links <= set(ids)


def test_the_same_comparison_gives_the_same_bytes_in_another_process(
    page: str, tmp_path: Path
) -> None:
    written = tmp_path / "comparison.json"
    written.write_text(json.dumps(sample.five_models()), encoding="utf-8")
    program = (
        "import sys; from pathlib import Path; from concord.metrics_core.comparison.stored import read_comparison;"
        "from reports.page import render_html;"
        "sys.stdout.buffer.write(render_html(read_comparison(Path(sys.argv[1]))).encode())"
    )
    again = subprocess.run(
        [sys.executable, "-c", program, written],
        capture_output=True,
        check=True,
        env={"PYTHONHASHSEED": "123"},
        cwd=Path(__file__).parents[2],
    )
    assert again.stdout == page.encode()


def test_no_time_host_or_absolute_path_is_in_the_page(page: str) -> None:
    assert not re.search(r"/(root|home|work|tmp|usr|Users)/", page)
    assert not re.search(r"\b20\d\d-\d\d-\d\d\b", page)


def test_nothing_is_fetched(page: str) -> None:
    markup = Markup(page)
    for attributes in (a for _, a in markup.tags):
        for key in ("src", "href", "xlink:href", "srcset", "action", "data"):
            assert str(attributes.get(key, "#")).startswith(("#", "data:,"))
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", page)


def test_the_policy_admits_the_one_script_by_its_hash_and_nothing_else(page: str) -> None:
    (policy,) = [a["content"] for a in Markup(page).all("meta") if "http-equiv" in a]
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert f"script-src 'sha256-{digest}'" in policy
    assert "unsafe-eval" not in policy


def test_hostile_names_do_no_harm(hostile: str) -> None:
    markup = Markup(hostile)
    assert len(markup.all("script")) == 1
    assert len(markup.all("style")) == 1
    assert not markup.all("img")
    handlers = [key for _, a in markup.tags for key in a if key.startswith("on")]
    assert handlers == []
    assert not [a for _, a in markup.tags if "javascript:" in str(a.get("href", ""))]


def test_hostile_names_are_shown_as_they_are(hostile: str) -> None:
    text = " ".join(Markup(hostile).text)
    for name in sample.HOSTILE:
        assert name in text
    assert "49" not in re.findall(r"a\|b` \S+ \S+ \S+", text)


def test_every_table_has_a_caption_and_heads_with_a_scope(page: str) -> None:
    markup = Markup(page)
    assert len(markup.all("caption")) == len(markup.all("table"))
    assert all(a.get("scope") in {"col", "row", "rowgroup"} for a in markup.all("th"))


def test_every_picture_is_named_and_has_a_table_behind_it(page: str) -> None:
    charts = re.findall(
        r'<svg xmlns[^>]*class="chart" role="img"[^>]*>(<title>[^<]+</title><desc>)', page
    )
    assert len(charts) == page.count('class="chart"')
    assert page.count("as a table</summary>") == 2 * len(sample.PRIMARY) + 2


def test_every_verdict_of_the_contract_has_a_word_and_a_shape_of_its_own() -> None:
    assert set(VERDICTS) == set(CONTRACT_VERDICTS.split("|"))
    looks = {(verdict.path, verdict.filled) for verdict in VERDICTS.values()}
    assert len(looks) == len({verdict.word for verdict in VERDICTS.values()}) == len(VERDICTS)
    assert all(MIRROR[MIRROR[name]] == name for name in MIRROR)


def test_all_knobs_and_overrides_are_in_the_page(page: str) -> None:
    conventions = sample.five_models()["conventions"]
    for knob in conventions["knobs"]:
        assert f"<code>{knob['name']}</code>" in page
        assert knob["sentence"] in page
    assert "<code>{log: 2}</code>" in page
    assert "<code>ap_denominator: relevant</code>" in page


def test_the_sentence_about_what_the_tests_cover_is_always_there(page: str) -> None:
    assert sample.five_models()["covers"] in page


def test_p_values_of_zero_and_missing_numbers_are_written_honestly() -> None:
    page = html(sample.without_numbers())
    assert not re.search(r"\b(nan|NaN|None|inf)\b", page)


def test_twelve_models_are_compared_in_a_heat_map_and_fewer_in_a_matrix(page: str) -> None:
    many = html(sample.many_models(12))
    assert page.count('<table class="matrix">') == len(sample.PRIMARY)
    assert '<table class="matrix">' not in many
    assert "row minus column, all pairs of models" in many


@pytest.mark.whole
def test_pages_of_many_models_stay_small_enough_for_git() -> None:
    assert len(html(sample.many_models(30))) < 3_000_000
