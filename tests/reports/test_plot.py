"""`comparison.plot`: pictures by name, for notebooks and files."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from concord.metrics_core.errors import InputError
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.stored import from_content
from concord.reports.charts.differences import difference_chart
from concord.reports.charts.means import means_chart
from tests.reports.samples import sample
from tests.reports.samples.picture import Picture

LABEL = "nDCG@10"


@pytest.fixture(scope="module")
def five() -> Comparison:
    return from_content(sample.five_models())


@pytest.mark.parametrize(
    ("kind", "of", "title"),
    [
        ("differences", None, f"{LABEL}: mean of each model, and its difference to popularity"),
        ("leaderboard", "P@10", "P@10: mean of each model"),
        ("segments", None, f"{LABEL} by activity: difference of each model to popularity"),
        ("curves", "nDCG", "nDCG: difference to popularity by cutoff k"),
    ],
)
def test_a_plot_is_shown_and_saved_with_its_title(
    five: Comparison, tmp_path: Path, kind: str, of: str | None, title: str
) -> None:
    plot = five.plot(kind, of)  # type: ignore[arg-type]
    path = plot.save(tmp_path / "plot.svg")

    root = ElementTree.parse(path).getroot()
    assert plot.title == title
    assert next(root.iter("{http://www.w3.org/2000/svg}text")).text == title
    assert plot.svg == path.read_text(encoding="utf-8")
    assert title in plot._repr_html_()
    assert repr(plot) == f"{title}; `save('plot.svg')` writes the picture"


def test_a_plot_is_the_picture_of_the_report(five: Comparison) -> None:
    chart = difference_chart(five, "R@20", narrow=False)

    assert chart in five.plot("differences", "R@20").html


def test_a_mean_is_where_its_axis_says(five: Comparison) -> None:
    picture = Picture(means_chart(five, LABEL))
    value_at = picture.horizontal_axis()

    for model in five.models:
        score = five.score(model, LABEL)
        assert value_at(picture.mark(model).x) == pytest.approx(score.mean, abs=0.002)
        assert [value_at(x) for x, _ in picture.line(model)] == pytest.approx(
            [score.ci_low, score.ci_high], abs=0.002
        )


@pytest.mark.parametrize(
    ("kind", "of", "message"),
    [
        (None, None, "kind: None is not a picture"),
        ([], None, "kind: [] is not a picture"),
        ("curves", 5, "of: there is no picture 'curves' of 5"),
        ("bars", None, "kind: 'bars' is not a picture\n  fix: known: "),
        (
            "leaderboard",
            "ndcg@10",
            "of: there is no picture 'leaderboard' of 'ndcg@10'\n  fix: did",
        ),
        ("segments", None, "kind: there is no picture 'segments', as no models were"),
    ],
)
def test_a_plot_that_cannot_be_drawn_is_refused(
    five: Comparison, kind: Any, of: Any, message: str
) -> None:
    with pytest.raises(InputError) as refused:
        replace(five, segments=()).plot(kind, of)

    assert str(refused.value).startswith(message)


def test_a_plot_is_saved_as_svg_only(five: Comparison, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not the name of an SVG file"):
        five.plot("leaderboard").save(tmp_path / "plot.png")

    assert [*tmp_path.iterdir()] == []
