"""The first screen: what a gate decided, and what the leading models cost, with and without a gate."""

import re
from typing import Any

import pytest

from concord.reports.sections import gate
from concord.reports.sections.costs import costs
from tests.reports.samples import sample
from tests.reports.samples.markup import Markup
from tests.reports.samples.rendered import html, markdown
from tests.reports.samples.typed import typed


def _first_screen(content: sample.Content) -> str:
    found = re.search(r'<header id="answer".*?</header>', html(content), re.DOTALL)
    assert found is not None
    return " ".join("".join(Markup(found[0]).text).split())


def _worse(content: sample.Content, model: str, label: str, **other: Any) -> None:
    for row in content["differences"]:
        if (row["a"], row["b"], row["label"]) == (model, sample.BASELINE, label):
            row.update(verdict="worse", **other)


def test_without_a_gate_nothing_is_said_of_one() -> None:
    content = sample.five_models()

    assert "Gate:" not in _first_screen(content)
    assert "ate:" not in markdown(content)


def test_the_decision_stands_before_the_findings_in_page_and_markdown() -> None:
    content = sample.gated()
    shown = _first_screen(content)

    assert content["gate"]["outcome"] == "worse"
    assert "Gate: worse Against popularity: random-walk is worse; ease passes." in shown
    assert shown.index("Gate: worse") < shown.index("models are better than popularity")
    for line in content["gate"]["lines"][1:]:
        assert " ".join(line.split()).replace("`", "") in shown
    assert "**Gate: worse**" in markdown(content)
    assert "| random-walk | nDCG@10 of activity “0 to 5” |" in markdown(content).replace(
        "&#64;", "@"
    )


def test_page_and_sentences_have_the_same_words_for_a_margin_and_a_place() -> None:
    content = sample.gated()
    line = content["gate"]["lines"][1]
    (shown,) = (
        each for each in gate.lines(typed(content))
        if each.what in line and each.allowed in line and each.model in line
    )  # fmt: skip

    assert f"{shown.allowed} allowed" in line
    assert "5\N{NO-BREAK SPACE}%" in {each.allowed[-4:-1] for each in gate.lines(typed(content))}


def test_every_guardrail_has_a_line_and_the_worst_stand_first() -> None:
    lines = gate.lines(typed(sample.gated()))

    assert len(lines) == 2 * (3 + 1)
    assert [line.outcome for line in lines] == sorted(
        (line.outcome for line in lines), key=["worse", "undecided", "pass"].index
    )
    (better,) = [line for line in lines if line.said == "better"]
    assert (better.model, better.allowed) == ("ease", "better")


def test_what_is_let_through_is_not_told_as_a_plain_pass() -> None:
    content = sample.gated()
    decision = content["gate"]
    for model in decision["models"]:
        model["outcome"] = "pass"
        model["guardrails"][0]["outcome"] = "undecided"
    decision.update(outcome="pass", undecided_passes=True)

    assert "Gate: pass, though undecided" in _first_screen(content)


def test_a_leader_that_costs_nothing_is_told_with_what_was_looked_at() -> None:
    comparison = typed(sample.five_models())

    ((model, cost),) = costs(comparison)

    assert model == "ease"
    assert cost.startswith("significantly worse than popularity on none of 46 metrics and cutoffs")
    assert "none of 9 segments" in cost


def test_a_leader_that_loses_elsewhere_says_so_at_the_top() -> None:
    content = sample.five_models()
    _worse(content, "ease", "P@5", difference=-0.02, relative=-0.1, ci_low=-0.03, ci_high=-0.01)
    _worse(content, "ease", "P@10", difference=-0.01, relative=-0.05, ci_low=-0.02, ci_high=-0.005)
    _worse(content, "ease", "RR@10", difference=-0.1, relative=-0.3, ci_low=-0.2, ci_high=-0.05)
    cell = next(c for c in content["segments"][0]["cells"] if c["model"] == "ease" and c["verdict"])
    cell.update(verdict="worse", difference=-0.05, diff_low=-0.06, diff_high=-0.04)
    name = content["segments"][0]["name"]
    told = (
        "worse than popularity on RR@10 (−0.100, −30.0 %), P@10 (−0.0100, −5.0 %, also @5); "
        f"and on {cell['label']} of {name} “{cell['segment']}” (−0.050)."
    )

    shown = _first_screen(content)

    assert f"The cost of ease: {told}" in shown.replace("\xa0", " ")
    assert shown.index("The cost of ease") < shown.index("models are better than popularity")
    assert "**The cost of ease:** worse than popularity on RR" in markdown(content)


def test_a_loss_is_told_in_the_direction_of_its_metric() -> None:
    content = sample.five_models()
    (metric,) = [each for each in content["metrics"] if each["label"] == "P@10"]
    metric["higher_is_better"] = False
    _worse(content, "ease", "P@10", difference=0.01, relative=0.05, ci_low=0.005, ci_high=0.02)

    ((_, cost),) = costs(typed(content))

    assert "lower is better" in cost


@pytest.mark.parametrize("content", [sample.one_model(), sample.without_numbers()])
def test_where_nobody_leads_the_baseline_there_is_no_cost(content: sample.Content) -> None:
    assert costs(typed(content)) == []
