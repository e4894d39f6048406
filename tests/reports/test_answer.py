"""The short answer: how the cards speak of the leader, the baseline and whoever is close."""

import re

import pytest

from concord.reports.sections.summary import leaders, too_close
from concord.reports.writing.verdicts import VERDICTS
from tests.reports.samples import sample
from tests.reports.samples.markup import Markup
from tests.reports.samples.rendered import html, markdown
from tests.reports.samples.typed import typed

LABEL = "nDCG@10"


def _first_card(content: sample.Content) -> str:
    found = re.search(r'<article class="card">.*?</article>', html(content), re.DOTALL)
    assert found is not None
    return " ".join("".join(Markup(found[0]).text).split())


def _flagged(flags: dict[str, bool | None]) -> sample.Content:
    """A comparison whose models were told apart from the best as the flags say."""
    content = sample.five_models()
    for row in content["leaderboard"]:
        if row["label"] == LABEL and not row["best"]:
            row["indistinguishable_from_best"] = flags.get(row["model"], False)
    return content


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
    content = sample.two_models()
    for row in content["differences"]:
        row["verdict"] = "undecided"

    assert "ease undecided against popularity" in _first_card(content)


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
    comparison = typed(_flagged(flags))
    (leader,) = [leader for leader in leaders(comparison) if leader.label == LABEL]

    assert too_close(comparison, leader) == words


def test_the_card_says_that_nothing_was_tested() -> None:
    content = _flagged(dict.fromkeys(sample.FIVE))

    assert "Too close to callnot tested" in _first_card(content)


def test_a_crowd_of_close_models_is_counted() -> None:
    content = sample.many_models(12)
    close = [row for row in content["leaderboard"] if row["label"] == LABEL and not row["best"]]
    for n, row in enumerate(close):
        row["indistinguishable_from_best"] = n < 6
    comparison = typed(content)

    assert too_close(comparison, leaders(comparison)[0]).endswith(" and 2 more")


def test_without_a_test_no_correction_is_claimed() -> None:
    content = sample.five_models()
    for row in content["differences"]:
        if row["primary"]:
            row.update(p=None, p_adjusted=None, verdict="no_interval", ci_low=None, ci_high=None)

    for text in (html(content), markdown(content)):
        assert "No difference on a primary metric could be tested" in text
        assert "The p values of the primary metrics are adjusted" not in text
