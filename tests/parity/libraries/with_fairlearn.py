"""fairlearn's MetricFrame: means of groups of users, their difference and their ratio."""

from adapter import Value, run
from fairlearn.metrics import MetricFrame


def measure(case):
    """Yield the means of the groups as values of users."""
    frame = MetricFrame(
        metrics=lambda values, _: values.mean(),
        y_true=case["values"],
        y_pred=case["values"],
        sensitive_features=case["groups"],
    )
    yield Value("fairlearn", "mean", frame.by_group.to_dict(), None)
    yield Value("fairlearn", "difference", None, frame.difference())
    yield Value("fairlearn", "ratio", None, frame.ratio())


if __name__ == "__main__":
    run(measure, read=dict)
