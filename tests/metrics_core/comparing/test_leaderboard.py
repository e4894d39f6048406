"""What is known of the labels of a comparison."""

from concord.metrics_core.comparing.leaderboard import metrics_of
from concord.metrics_core.metrics.catalogue import expand
from tests.metrics_core.comparing.tables import asked_of


def test_metrics_say_to_which_curve_over_k_they_belong() -> None:
    labels = [str(label) for label in expand(["nDCG", "nDCG(rel=3)", "RBP(p=0.8)"], [5, 10])]

    stems = [metric.stem for metric in metrics_of(asked_of(labels, "pop"))]

    assert stems == ["nDCG"] * 2 + ["nDCG(rel=3)"] * 2 + ["RBP(p=0.8)"] * 2
