"""Labels become names that MLflow takes, and no two labels share one."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from concord.metrics_core.metrics.catalogue import CATALOGUE, Label, parse
from concord.pipeline.tracking.content.mlflow_names import curve_key, interval_key, metric_key

TAKEN_BY_MLFLOW = re.compile(r"^[/\w.\- ]{1,250}$")  # a colon is refused on Windows


@pytest.mark.parametrize(
    ("label", "key", "curve"),
    [
        ("nDCG@10", "accuracy/ndcg_at_10", "by_k/ndcg"),
        ("RBP(p=0.8)@20", "accuracy/rbp.p-0.8_at_20", "by_k/rbp.p-0.8"),
        ("AP(rel=2)@100", "accuracy/ap.rel-2_at_100", "by_k/ap.rel-2"),
        ("RBP(p=0.95,rel=1.5)", "accuracy/rbp.p-0.95.rel-1.5", "by_k/rbp.p-0.95.rel-1.5"),
        ("P(rel=1000000)@1", "accuracy/p.rel-1000000_at_1", "by_k/p.rel-1000000"),
    ],
)
def test_a_name_can_be_read(label: str, key: str, curve: str) -> None:
    assert metric_key(parse(label)) == key
    assert curve_key(parse(label)) == curve


def test_an_interval_is_named_after_its_metric() -> None:
    assert interval_key(parse("nDCG@10"), "ci_low") == "interval/ndcg_at_10_ci_low"


def test_names_of_metrics_differ_in_more_than_case() -> None:
    assert len({metric.name.lower() for metric in CATALOGUE}) == len(CATALOGUE)


_NUMBERS = st.floats(1e-9, 1e9) | st.integers(1, 10**7).map(float)


@st.composite
def _labels(draw: st.DrawFn) -> Label:
    names = draw(st.sets(st.sampled_from(["p", "rel"])))
    arguments = tuple((name, draw(_NUMBERS)) for name in sorted(names))
    return Label(
        draw(st.sampled_from(CATALOGUE)), draw(st.none() | st.integers(1, 10_000)), arguments
    )


def _identity(label: Label) -> object:
    return label.name, label.k, label.arguments


@given(st.lists(_labels(), min_size=2, max_size=40, unique_by=_identity))
def test_no_two_labels_share_a_name_and_mlflow_takes_them_all(labels: list[Label]) -> None:
    keys = [metric_key(label) for label in labels]

    assert len(set(keys)) == len(labels)
    assert all(TAKEN_BY_MLFLOW.match(key) for key in keys)


@given(st.lists(_labels(), min_size=2, max_size=40, unique_by=lambda label: _identity(label.at(1))))
def test_no_two_curves_share_a_name(labels: list[Label]) -> None:
    assert len({curve_key(label) for label in labels}) == len(labels)
