"""The report on models with replicates: intervals, chart, sentences, tables."""

import re
from xml.etree import ElementTree

import pytest

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.exported_tables import export_tables
from concord.metrics_core.results.stored import from_content
from concord.reports.charts.differences import replicate_chart
from concord.reports.markdown import render_markdown
from concord.reports.page import render_notebook
from concord.reports.text import replicates as trainings
from concord.reports.text.numbers import signed
from tests.reports.samples import sample
from tests.reports.samples.rendered import html
from tests.reports.samples.sample_replicates import replicate_sample

LABEL = "nDCG@3"
QUESTION = "Would it hold if trained again?"


def _gaps(comparison: Comparison, model: str) -> list[str]:
    """Return the means of single trainings minus that of the baseline."""
    assert comparison.replicates is not None
    score, digits = comparison.replicates.score(model, LABEL), comparison.decimals[LABEL]
    baseline = comparison.score("pop", LABEL).mean
    assert score is not None
    assert baseline is not None
    return [signed(mean - baseline, digits) for mean in score.means if mean is not None]


def test_without_replicates_there_is_no_text_about_them() -> None:
    content = sample.five_models()
    comparison = from_content(content)
    texts = [html(content), render_markdown(comparison), render_notebook(comparison)]

    assert not any(QUESTION in text or "replicates" in text for text in texts)
    assert not {"replicates", "replicate_differences"} & set(export_tables(comparison))


def test_two_trainings_have_no_interval_and_say_so() -> None:
    text = trainings.interval_note(replicate_sample((2, 3, 1)))

    assert "als was trained twice: an interval over replicates needs at least 3." in text


def test_what_two_trainings_cannot_estimate_is_not_shown() -> None:
    comparison = replicate_sample((2, 3, 1))

    rows = trainings.rows(comparison, LABEL)
    by_als = {"als" in (row.pair.a, row.pair.b): (row.share, row.chance) for row in rows}
    about_als, *_ = comparison.replicate_answers

    assert trainings.sd_text(comparison, "als", LABEL) == "not known"
    assert trainings.sd_text(comparison, "ease", LABEL) == "none seen"  # not 0.0000
    assert by_als[True] == ("not known", "")
    assert by_als[False][0] == "none seen"
    assert "2 replicates are too few" in about_als
    assert "probability" not in about_als


@pytest.mark.parametrize("narrow", [True, False])
def test_the_picture_has_a_mark_for_every_training(*, narrow: bool) -> None:
    comparison = replicate_sample()
    chart = replicate_chart(comparison, LABEL, narrow=narrow)

    single = re.findall(r"a single replicate: ([+−][0-9.]+)", chart)
    assert single == [*_gaps(comparison, "als"), *_gaps(comparison, "ease")]
    assert ElementTree.fromstring(chart).get("width") == ("350" if narrow else "940")


def test_paired_trainings_are_compared_with_their_own_seed() -> None:
    comparison = replicate_sample((4, 4, 4), paired=True)
    assert comparison.replicates is not None
    als, pop = (comparison.replicates.score(model, LABEL) for model in ("als", "pop"))
    assert als is not None
    assert pop is not None

    differences = trainings.single_differences(comparison, "als", LABEL)

    assert differences == [a - b for a, b in zip(als.means, pop.means, strict=True) if a and b]


def test_a_model_of_one_training_is_compared_with_each_of_the_baseline() -> None:
    assert len(trainings.single_differences(replicate_sample((3, 1, 3)), "ease", LABEL)) == 3
    assert len(trainings.single_differences(replicate_sample((3, 1, 1)), "ease", LABEL)) == 0


def test_the_tables_have_every_training_and_every_difference() -> None:
    comparison = replicate_sample()
    assert comparison.replicates is not None

    tables = export_tables(comparison)

    means = [mean for score in comparison.replicates.scores for mean in score.means]
    assert tables["replicates"]["mean"].to_list() == means
    ease = tables["replicates"].filter(label=LABEL, model="ease")
    assert ease["replicate"].to_list() == ["1", "2", "3", "4"]
    assert tables["replicate_differences"]["ci_low"].to_list() == [
        p.ci_low for p in comparison.replicates.pairs
    ]
