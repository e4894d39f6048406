"""A serious warning, and one that changes the values of all models, is a sentence in every view."""

from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

import concord as cc
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import CHANGES_ALL_VALUES, DataWarning
from concord.metrics_core.results.stored import from_content
from concord.pipeline.commands import gate, leaderboard
from concord.pipeline.dvc import current_results
from concord.pipeline.params import read
from concord.pipeline.running.messages import LOG
from concord.reports.comment import Comment, render_comment
from concord.reports.markdown import render_markdown
from tests.metrics_core.evaluation.test_warnings import CASES
from tests.reports.samples import sample

USERS = range(40)
RATINGS = {user: {f"i{n}": 1 + (user + n) % 5 for n in range(10)} for user in USERS}
MODELS = {
    "als": {user: [f"i{(user + n) % 12}" for n in range(10)] for user in USERS},
    "pop": {user: ["i11", *(f"i{n}" for n in range(10))] for user in USERS},
}
OPTIONS: dict[str, Any] = {"metrics": ["nDCG@10", "P@5"], "baseline": "pop", "panel": False}
SENTENCE = "from 1 to 5, look like ratings"
REMEDY = 'conventions=cc.preset("standard", relevance_threshold=4)'


def _leaderboard(comparison: Comparison) -> str:
    lines: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read, "read_params", lambda: None)
        patch.setattr(current_results, "load_comparison", lambda _: comparison)
        patch.setattr(current_results, "stale_message", lambda _: None)
        patch.setattr("concord.pipeline.terminal.print_blocks", lambda blocks: lines.extend(blocks))
        arguments = type("Arguments", (), {"metric": []})
        leaderboard.run(arguments)  # type: ignore[arg-type]
    return "\n".join(map(str, lines))


VIEWS: dict[str, Callable[[Comparison], str]] = {
    "card": lambda comparison: comparison._repr_html_(),
    "text": str,
    "report.html": lambda comparison: str(comparison.to_html()),
    "report.md": render_markdown,
    "comment": lambda comparison: render_comment(Comment("", comparison, None)),
    "concord leaderboard": _leaderboard,
}


def _plain(text: str) -> str:
    """Return a text without marks of HTML and Markdown."""
    for mark, character in {"&#34;": '"', "&quot;": '"', "\\": "", "&#39;": "'"}.items():
        text = text.replace(mark, character)
    return text


@pytest.fixture(scope="module")
def rated() -> Comparison:
    return cc.compare(MODELS, RATINGS, **OPTIONS)


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_shows_the_sentence_and_the_remedy(view: str, rated: Comparison) -> None:
    text = _plain(VIEWS[view](rated))

    assert SENTENCE in text
    assert REMEDY in text


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_with_a_gate_has_what_makes_it_suspicious_once(view: str) -> None:
    compared = cc.compare(MODELS, RATINGS, gate={"guardrails": {"nDCG@10": "2%"}}, **OPTIONS)
    assert compared.gate is not None
    details = {"share": 1.0, "n_users": 40}
    warning = DataWarning("holds_truth", "serious", ("als",), details)
    decision = replace(compared.gate, outcome="suspicious", doubts=(warning,))
    comparison = replace(compared, gate=decision, warnings=(warning,))
    text = VIEWS[view](comparison)
    if view == "comment":
        text = render_comment(Comment("", comparison, decision))

    first = text.partition("</header>")[0].partition("### Data quality")[0]
    assert first.count("with several relevant items, als has") == 1


@pytest.mark.parametrize("is_shown", [False, True])
def test_the_gate_counts_the_warnings_that_views_show_and_its_decision_does_not(
    rated: Comparison, monkeypatch: pytest.MonkeyPatch, *, is_shown: bool
) -> None:
    logged: list[str] = []
    doubts = rated.prominent if is_shown else ()
    decision = SimpleNamespace(lines=(), outcome="pass", doubts=doubts)
    result = SimpleNamespace(decision=decision, notes=())
    monkeypatch.setattr(read, "read_params", lambda: None)
    monkeypatch.setattr("concord.pipeline.dvc.gate.decide_gate", lambda *_: result)
    monkeypatch.setattr(current_results, "warn_if_stale", lambda _: None)
    monkeypatch.setattr(current_results, "load_comparison", lambda _: rated)
    monkeypatch.setattr(LOG, "warning", lambda text, *values: logged.append(text % values))

    assert gate.run(Namespace(revision=None, json=False)) == 0
    line = "1 warning about these results (low_threshold): see the report"
    assert logged == ([] if is_shown else [line])


@pytest.mark.parametrize("view", ["card", "text", "report.md", "comment", "concord leaderboard"])
def test_an_acknowledged_warning_is_no_longer_shown_first(view: str) -> None:
    reason = {"low_threshold": {"reason": "any rating counts"}}
    comparison = cc.compare(MODELS, RATINGS, acknowledge=reason, **OPTIONS)

    assert REMEDY not in _plain(VIEWS[view](comparison))


def test_the_remedy_runs_and_removes_the_warning(rated: Comparison) -> None:
    (warning,) = (each for each in rated.warnings if each.code == "low_threshold")
    options = eval(f"dict({warning.fix.split('`')[1]})", {"cc": cc})
    mended = cc.compare(MODELS, RATINGS, **OPTIONS, **options)

    assert [each.code for each in mended.warnings] == ["one_list"]  # the most popular items
    for model in MODELS:
        before, after = (c.score(model, "nDCG@10").mean for c in (rated, mended))
        assert before is not None
        assert after is not None
        assert abs(before - after) > 0.0005


MENDED: dict[str, Any] = {  # conventions under which the cause is gone
    "few_lists": {"user_no_recs": "drop"},
    "fractions_irrelevant": {"relevance_threshold": 0.5},
    "low_threshold": {"relevance_threshold": 4},
    "propensity": {},
}


@pytest.mark.parametrize("code", MENDED)
def test_the_cause_changes_the_value_by_more_than_its_digits(code: str) -> None:
    lists, truth, options = CASES[code]
    options = {"metrics": ["DCG@10"], "conventions": "standard", **options}
    conventions = cc.preset("standard", **MENDED[code])
    before = cc.evaluate(lists, truth, **options)
    after = cc.evaluate(lists, truth, **{**options, "conventions": conventions})

    (warning,) = (each for each in before.warnings if each.code == code)
    assert warning.is_prominent
    assert abs(before["DCG@10"] - after["DCG@10"]) > 0.0005


def test_each_code_is_shown_with_its_fix_in_the_decision() -> None:
    assert {*MENDED} | {"sampled_corrected"} == CHANGES_ALL_VALUES
    for code in CHANGES_ALL_VALUES:
        content = sample.two_models() | {"warnings": []}
        warning = DataWarning(code, "notice", (), {"why": "because"})
        comparison = from_content(content)
        object.__setattr__(comparison, "warnings", (warning,))
        assert f"{code}: why because" in str(comparison)
