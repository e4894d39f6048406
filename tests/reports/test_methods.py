"""The text for a paper: metrics, users, tests, margins, versions and conventions."""

from collections.abc import Callable
from typing import Any

import pytest

from concord.metrics_core.results.stored import from_content
from tests.reports.samples import sample

MOST_WORDS = 120


def test_what_was_done_is_one_text() -> None:
    comparison = from_content(sample.two_models())

    assert comparison.methods == (
        "We compared 1 model with popularity by nDCG@10 (Järvelin & Kekäläinen 2002), R@20 "
        "(van Rijsbergen 1979). Differences are paired, user by user, over 59 users. The "
        "intervals of 2 primary comparisons hold together with 95\N{NO-BREAK SPACE}%. "
        "Methods: paired t tests, joint levels of correlated differences (Hothorn et al. 2008). "
        "Smallest relevant difference: 0.02 (nDCG@10), 0.02 (R@20). Computed with Concord 0.1.0; "
        f"conventions custom {comparison.conventions.fingerprint}."
    )


@pytest.mark.parametrize(
    "content",
    [sample.one_model, sample.five_models, sample.many_models, sample.without_numbers],
)
def test_it_has_at_most_120_words_and_no_advice(content: Callable[[], Any]) -> None:
    text = from_content(content()).methods

    assert len(text.split()) <= MOST_WORDS
    assert "set `" not in text
