"""Names and sentences of groups of users, and metrics that share a curve over k."""

from dataclasses import replace

from concord.metrics_core.comparison.leaderboard import describe_metrics
from concord.metrics_core.comparison.segment_groups import activity_group_names
from concord.metrics_core.metrics.label import expand
from concord.metrics_core.results.comparison_parts import Segmentation
from concord.metrics_core.results.stored import from_content
from concord.reports.text.segments import segment_sentences
from tests.metrics_core.comparison.tables import cell_of, config_for
from tests.reports.samples import sample


def test_names_of_groups_of_whole_numbers() -> None:
    assert activity_group_names([0, 20, 50]) == ["0", "1 to 20", "21 to 50", "over 50"]
    assert activity_group_names([5]) == ["0 to 5", "over 5"]
    assert activity_group_names([1, 2]) == ["0 to 1", "2", "over 2"]
    assert activity_group_names([1234567, 1234569]) == [
        "0 to 1234567",
        "1234568 to 1234569",
        "over 1234569",
    ]


def test_models_with_the_same_statement_share_a_sentence() -> None:
    cells = [
        *(
            cell_of(model, "new", "worse", is_reversed=True, label="nDCG@2")
            for model in ("als", "ease")
        ),
        *(
            cell_of(model, "old", "better", is_reversed=False, label="nDCG@2")
            for model in ("als", "ease")
        ),
        cell_of("knn", "old", "worse", is_reversed=False, label="nDCG@2"),
    ]
    some = from_content(sample.two_models()).pairs[0]
    pairs = tuple(
        replace(some, label="nDCG@2", a=model, vs_baseline=True, difference=0.1)
        for model in ("als", "ease", "knn")
    )
    comparison = replace(from_content(sample.two_models()), baseline="pop", pairs=pairs)
    segmentation = Segmentation("age", "user", "", ("nDCG@2",), (), tuple(cells), 30, ())

    assert segment_sentences(comparison, segmentation, cells) == [
        "On nDCG@2, als and ease are above pop over all users, but below it for age “new”.",
        "On nDCG@2, knn is worse than pop for age “old”.",
    ]


def test_metrics_of_one_stem_share_a_curve_over_k() -> None:
    labels = [str(label) for label in expand(["nDCG", "nDCG(rel=3)", "RBP(p=0.8)"], [5, 10])]

    stems = [metric.stem for metric in describe_metrics(config_for(labels, "pop"))]

    assert stems == ["nDCG"] * 2 + ["nDCG(rel=3)"] * 2 + ["RBP(p=0.8)"] * 2
