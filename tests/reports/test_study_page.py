"""The report of a study: its pictures, its words, what it lets a browser do."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

import concord
from concord.reports.studying import told
from concord.reports.studying.critical import critical_chart
from concord.reports.studying.forest import forest_chart
from concord.reports.studying.heatmap import heatmap_charts
from tests.metrics_core.studying.samples import comparison_of
from tests.reports.samples.sample_study import LABEL, MEANS
from tests.reports.samples.sample_study import study as stored_study


@pytest.fixture(scope="module")
def study() -> concord.Study:
    return stored_study()


def _texts(svg: str) -> list[str]:
    return [e.text or "" for e in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]  # fmt: skip


def test_the_heat_map_has_a_number_and_ranks_a_cell(study: concord.Study) -> None:
    wide, rest = heatmap_charts(study, LABEL, narrow=False)

    assert _texts(wide).count("+55.0%") == 8  # 0.31 / 0.20 - 1: c or a on each of eight data sets
    assert _texts(rest).count("+55.0%") == 1
    assert "rank 1 to 2" in _texts(wide)
    assert "baseline" in _texts(wide)
    assert len(heatmap_charts(study, LABEL, narrow=True)) == 3  # 4 + 4 + 1


def test_a_bar_joins_those_that_are_not_told_apart(study: concord.Study) -> None:
    assert told.alike(study, LABEL) == [("c", "a")]
    assert told.post_hoc(study, LABEL) == "2 of 3 pairs are told apart."
    assert "not told apart: c, a" in critical_chart(study, LABEL, narrow=False)
    assert _texts(critical_chart(study, LABEL, narrow=True)).count("3.00") == 1  # of base


def test_no_bar_joins_a_model_that_has_no_mean_rank() -> None:
    every = {f"d{i}": comparison_of(MEANS, i) for i in range(4)}
    scores = tuple(
        replace(s, mean=None, ci_low=None, ci_high=None) if s.model == "c" else s
        for s in every["d0"].scores
    )
    study = concord.study(every | {"d0": replace(every["d0"], scores=scores)})

    assert told.alike(study, LABEL) == [("a", "base")]
    chart = critical_chart(study, LABEL, narrow=False)
    assert "not told apart: a, base<" in chart
    assert "c" not in _texts(chart)


def test_too_few_data_sets_for_ranks_say_what_they_can_reach() -> None:
    few = concord.study({f"d{i}": comparison_of(MEANS, i) for i in range(4)})

    # 2 / 2^4 for one pair, three pairs: 0.375
    assert "the smallest p that the test can reach is 0.38 after Holm's correction: no pair" in told.post_hoc(few, LABEL)  # fmt: skip
    assert told.alike(few, LABEL) == [("c", "a", "base")]


def test_the_forest_has_a_line_a_data_set_and_the_mean(study: concord.Study) -> None:
    texts = _texts(forest_chart(study, LABEL, narrow=False))

    assert texts.count("d4") == 2  # of a and of c
    assert texts.count("all data sets") == 2
    assert any(text.endswith(" better") for text in texts)


def test_a_difference_stands_beside_one_winner_and_not_beside_two(study: concord.Study) -> None:
    answer = replace(study.answers[0], winners=("c",))

    found = told.lead(study, answer)
    assert found is not None
    assert (found[0].a, found[0].b) == ("c", "base")
    assert told.lead(study, replace(answer, winners=("a", "c"))) is None
    assert told.lead(study, replace(answer, winners=("base",))) is None
