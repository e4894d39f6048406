"""The page of a study: its charts and sentences."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

import concord
from concord.reports.study import text
from concord.reports.study.chart import forest_chart, heatmap_charts
from tests.metrics_core.analyses.study.study_data import comparison_of
from tests.reports.samples.sample_study import LABEL, MEANS
from tests.reports.samples.sample_study import study as stored_study


@pytest.fixture(scope="module")
def study() -> concord.results.Study:
    return stored_study()


def _texts(svg: str) -> list[str]:
    return [
        e.text or "" for e in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    ]


def test_the_heat_map_has_a_number_and_ranks_a_cell(study: concord.results.Study) -> None:
    wide, remainder = heatmap_charts(study, LABEL, narrow=False)

    assert (
        _texts(wide).count("+55.0\N{NO-BREAK SPACE}%") == 8
    )  # 0.31 / 0.20 - 1: c or a on each of eight data sets
    assert _texts(remainder).count("+55.0\N{NO-BREAK SPACE}%") == 1
    assert "rank 1 to 2" in _texts(wide)
    assert "baseline" in _texts(wide)
    assert len(heatmap_charts(study, LABEL, narrow=True)) == 3  # 4 + 4 + 1


def test_a_mean_without_an_interval_says_why(study: concord.results.Study) -> None:
    pair = replace(study.pairs[0], verdict="no_interval", ci_low=None, ci_high=None)
    pair = replace(pair, reason="equal_differences")
    changed = replace(study, pairs=(pair, *study.pairs[1:]))
    reason = "equal differences show no spread"

    assert text.reason_text(pair) == reason
    assert text.reason_text(study.pairs[0]) == ""
    assert reason in _texts(forest_chart(changed, LABEL, narrow=False))
    assert f'<span class="beside">{reason}</span>' in changed.to_html()


def test_the_headline_says_whether_the_lead_is_significant(study: concord.results.Study) -> None:
    answer = study.answers[0]
    best = "c has the best nDCG@10 on"
    few = concord.study({f"d{i}": comparison_of(MEANS, i) for i in range(3)})

    assert (
        text.headline(study, answer)
        == f"{best} 5 of 9 data sets; its lead is not shown over all of them"
    )
    assert text.headline(study, replace(answer, certainty="sure")) == (
        f"{best} 5 of 9 data sets, and is ahead of every other model over all of them"
    )
    assert text.headline(few, replace(few.answers[0], certainty="too_few_datasets")) == (
        f"{best} 3 of 3 data sets, too few for an interval"
    )
    same = replace(answer, certainty="same_truth")
    assert (
        text.headline(study, same) == f"{best} 5 of 9 data sets, but some of them are the same data"
    )
    assert text.headline_explanation(study, same) == ""
    assert text.headline(study, replace(answer, winners=("a", "c"))) == (
        "a and c tie on nDCG@10 over 9 data sets"
    )


def test_the_forest_has_a_line_a_data_set_and_the_mean(study: concord.results.Study) -> None:
    texts = _texts(forest_chart(study, LABEL, narrow=False))

    assert texts.count("d4") == 2  # of a and of c
    assert texts.count("over 9 of 9") == 2
    assert any(text.endswith(" better") for text in texts)


def test_a_difference_stands_beside_one_winner_and_not_beside_two(
    study: concord.results.Study,
) -> None:
    answer = replace(study.answers[0], winners=("c",))

    pair = text.winner_difference(study, answer)
    assert pair is not None
    assert (pair.a, pair.b) == ("c", "base")
    assert text.winner_difference(study, replace(answer, winners=("a", "c"))) is None
    assert text.winner_difference(study, replace(answer, winners=("base",))) is None
