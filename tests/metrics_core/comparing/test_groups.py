"""Groups of users: how they are named, and what is said of them."""

from dataclasses import replace

from concord.metrics_core.comparing.segments.grouped import up_to
from concord.metrics_core.comparing.sentences.flags import flags
from concord.metrics_core.comparison.parts import SegmentCell, Verdict
from tests.reports.samples import sample
from tests.reports.samples.typed import typed


def test_names_of_groups_of_whole_numbers() -> None:
    assert up_to([0, 20, 50]) == ["0", "1 to 20", "21 to 50", "over 50"]
    assert up_to([5]) == ["0 to 5", "over 5"]
    assert up_to([1, 2]) == ["0 to 1", "2", "over 2"]
    assert up_to([1234567, 1234569]) == ["0 to 1234567", "1234568 to 1234569", "over 1234569"]


def _cell(model: str, segment: str, verdict: Verdict, *, turns: bool) -> SegmentCell:
    return SegmentCell(
        label="nDCG@2",
        segment=segment,
        model=model,
        mean=None,
        ci_low=None,
        ci_high=None,
        n_users=0,
        difference=None,
        diff_low=None,
        diff_high=None,
        n_nonzero=None,
        p_adjusted=None,
        verdict=verdict,
        turns=turns,
    )


def test_models_of_which_the_same_is_to_be_said_share_a_sentence() -> None:
    cells = [
        _cell(model, segment, verdict, turns=turns)
        for model in ("als", "ease")
        for segment, turns, verdict in TOLD
    ] + [_cell("knn", "old", "worse", turns=False)]
    some = typed(sample.two_models()).pairs[0]
    overall = {("nDCG@2", model): replace(some, difference=0.1) for model in ("als", "ease", "knn")}

    assert flags("age", cells, overall, "pop") == [
        "On nDCG@2, als and ease are above pop over all users, but below it for age “new”.",
        "On nDCG@2, knn is worse than pop for age “old”.",
    ]


TOLD: list[tuple[str, bool, Verdict]] = [("new", True, "worse"), ("old", False, "better")]
