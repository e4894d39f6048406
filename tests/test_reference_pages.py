"""Pages that docs/make_docs.py makes of metrics and presets."""

import math
import re
from pathlib import Path

import pytest

import concord as cc
from concord.metrics_core.conventions.presets import PRESETS
from concord.metrics_core.conventions.presets import preset as conventions_of_preset
from concord.metrics_core.metrics.catalogue import CATALOGUE, METRIC
from concord.metrics_core.metrics.metric import Metric
from docs.definitions import presets_of, users_in_words, values_table
from docs.metric_pages import metric_page
from docs.metric_pictures import alternative, picture
from docs.preset_pages import preset_page, presets_page
from docs.worked_example import LISTS, OF_ITEMS, TRUTH, read_formulas, worked_list
from tests.project import ROOT

PICTURES = ROOT / "docs" / "images" / "metrics"
WITHOUT_PICTURE = {  # one number over all lists, or read from more than ranks and items
    *(m.name for m in CATALOGUE if m.is_aggregate),
    *("UserCoverage", "ILD", "Serendipity", "Calibration", "PopCorr"),
}
SENTENCES = 2


@pytest.mark.parametrize("metric", CATALOGUE, ids=lambda metric: metric.name)
def test_the_page_of_a_metric_starts_with_formula_use_and_neighbours(metric: Metric) -> None:
    formula = read_formulas()[metric.name]
    page = "\n".join(metric_page(metric))

    start, _, rest = page.partition("## On a list")
    assert all(f"```math\n{each}\n```" in start for each in formula.formula)
    assert formula.text in start
    sentences = re.findall(r"[.](?: |$)", formula.text)
    assert (len(sentences), formula.text.startswith("It measures ")) == (SENTENCES, True)
    assert re.findall(r"\((\w+)\.md\)", start) == formula.see
    assert {*formula.see} <= METRIC.keys() - {metric.name}
    assert "## References\n" in rest


def test_the_formulas_are_those_of_the_catalogue() -> None:
    assert [*read_formulas()] == [metric.name for metric in CATALOGUE]


@pytest.mark.parametrize("metric", CATALOGUE, ids=lambda metric: metric.name)
def test_a_metric_of_one_list_has_a_picture_that_ends_with_its_value(metric: Metric) -> None:
    worked = worked_list(metric)

    assert (worked is None) == (metric.name in WITHOUT_PICTURE)
    assert (PICTURES / f"{metric.name}.svg").is_file() == (worked is not None)
    if worked:
        assert picture(metric, worked).count(f">{worked.label} = {worked.value:.6g}</text>") == 1
        assert alternative(metric).endswith(f"{worked.label} = {worked.value:.6g}")


@pytest.mark.parametrize("name", OF_ITEMS)
def test_what_items_add_has_the_value_of_the_list_as_its_mean(name: str) -> None:
    worked = worked_list(METRIC[name])
    assert worked

    added = [float(term) for *_, term in worked.rows]
    assert sum(added) / len(added) == pytest.approx(worked.value, rel=1e-5)


def test_a_picture_marks_the_hits_and_follows_light_and_dark() -> None:
    worked = worked_list(METRIC["nDCG"])
    assert worked

    svg = picture(METRIC["nDCG"], worked)
    assert svg.count(">hit</text>") == 2
    assert ">no item</text>" in svg
    assert "prefers-color-scheme: dark" in svg


@pytest.mark.parametrize("name", ["nDCG", "AP", "P", "R", "Coverage"])
def test_a_row_of_libraries_has_one_value_and_each_library_is_in_one_row(name: str) -> None:
    metric = METRIC[name]
    _, _, *rows = values_table(metric)

    values = [row.split(" | ")[0] for row in rows]
    assert len(values) == len({*values})
    listed = re.findall(r"\[`(\w+)`\]", " ".join(rows))
    assert sorted(listed) == sorted(presets_of(metric))
    assert listed[0] == "standard"


@pytest.mark.parametrize(
    "preset", ["standard", "rectools", "xgboost", "lenskit", "ms_recommenders"]
)
def test_values_of_a_table_are_those_that_evaluate_returns(preset: str) -> None:
    """The example has one user, so that a mean is this user's value."""
    recs, truth = {"u": LISTS["u"]}, {"u": TRUTH["u"]}
    value = cc.evaluate(recs, truth, metrics=["nDCG@5"], conventions=conventions_of_preset(preset))[
        "nDCG@5"
    ]

    (row,) = (row for row in values_table(METRIC["nDCG"]) if f"[`{preset}`]" in row)
    assert math.isclose(float(row.split(" | ")[0].strip("| ")), value, abs_tol=5e-5)


@pytest.mark.parametrize(
    ("preset", "words"),
    [
        ("standard", "0 without a list, left out without a relevant item"),
        ("ranx", "0 without a list or a relevant item"),
        ("pytrec_eval", "left out without a list, 0 without a relevant item"),
        ("ms_spark", "left out without a list or a relevant item"),
        ("lightgbm", "left out without a list, 1 without a relevant item"),
        ("mlflow_retriever", "0 without a list or a relevant item, 1 without both"),
    ],
)
def test_what_users_count_is_said_in_words(preset: str, words: str) -> None:
    assert users_in_words(conventions_of_preset(preset)) == words


@pytest.mark.parametrize("name", PRESETS)
def test_the_page_of_a_preset_has_use_differences_values_and_evidence(name: str) -> None:
    preset = PRESETS[name]
    page = "\n".join(preset_page(name))

    assert page.startswith(f"# {name}\n\n{preset.sentence}\n")
    assert f'conventions="{name}")' in page
    conventions, standard = conventions_of_preset(name), cc.preset("standard").preset_values()
    keys = {key for key, value in conventions.preset_values().items() if value != standard[key]}
    keys |= {key for values in conventions.overrides.values() for key in values}
    assert keys == {*re.findall(r"^\| \[`(\w+)`\]", page, re.MULTILINE)}
    metrics = preset.metrics.split() or [m.name for m in CATALOGUE if not m.reads_subtopics]
    assert sorted(re.findall(r"^\| \[(\w+)\]\(", page, re.MULTILINE)) == sorted(metrics)
    assert ("## Compared with the library" in page) == bool(preset.package)


def test_the_table_of_presets_has_a_line_for_each() -> None:
    listed = re.findall(r"^\| \[`(\w+)`\]\(presets/(\w+)\.md\)", "\n".join(presets_page()), re.M)

    assert listed == [(name, name) for name in PRESETS]
    folder: Path = ROOT / "docs" / "reference" / "presets"
    assert {page.stem for page in folder.iterdir()} == {*PRESETS}
