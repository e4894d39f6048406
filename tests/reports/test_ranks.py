"""Marks of leading means: a mean is the best only where it beats every other model."""

import pytest

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import MIRROR, Verdict
from concord.metrics_core.results.stored import from_content
from concord.reports.text.tables import legend, marks
from tests.reports.samples import sample

LEADER, LABEL, OTHER_LABEL = "ease", "nDCG@10", "P@10"


def _leading(verdicts: dict[str, Verdict], label: str = LABEL) -> Comparison:
    """Return five models with these verdicts on the leader against others, `better` without one."""
    content = sample.five_models()
    for row in content["scores"]:
        if row["label"] == label:
            row["best"] = row["model"] == LEADER
    for row in content["pairs"]:
        if row["label"] == label and LEADER in (row["a"], row["b"]):
            other = row["b"] if row["a"] == LEADER else row["a"]
            verdict: Verdict = verdicts.get(other, "better")
            row["verdict"] = verdict if row["a"] == LEADER else MIRROR.get(verdict, verdict)
    return from_content(content)


@pytest.mark.parametrize("label", [LABEL, OTHER_LABEL])
@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ({}, {LEADER: "best"}),
        ({"als": "better_below_threshold"}, {LEADER: "best"}),
        ({"als": "undecided"}, {LEADER: "close", "als": "close"}),
        ({"als": "too_few_users"}, {LEADER: "close", "als": "close"}),
        ({"als": "worse"}, {}),  # on the users whom both have values for
        ({"als": "equivalent"}, {LEADER: "level", "als": "level"}),
        (
            {"als": "identical", "item-knn": "undecided"},
            {LEADER: "close", "als": "level", "item-knn": "close"},
        ),
        ({"als": "no_interval"}, {}),
    ],
)
def test_marks_follow_the_verdicts_on_every_label(
    verdicts: dict[str, Verdict], expected: dict[str, str], label: str
) -> None:
    assert marks(_leading(verdicts, label), label) == expected


def test_one_model_is_no_best() -> None:
    assert marks(from_content(sample.one_model()), LABEL) == {}


def test_the_legend_has_the_marks_that_occur() -> None:
    assert [*legend(_leading({"als": "equivalent"}), [LABEL])] == ["level"]
