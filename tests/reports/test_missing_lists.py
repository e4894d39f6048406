"""Groups of users without lists are told as one cause, and not as a loss."""

from dataclasses import replace

import pytest

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import (
    ACTIVITY_QUESTION,
    DataWarning,
    Segment,
    Segmentation,
)
from concord.metrics_core.results.stored import from_content
from concord.reports.markdown import render_markdown
from concord.reports.text.groups import (
    compared_cells,
    explains,
    missing_list_sentences,
    warning_sentence,
)
from concord.reports.text.segments import grids, segment_sentences
from concord.reports.text.summary import costs
from tests.metrics_core.comparison.tables import cell_of
from tests.reports.samples import sample

BASELINE = "popularity"


def comparison_of(question: str = ACTIVITY_QUESTION, **without_list: int) -> Comparison:
    """Return a comparison with a group `0` of 20 users, of whom models lack lists."""
    cells = tuple(
        replace(
            cell_of(model, "0", "worse", is_reversed=False, label="nDCG@10"),
            verdict=None if model == BASELINE else "worse",
            mean=0.289,
            difference=-0.1,
            n_without_list=without_list.get(model.replace("-", "_")),
        )
        for model in five().models
    )
    groups = (Segment("0", 20), Segment("over 0", 70))
    segmentation = Segmentation("activity", "user", question, ("nDCG@10",), groups, cells, 30, ())
    return replace(five(), segments=(segmentation,), warnings=())


def five() -> Comparison:
    return from_content(sample.five_models())


def test_a_group_without_lists_is_told_once_and_not_as_a_loss() -> None:
    comparison = comparison_of(als=20, item_knn=19, ease=4)
    (segmentation,) = comparison.segments

    assert missing_list_sentences(comparison) == [
        "19 to 20 of 20 new users get no list from item-knn and als, which counts as 0; popularity "
        "scores 0.289 there."
    ]
    cells = compared_cells(comparison, segmentation, segmentation.cells)
    assert {"item-knn", "als"}.isdisjoint(cell.model for cell in cells)
    assert segment_sentences(comparison, segmentation, segmentation.cells) == [
        "On nDCG@10, ease and random-walk are worse than popularity for new users."
    ]
    assert missing_list_sentences(comparison)[0] in comparison.verdicts


def test_a_leader_has_no_cost_where_it_has_no_lists() -> None:
    (_, cost), *_ = costs(comparison_of())

    assert cost.startswith("worse than popularity on nDCG@10 for new users (")
    assert costs(comparison_of(ease=20)) == []


def test_a_group_without_lists_of_the_baseline_is_not_compared() -> None:
    comparison = comparison_of("Does it depend on the activity of a user?", popularity=19)
    (segmentation,) = comparison.segments

    assert compared_cells(comparison, segmentation, segmentation.cells) == []
    assert missing_list_sentences(comparison) == [
        "19 of 20 users of activity “0” get no list from popularity, which counts as 0."
    ]


def test_a_group_without_any_list_has_a_note_and_one_without_some_has_words() -> None:
    all_absent = comparison_of(als=20, item_knn=19, ease=20, random_walk=20)
    some_absent = comparison_of(als=20)

    (group,) = grids(all_absent, all_absent.segments[0])[0].groups
    assert group.note == "no list from any of these models"
    (grid,) = grids(some_absent, some_absent.segments[0])
    words = {line.model: line.cells[0].word for line in grid.lines}
    assert words["als"] == "no list"
    assert words["ease"] == "worse"
    assert grid.groups[0].note == ""
    assert " no list |" in render_markdown(some_absent)


@pytest.mark.parametrize(("als", "expected"), [(20, True), (30, False)])
def test_a_group_explains_a_warning_about_its_users(als: int, expected: bool) -> None:
    comparison = comparison_of(als=20)
    details = {"without_list": {"als": als}, "n_users": 90, "unit": "user", "user_no_recs": "zero"}
    warning = DataWarning("user_sets_differ", "serious", ("als",), details)

    assert explains(comparison, warning) is expected
    is_group = warning_sentence(comparison, warning).startswith("20 new users get no list from als")
    assert is_group is expected
    told = replace(comparison, warnings=(warning,)).verdicts
    assert (missing_list_sentences(comparison)[0] in told) is not expected


def countries(name: str = "country") -> Segmentation:
    """Return two groups of 20 users each, of whom none has a list of als."""
    (activity,) = comparison_of(als=20).segments
    cells = tuple(replace(cell, segment=group) for group in "xy" for cell in activity.cells)
    groups = (Segment("x", 20), Segment("y", 20))
    return replace(activity, name=name, question="Where?", segments=groups, cells=cells)


def test_equal_counts_in_groups_of_one_segmentation_are_other_users() -> None:
    once = replace(comparison_of(), segments=(countries(),))
    twice = replace(comparison_of(), segments=(countries(), countries("region")))
    details = {"without_list": {"als": 40}, "n_users": 90, "unit": "user", "user_no_recs": "zero"}

    text = "get no list from als, which counts as 0; popularity scores 0.289 there."
    assert missing_list_sentences(once) == [
        f"20 users of country “x” {text}",
        f"20 users of country “y” {text}",
    ]
    assert missing_list_sentences(twice) == missing_list_sentences(once)
    assert explains(once, DataWarning("user_sets_differ", "serious", ("als",), details))
