"""Labels: their grammar, the names that are accepted, and what is refused."""

import re

import pytest

from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.errors import UnknownMetricError
from concord.metrics_core.metrics.catalogue import (
    AMBIGUOUS_NAMES,
    CATALOGUE,
    METRIC,
    SPELLINGS,
    normalise,
)
from concord.metrics_core.metrics.label import expand, is_pooled, parse
from tests.metrics_core.metrics import reference


@pytest.mark.parametrize(
    "text", ["nDCG@10", "AP", "AP(rel=2)@100", "RBP(p=0.8)@20", "RBP(p=0.5,rel=3)", "Rprec"]
)
def test_a_label_is_written_as_it_is_read(text: str) -> None:
    assert str(parse(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nDGC@10", r"did you mean 'nDCG@10'\?"),
        ("P@10000000000000000000", "cutoffs go up to 1,000,000; without one the whole list counts"),
        ("P@" + "9" * 5000, "is longer than 100 characters"),
        ("P@\u0663", "write it as name"),
        ("P@0", "cutoffs start at 1"),
        ("P@-1", "write it as name, parameters, cutoff"),
        ("Rprec@10", "Rprec takes no cutoff"),
        ("RBP@10", "needs p between 0 and 1"),
        ("rbp.95", "needs p between 0 and 1"),
        ("mrr(p=0.4)@5", "'p=0.4' is not a parameter of RR"),
        ("R-precision@10", "Rprec takes no cutoff"),
        ("RBP(p=1)@10", "needs p between 0 and 1"),
        ("P(p=0.5)@10", "'p=0.5' is not a parameter of P"),
        ("RBP(p=0.5,p=0.6)@10", "'p=0.6' is not a parameter"),
        ("", "write it as name, parameters, cutoff"),
    ],
)
def test_a_wrong_label_is_refused_with_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ndcg@10", "nDCG@10"),
        ("NDCG@10", "nDCG@10"),
        ("ndcg_cut_10", "nDCG@10"),
        ("ndcg_at_10", "nDCG@10"),
        ("MAP", "AP"),
        ("MAP@10", "AP@10"),
        ("mAP_at_10", "AP@10"),
        ("map_cut_10", "AP@10"),
        ("map_cut.10", "AP@10"),
        ("map(rel=2)@100", "AP(rel=2)@100"),
        ("MRR", "RR"),
        ("MRR@10", "RR@10"),
        ("recip_rank", "RR"),
        ("Recall@20", "R@20"),
        ("recall_20", "R@20"),
        ("p@5", "P@5"),
        ("P_5", "P@5"),
        ("Precision @ 5", "P@5"),
        ("HitRate@10", "Hit@10"),
        ("hit_rate@10", "Hit@10"),
        ("HR@10", "Hit@10"),
        ("Success@5", "Hit@5"),
        ("success_5", "Hit@5"),
        ("f1_score@5", "F1@5"),
        ("f1_5", "F1@5"),
        ("R-precision", "Rprec"),
        ("rbp(p=0.8)@20", "RBP(p=0.8)@20"),
        ("catalog coverage@10", "Coverage@10"),
        ("infAP", "infAP"),
        ("set_P", "P"),
        ("SetP(rel=2)", "P(rel=2)"),
        ("set_recall", "R"),
        ("SetR", "R"),
        ("set_F", "F1"),
        ("SetF", "F1"),
        ("Q-measure(beta=1)@10", "Q(beta=1)@10"),
        ("NERR@10", "nERR@10"),
    ],
)
def test_names_of_the_field_are_accepted(text: str, expected: str) -> None:
    assert str(parse(text)) == expected
    assert parse(text) == parse(expected)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("ndgc10", "'ndgc10' is unknown; did you mean 'nDCG@10'?"),
        ("recal@20", "'recal' is unknown; did you mean 'R@20'?"),
        ("ndcg@k", "did you mean 'nDCG'?"),
        ("hits@5", "'hits' is unknown; did you mean 'Hit@5'?"),
        ("nDCG@0.5", "cutoffs are whole numbers"),
        ("EPC@10", "'EPC' is unknown; did you mean 'Novelty@10'?"),
        ("accuracy@10", "'accuracy' has several meanings; did you mean 'Hit@10' or 'P@10'?"),
        ("set_P@10", "set_P reads the whole list; write P@10"),
        ("popularity", "'popularity' has several meanings; did you mean 'ARP' or 'PopCorr'?"),
    ],
)
def test_ambiguous_and_misspelled_names_are_refused_with_a_hint(text: str, hint: str) -> None:
    with pytest.raises(ValueError, match=re.escape(hint)):
        parse(text)


@pytest.mark.parametrize(
    "text", ["SetRelP", "set_relative_P", "IPrec@0.25", "iprec_at_recall_0.25"]
)
def test_metric_that_is_not_in_the_catalogue_is_not_taken_for_another(text: str) -> None:
    with pytest.raises(UnknownMetricError, match=r"is unknown$"):
        parse(text)


def test_names_in_another_sense_are_not_accepted() -> None:
    assert not AMBIGUOUS_NAMES.keys() & SPELLINGS.keys()
    assert {name for names in AMBIGUOUS_NAMES.values() for name in names} <= METRIC.keys()


def test_set_measures_are_of_the_whole_list_whatever_the_cutoffs() -> None:
    assert list(map(str, expand(["set_P", "SetR", "F1"], [5]))) == ["P", "R", "F1@5"]


@pytest.mark.parametrize(
    "text", ["banana", "NERR8@10", "@10", "10", "P@1.5", "P@-1", "PP@5", "(rel=2)"]
)
def test_where_nothing_is_meant_nothing_is_proposed(text: str) -> None:
    with pytest.raises(ValueError, match="metric") as refused:
        parse(text)
    assert "did you mean" not in str(refused.value)


def test_every_spelling_is_of_a_metric_and_of_one_only() -> None:
    assert set(SPELLINGS.values()) == set(METRIC)
    spellings = [{normalise(each.name), *each.aliases.split()} for each in CATALOGUE]
    assert sum(map(len, spellings)) == len(SPELLINGS)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_name_of_the_catalogue_is_accepted_in_any_case(spelling: str) -> None:
    assert spelling == normalise(spelling)
    for text in (spelling, spelling.upper()):
        metric = METRIC[SPELLINGS[spelling]]
        arguments = ",".join(f"{each.name}={each.example}" for each in metric.parameters)
        label = parse(f"{text}({arguments})", allow_missing_cutoff=True)
        assert label.name == metric.name


def test_all_wrong_labels_are_reported_at_once() -> None:
    with pytest.raises(ValueError, match="R@5") as refused:
        expand(["recal@5", "P", "mapp", "p_5"], [5])

    assert [line.partition(":")[0] for line in str(refused.value).splitlines()] == [
        "metric 'recal@5'", "metric 'mapp'", "metrics",
    ]  # fmt: skip


def test_metrics_are_expanded_over_cutoffs_in_order() -> None:
    labels = [str(label) for label in expand(["P", "Rprec", "AP@100", "RBP(p=0.8)"], [10, 5])]

    assert labels == ["P@5", "P@10", "Rprec", "AP@100", "RBP(p=0.8)@5", "RBP(p=0.8)@10"]


def test_a_label_named_twice_is_refused() -> None:
    for metrics in (["P", "P@5"], ["P", "precision_5"]):
        with pytest.raises(ValueError, match="P@5 is named more than once"):
            expand(metrics, [5])


def test_pooled_means_are_known() -> None:
    assert is_pooled(parse("P@5"), preset("standard", precision_aggregate="micro"))
    assert is_pooled(parse("F1@5"), preset("standard", f1_aggregate="of_means"))
    assert not is_pooled(parse("R@5"), preset("standard", precision_aggregate="micro"))


def test_every_row_has_a_formula_and_a_source() -> None:
    assert all(metric.formula.startswith(metric.name) and metric.source for metric in CATALOGUE)


def test_every_metric_of_lists_and_truth_has_a_reference() -> None:
    of_lists = {m.name for m in CATALOGUE if m.family != "beyond" and not m.reads_subtopics}
    assert set(reference.METRICS) == of_lists
