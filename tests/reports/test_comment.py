"""The comment in a pull request: its length, and hostile names; test_snapshots.py has its text."""

import re
from dataclasses import replace

from markdown_it import MarkdownIt

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import DataWarning
from concord.metrics_core.results.gate import Decision
from concord.metrics_core.results.history import Setting
from concord.metrics_core.results.stored import from_content
from concord.reports.comment import Comment, marker, render_comment
from concord.reports.text.markdown import COMMENT_LIMIT
from tests.reports.samples import sample
from tests.reports.samples.sample_comment import change, in_segment, since
from tests.reports.test_missing_lists import comparison_of

HOSTILE = (
    "a|b\n/merge @all <img src=x> [x](http://evil.example) `c` #1 **d** www.evil.example\u202e"
)


def test_the_marker_cannot_be_broken() -> None:
    assert marker("a --> <b> c") == "<!-- concord: a%20--%3E%20%3Cb%3E%20c -->"


def _many(name: str) -> Comparison:
    """Return fourteen models with long names; all metrics are primary."""
    content = sample.many_models()
    names = {model: f"{name}-{n:03}" for n, model in enumerate(content["models"])}
    content = sample.renamed(content, names)
    content["primary"] = [metric["label"] for metric in content["metrics"]]
    return from_content(content)


def test_many_models_and_metrics_fit_and_what_is_left_out_is_counted() -> None:
    name = "m" * 500
    comparison = _many(name)
    changes = [change(m, label) for m in comparison.models for label in comparison.primary]
    others = [change(m, "R@20", primary=False) for m in comparison.models]
    worse = [in_segment(m, f"{name} {n}") for m in comparison.models for n in range(10)]
    settings = tuple(
        Setting(f"convention {n}", name, name * 2, comparison.models) for n in range(60)
    )
    changed = since(
        changes=[*changes, *others],
        worse=worse,
        conventions=settings,
        data=settings,
        notes=(name * 100,),
        training_params=settings,
    )
    gated = from_content(sample.gated()).gate
    text = render_comment(Comment("evaluation", comparison, gated, since=changed))

    assert len(text) <= COMMENT_LIMIT
    assert re.search(r"… and [\d,]+ more", text)
    assert text.count("<details>") == text.count("</details>") > 0
    assert f"| {name}-000"[:100] in text  # the baseline, which is last
    assert text.splitlines()[2] == "## ❌ Gate: failed"


def test_value_outside_the_possible_range_is_named() -> None:
    name = "|" * 280  # each character of it is escaped
    comparison = _many(name)
    changed = since(
        changes=[change(m, label) for m in comparison.models for label in comparison.primary],
        notes=("#" * 3000,) * 3,
        mismatches=("|" * 3000,) * 3,
        conventions=tuple(Setting(name, name, name, (name,)) for _ in range(60)),
    )
    why = ("#" * 3000,) * 3
    text = render_comment(Comment("evaluation", comparison, None, why, since=changed))

    assert len(text) <= COMMENT_LIMIT
    assert "Left out, as the comment would be too long: " in text
    assert text.splitlines()[2] == "## ⚪ Gate: no decision"


def test_change_of_a_label_that_the_stored_comparison_lacks_is_shown() -> None:
    comparison = from_content(sample.two_models())
    changed = since(changes=[change("knn", "AP@7")])

    assert "AP@7" in render_comment(Comment("", comparison, None, since=changed))


def test_names_are_words_in_every_place() -> None:
    """A name from a file becomes no tag, link, mention or command."""
    content = sample.renamed(sample.hostile_names(), {"P@20": HOSTILE})
    content["title"] = HOSTILE
    changed = since(
        revision=HOSTILE,
        mismatches=(HOSTILE,),
        notes=(HOSTILE,),
        changes=[change(HOSTILE, "nDCG@10"), change(HOSTILE, HOSTILE, primary=False)],
        worse=[in_segment(HOSTILE, HOSTILE)],
        conventions=(Setting(HOSTILE, HOSTILE, HOSTILE, (HOSTILE,)),),
        training_params=(Setting(HOSTILE, HOSTILE, HOSTILE * 2, (HOSTILE,)),),
    )
    text = render_comment(Comment(HOSTILE, from_content(content), None, (HOSTILE,), since=changed))
    body = text.partition("\n")[2]  # the marker is a comment
    page = MarkdownIt("gfm-like", {"linkify": False}).enable("table").render(body)

    tags = {name.rstrip("/") for name in re.findall(r"<(/?[a-z][a-z0-9]*/?)", page)}
    known = {
        "h2", "h3", "p", "strong", "ul", "li", "table", "thead", "tbody", "tr", "th", "td",
        "details", "summary", "sub", "blockquote", "code",
    }  # fmt: skip
    assert {tag.lstrip("/") for tag in tags} <= known
    assert set(re.findall("<code>(.*?)</code>", page)) <= {"gate:", "user_no_recs: zero", "c"}
    assert not re.search(r"(?<!\w)@\w|://|www\.|#1", page)
    assert not re.search(r"^\s*/", text, re.MULTILINE)  # GitLab obeys a line that begins so
    assert text.isprintable() or {c for c in text if not c.isprintable()} <= {"\n", "\xa0"}


def _section(text: str, title: str) -> str:
    return text.partition(title)[2].partition("\n##")[0]


def test_only_segments_that_lose_more_than_all_users_are_not_folded() -> None:
    comparison = from_content(sample.two_models())
    overall = change("knn", "nDCG@10")  # -0.05, from -0.06 to -0.04
    losses = {"as all": -0.05, "a": -0.09, "b": -0.1, "c": -0.2, "d": -0.3}
    worse = [in_segment("knn", name, loss) for name, loss in losses.items()]
    changed = since(changes=[overall], worse=worse)
    text = render_comment(Comment("", comparison, None, since=changed))
    shown, _, rest = _section(text, "### Segments that are worse").partition("<details>")

    assert re.findall("activity=(.*?) ", shown) == ["d", "c", "b"]
    assert "Other segments that are worse (2)" in rest
    assert re.findall(r"activity=(.*?) \|", rest) == ["a", "as all"]


def test_without_a_revision_segments_that_lose_more_than_all_users_are_not_folded() -> None:
    comparison = from_content(sample.two_models())
    activity, *_ = comparison.segments
    of_model = [each for each in activity.cells if each.model == "ease"]
    worse = replace(of_model[0], difference=-0.3, diff_low=-0.4, diff_high=-0.2, verdict="worse")
    comparison = replace(comparison, segments=(replace(activity, cells=(worse,)),))
    text = render_comment(Comment("", comparison, None))

    assert "### Segments that are worse\n\n- " in text
    assert "segments that are worse (1)" not in text


def test_unchanged_models_share_one_line() -> None:
    comparison = from_content(sample.two_models())
    changes = [change("als", "nDCG@10")]
    changes += [
        change(m, label, "identical") for m in ("ease", "knn") for label in ("nDCG@10", "R@20")
    ]
    text = render_comment(Comment("", comparison, None, since=since(changes=changes)))

    assert "**Since v1, 1 of 3 models changed. Worse: als on nDCG@10.**" in text
    assert "\nUnchanged for every user: ease, knn.\n" in text


def test_cutoffs_of_a_metric_with_the_same_verdict_are_one_row() -> None:
    changes = [
        replace(change("knn", label, primary=False), difference=difference)
        for label, difference in (
            ("P@1", -0.07),
            ("P@5", -0.03),
            ("AP@5", -0.05),
            ("AP", -0.04),
            ("latency@p99", -0.02),
        )
    ]
    two = Comment("", from_content(sample.two_models()), None)

    text = render_comment(replace(two, since=since(changes=changes)))

    assert "<summary>Other metrics with a significant change (5)</summary>" in text
    assert "\n| knn | P@1 and 5 | worse | −0.070 to −0.030 |\n" in text
    assert "\n| knn | AP@5 | worse | −0.050 (−0.060 to −0.040) |\n" in text
    assert "\n| knn | AP | worse | −0.040 (−0.060 to −0.040) |\n" in text
    assert "| worse | −0.020 (−0.060 to −0.040) |\n" in text  # of the 99th percentile


def test_warnings_of_the_revision_are_folded_but_suspicious_ones() -> None:
    two = Comment("", from_content(sample.two_models()), None)
    (known,) = two.comparison.prominent
    details = {"kind": "item", "example": None, "models": ["knn"]}
    new = DataWarning("foreign_ids", "serious", ("knn",), details)
    suspicious = replace(two.comparison, warnings=(known, new))

    text = render_comment(replace(two, comparison=suspicious, since=since(warnings=(known, new))))

    shown, _, rest = text.partition("<details><summary>Warnings as at v1 (1)</summary>")
    first_words, new_words = known.sentence[:20], new.sentence[:20]
    assert first_words in rest.partition("</details>")[0]
    assert first_words not in shown
    assert new_words in shown


def test_address_of_the_report_is_one_link() -> None:
    comparison = from_content(sample.two_models())
    address = "https://ci.example/1/report.html?a=b> [x](y"
    text = render_comment(Comment("", comparison, None, report=address))

    link = "https://ci.example/1/report.html?a=b%3E%20%5Bx%5D%28y"
    assert f"\n[The whole report](<{link}>)\n" in text


def test_the_decision_is_linked_in_the_folder_of_the_results() -> None:
    comparison = from_content(sample.two_models())
    address = "https://ci.example/1/results/report/report.html"
    text = render_comment(Comment("", comparison, None, report=address))

    decision = "https://ci.example/1/results/comparison/decision.concord"
    assert f"[The whole report](<{address}>), [the decision](<{decision}>)\n" in text


def test_a_gate_without_models_is_no_failure() -> None:
    comparison = from_content(sample.one_model())
    decision = Decision("baseline", "popularity", 0.95, False, "worse", ())

    text = render_comment(Comment("", comparison, decision))

    assert text.splitlines()[2] == "## ⚪ Gate: no decision"


def test_missing_lists_of_a_group_are_the_warning() -> None:
    comparison = comparison_of(als=20)
    details = {"without_list": {"als": 20}, "n_users": 90, "unit": "user", "user_no_recs": "zero"}
    warning = DataWarning("user_sets_differ", "serious", ("als",), details)

    text = render_comment(Comment("", replace(comparison, warnings=(warning,)), None))

    assert (
        "> 20 new users get no list from als, which counts as 0; popularity scores 0.289 there."
        in text
    )
