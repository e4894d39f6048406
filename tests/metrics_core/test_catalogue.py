"""Labels: their grammar, and what is refused."""

import pytest

from metrics_core.catalogue import CATALOGUE, expand, is_pooled, parse
from metrics_core.presets import preset


@pytest.mark.parametrize(
    "text", ["nDCG@10", "AP", "AP(rel=2)@100", "RBP(p=0.8)@20", "RBP(p=0.5,rel=3)", "Rprec"]
)
def test_a_label_is_written_as_it_is_read(text: str) -> None:
    assert str(parse(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nDGC@10", "did you mean 'nDCG'"),
        ("P@0", "cutoffs start at 1"),
        ("P@-1", "write it as name, parameters, cutoff"),
        ("Rprec@10", "Rprec takes no cutoff"),
        ("RBP@10", "needs p between 0 and 1"),
        ("RBP(p=1)@10", "needs p between 0 and 1"),
        ("P(p=0.5)@10", "'p=0.5' is no parameter of P"),
        ("RBP(p=0.5,p=0.6)@10", "'p=0.6' is no parameter"),
        ("", "write it as name, parameters, cutoff"),
    ],
)
def test_a_wrong_label_is_refused_with_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(text)


def test_metrics_are_expanded_over_cutoffs_in_order() -> None:
    labels = [str(label) for label in expand(["P", "Rprec", "AP@100", "RBP(p=0.8)"], [10, 5])]

    assert labels == ["P@5", "P@10", "Rprec", "AP@100", "RBP(p=0.8)@5", "RBP(p=0.8)@10"]


def test_a_label_named_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="P@5 is named more than once"):
        expand(["P", "P@5"], [5])


def test_pooled_means_are_known() -> None:
    assert is_pooled(parse("P@5"), preset("standard", precision_aggregate="micro"))
    assert is_pooled(parse("F1@5"), preset("standard", f1_aggregate="of_means"))
    assert not is_pooled(parse("R@5"), preset("standard", precision_aggregate="micro"))


def test_every_row_has_a_formula_and_a_source() -> None:
    assert all(metric.formula.startswith(metric.name) and metric.source for metric in CATALOGUE)
