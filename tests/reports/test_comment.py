"""The comment in a pull request: what stands first, what is folded, how long it gets, and what names can do."""

import re
from dataclasses import replace

from markdown_it import MarkdownIt

from concord.metrics_core.comparison.comparison import Comparison
from concord.metrics_core.comparison.parts import Metric, Score, Verdict
from concord.metrics_core.comparison.since import Change, SegmentChange, Setting, Since
from concord.reports.commenting.comment import Comment, marker, render_comment
from concord.reports.writing.fitting import COMMENT_LIMIT
from tests.reports.samples import sample
from tests.reports.samples.typed import typed

HOSTILE = (
    "a|b\n/merge @all <img src=x> [x](http://evil.example) `c` #1 **d** www.evil.example\u202e"
)


def _change(model: str, label: str, verdict: Verdict = "worse", *, primary: bool = True) -> Change:
    return Change(
        label=label,
        model=model,
        primary=primary,
        then=0.25,
        now=0.2,
        difference=-0.05,
        ci_low=-0.06,
        ci_high=-0.04,
        relative=-0.2,
        n_users=1200,
        n_nonzero=190,
        p=0.00001,
        p_adjusted=0.00002,
        min_effect=0.005,
        verdict=verdict,
    )


def _in_segment(model: str, segment: str, difference: float = -0.1) -> SegmentChange:
    return SegmentChange(
        label="nDCG@10",
        model=model,
        segmentation="activity",
        segment=segment,
        then=0.3,
        now=0.3 + difference,
        difference=difference,
        ci_low=difference - 0.02,
        ci_high=difference + 0.02,
        n_users=195,
        n_nonzero=190,
        p_adjusted=0.0001,
        verdict="worse",
    )


def _since(**changed: object) -> Since:
    base = Since("v1", (), (), (), (), segmented=True, conventions=(), data=())
    return replace(base, **changed)  # type: ignore[arg-type]


def _gated() -> Comment:
    comparison = typed(sample.gated())
    return Comment("evaluation", comparison, comparison.gate)


def _visible(text: str) -> str:
    return re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)


def test_without_a_gate_no_decision_is_claimed() -> None:
    comparison = typed(sample.five_models())
    text = render_comment(Comment("", comparison, None))

    assert text.startswith("<!-- concord: . -->\n\n## Demo shop\n\n**")
    assert "Gate:" not in text
    assert "No `gate:` is declared, so nothing is decided." in text


def test_without_a_gate_the_changes_are_the_headline() -> None:
    comparison = typed(sample.two_models())
    changes = [_change("ease", "nDCG@10", "identical"), _change("knn", "nDCG@10")]
    text = render_comment(Comment("", comparison, None, since=_since(changes=changes)))

    assert "**Since v1: worse: knn on nDCG@10; identical: ease on nDCG@10.**" in text
    assert "| knn | nDCG@10 | worse | 0.250 → 0.200 | −0.050 (−0.060 to −0.040) | 190 of 1,200 |" in text  # fmt: skip
    assert "nDCG@10: the same for every user: ease." in text


def test_a_gate_that_cannot_decide_says_why() -> None:
    comparison = typed(sample.two_models())
    why = ("knn had other conventions: gain was 'linear' and is 'exp2'; evaluate both alike",)
    text = render_comment(Comment("", comparison, None, no_decision=why))

    assert "## Gate: no decision" in text
    assert "- knn had other conventions: gain was 'linear' and is 'exp2'; evaluate both alike" in text  # fmt: skip


def test_segments_that_are_worse_are_told_the_clearest_loss_first() -> None:
    worse = [_in_segment("knn", "new", -0.03), _in_segment("knn", "over 50", -0.2)]
    comparison = typed(sample.two_models())
    text = render_comment(Comment("", comparison, None, since=_since(worse=worse)))
    rows = re.findall(r"^\| knn \| activity “(.*?)” \|", _visible(text), re.MULTILINE)

    assert rows == ["over 50", "new"]
    text = render_comment(Comment("", comparison, None, since=_since()))
    assert "No segment is shown to be worse than it was." in text


def test_changed_conventions_and_data_are_named_before_and_after() -> None:
    settings = (Setting("gain", "linear", "exp2", ("als", "knn")),)
    data = (Setting("truth", "a.csv, sha256 0a…", "a.csv, sha256 0b…", ("als", "knn")),)
    since = _since(doubts=("gain changed",), conventions=settings, data=data, segmented=False)
    text = render_comment(Comment("", typed(sample.two_models()), None, since=since))

    assert "The numbers are no comparison:\n\n- gain changed" in text
    assert "Changed: gain, truth (below)." in _visible(text)
    assert "| gain | linear | exp2 | als, knn |" in text
    assert "| truth | a.csv, sha256 0a… | a.csv, sha256 0b… | als, knn |" in text


def test_a_request_that_widens_its_own_gate_says_so_below_the_decision() -> None:
    rules = (Setting("gate.guardrails.nDCG@10", "2%", "50%", ()), Setting("gate.undecided", "none", "pass", ()))  # fmt: skip
    text = _visible(render_comment(replace(_gated(), since=_since(rules=rules))))

    assert "**This changes what is asked of it**, in params.yaml since v1:" in text
    assert "| gate.guardrails.nDCG@10 | 2% | 50% |" in text
    assert "| gate.undecided | none | pass |" in text
    assert text.index("| gate.undecided") < text.index("### Since v1")


def test_results_that_are_older_than_what_they_rest_on_are_told_first() -> None:
    stale = "a.csv has changed since these results were made: run `dvc repro`"
    text = render_comment(replace(_gated(), stale=stale))

    assert "> **Read this first:** a.csv has changed since these results were made" in text
    assert text.index("Read this first") < text.index("### Leaderboard")


def test_the_marker_cannot_be_broken() -> None:
    assert marker("a --> <b> c") == "<!-- concord: a%20--%3E%20%3Cb%3E%20c -->"


def _many(models: int, labels: int, name: str = "model") -> Comparison:
    """Every model against the first, on primary labels all."""
    names = tuple(f"{name}-{n:03}" for n in range(models))
    metrics = tuple(
        Metric(f"nDCG@{k}", "nDCG", "nDCG", k, True, True, "2%", "accuracy", "x", "y")
        for k in range(1, labels + 1)
    )
    shown = typed(sample.five_models())
    one = shown.pairs[0]
    scores, pairs = [], []
    for metric in metrics:
        for n, model in enumerate(names):
            best = n == models - 1
            scores.append(Score(model, metric.label, n / models, n / models, 1, 900, 0, best, best))
            if n:
                pairs.append(replace(one, label=metric.label, a=model, b=names[0]))
    return replace(
        shown,
        baseline=names[0],
        primary=tuple(metric.label for metric in metrics),
        models=names,
        metrics=metrics,
        scores=tuple(scores),
        pairs=tuple(pairs),
        segments=(),
    )


def test_many_models_and_metrics_fit_and_what_is_left_out_is_counted() -> None:
    name = "m" * 500
    comparison = _many(60, 20, name)
    changes = [_change(m, label) for m in comparison.models for label in comparison.primary]
    others = [_change(m, "R@10", primary=False) for m in comparison.models]
    worse = [_in_segment(m, f"{name} {n}") for m in comparison.models for n in range(10)]
    settings = tuple(Setting(f"knob {n}", name, name * 2, comparison.models) for n in range(60))
    since = _since(
        changes=[*changes, *others],
        worse=worse,
        conventions=settings,
        data=settings,
        notes=(name * 100,),
    )
    gated = typed(sample.gated()).gate
    text = render_comment(Comment("evaluation", comparison, gated, since=since))

    assert len(text) <= COMMENT_LIMIT
    assert re.search(r"… and [\d,]+ more", text)
    assert text.count("<details>") == text.count("</details>") > 0
    assert f"| {name}-000"[:100] in text  # the baseline, which is last
    assert text.splitlines()[2] == "## Gate: worse"


def test_what_does_not_fit_at_all_is_named() -> None:
    name = "|" * 280  # each character of it is escaped
    comparison = _many(60, 20, name)
    since = _since(
        changes=[_change(m, label) for m in comparison.models for label in comparison.primary],
        notes=("#" * 3000,) * 3,
        doubts=("#" * 3000,) * 3,
        conventions=tuple(Setting(name, name, name, (name,)) for _ in range(60)),
    )
    why = ("#" * 3000,) * 3
    text = render_comment(Comment("evaluation", comparison, None, why, since=since))

    assert len(text) <= COMMENT_LIMIT
    assert "Left out, since a comment is too short for it: " in text
    assert text.splitlines()[2] == "## Gate: no decision"


def test_names_are_words_in_every_place() -> None:
    """No tag, link, mention or command of a line, wherever a name from a file stands."""
    content = sample.hostile_names()
    content["title"] = HOSTILE
    since = _since(
        revision=HOSTILE,
        doubts=(HOSTILE,),
        notes=(HOSTILE,),
        changes=[_change(HOSTILE, "nDCG@10"), _change(HOSTILE, HOSTILE, primary=False)],
        worse=[_in_segment(HOSTILE, HOSTILE)],
        conventions=(Setting(HOSTILE, HOSTILE, HOSTILE, (HOSTILE,)),),
    )
    text = render_comment(Comment(HOSTILE, typed(content), None, (HOSTILE,), since=since))
    shown = text.partition("\n")[2]  # the marker is a comment
    page = MarkdownIt("gfm-like", {"linkify": False}).enable("table").render(shown)

    tags = {name.rstrip("/") for name in re.findall(r"<(/?[a-z][a-z0-9]*/?)", page)}
    known = ["h2", "h3", "p", "strong", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "sub", "blockquote"]  # fmt: skip
    assert {tag.lstrip("/") for tag in tags} <= set(known)
    assert not re.search(r"(?<!\w)@\w|://|www\.|#1", page)
    assert not re.search(r"^\s*/", text, re.MULTILINE)  # GitLab obeys a line that begins so
    assert text.isprintable() or {c for c in text if not c.isprintable()} <= {"\n", "\xa0"}
