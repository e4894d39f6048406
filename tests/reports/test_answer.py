"""The short answer: how the cards speak of the leader, the baseline and whoever is close."""

import re

import pytest

from reports.markdown import render_markdown
from reports.page import render_html
from reports.sections.summary import leaders, too_close
from reports.writing.results import Results
from reports.writing.verdicts import VERDICTS
from tests.reports.samples import sample
from tests.reports.samples.markup import Markup

LABEL = "nDCG@10"


def _first_card(comparison: sample.Comparison) -> str:
    found = re.search(r'<article class="card">.*?</article>', render_html(comparison), re.DOTALL)
    assert found is not None
    return " ".join("".join(Markup(found[0]).text).split())


def _flagged(flags: dict[str, bool | None]) -> sample.Comparison:
    """A comparison whose models were told apart from the best as the flags say."""
    comparison = sample.five_models()
    for row in comparison["leaderboard"]:
        if row["label"] == LABEL and not row["best"]:
            row["indistinguishable_from_best"] = flags.get(row["model"], False)
    return comparison


def test_every_verdict_reads_as_a_phrase_with_the_name_of_the_other_model() -> None:
    assert {name: f"{verdict.word} {verdict.link}" for name, verdict in VERDICTS.items()} == {
        "better": "better than",
        "better_below_threshold": "slightly better than",
        "better_without_interval": "better, no interval for the difference to",
        "equivalent": "equivalent to",
        "identical": "identical to",
        "undecided": "undecided against",
        "too_few_users": "too few differ to judge it against",
        "no_interval": "no interval for the difference to",
        "worse_without_interval": "worse, no interval for the difference to",
        "worse_below_threshold": "slightly worse than",
        "worse": "worse than",
    }


def test_a_leader_that_is_not_told_apart_is_undecided_against_the_baseline() -> None:
    comparison = sample.two_models()
    for row in comparison["differences"]:
        row["verdict"] = "undecided"

    assert "ease undecided against popularity" in _first_card(comparison)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({}, "no other model"),
        ({"als": True}, "als"),
        ({"als": True, "item-knn": None}, "als; not tested: item-knn"),
        ({"item-knn": None}, "no other model; not tested: item-knn"),
        (dict.fromkeys(["popularity", "item-knn", "als", "random-walk"]), "not tested"),
    ],
)
def test_a_model_without_a_test_is_not_told_as_told_apart(
    flags: dict[str, bool | None], words: str
) -> None:
    results = Results(_flagged(flags))
    (leader,) = [leader for leader in leaders(results) if leader.label == LABEL]

    assert too_close(results, leader) == words


def test_the_card_says_that_nothing_was_tested() -> None:
    comparison = _flagged(dict.fromkeys(sample.FIVE))

    assert "Too close to callnot tested" in _first_card(comparison)


def test_a_crowd_of_close_models_is_counted() -> None:
    comparison = sample.many_models(12)
    close = [row for row in comparison["leaderboard"] if row["label"] == LABEL and not row["best"]]
    for n, row in enumerate(close):
        row["indistinguishable_from_best"] = n < 6
    results = Results(comparison)

    assert too_close(results, leaders(results)[0]).endswith(" and 2 more")


def test_without_a_test_no_correction_is_claimed() -> None:
    comparison = sample.five_models()
    for row in comparison["differences"]:
        if row["primary"]:
            row.update(p=None, p_adjusted=None, verdict="no_interval", ci_low=None, ci_high=None)

    for text in (render_html(comparison), render_markdown(comparison)):
        assert "No difference on a primary metric could be tested" in text
        assert "The p values of the primary metrics are adjusted" not in text
