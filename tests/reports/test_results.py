import pytest

from reports.writing.results import Results
from tests.reports.samples import sample


@pytest.fixture(scope="module")
def five() -> Results:
    return Results(sample.five_models())


def test_models_are_ranked_by_the_first_primary_metric(five: Results) -> None:
    means = [five.score(model, "nDCG@10")["mean"] for model in five.models]
    assert means == sorted(means, reverse=True)


def test_lower_values_come_first_where_lower_is_better() -> None:
    comparison = sample.five_models()
    for metric in comparison["metrics"]:
        metric["higher_is_better"] = False
    results = Results(comparison)
    means = [results.score(model, "nDCG@10")["mean"] for model in results.models]
    assert means == sorted(means)


def test_a_difference_read_the_other_way_round_is_mirrored(five: Results) -> None:
    forward = five.difference("ease", "popularity", "nDCG@10")
    backward = five.difference("popularity", "ease", "nDCG@10")
    assert forward is not None
    assert backward is not None
    assert backward["difference"] == -forward["difference"]
    assert (backward["ci_low"], backward["ci_high"]) == (-forward["ci_high"], -forward["ci_low"])
    assert (backward["better"], backward["worse"]) == (forward["worse"], forward["better"])
    assert backward["verdict"] == "worse"
    assert backward["relative"] == -forward["difference"] / forward["mean_a"]
    assert backward["p_adjusted"] == forward["p_adjusted"]


def test_pairs_that_were_not_compared_are_none(five: Results) -> None:
    assert five.difference("ease", "ease", "nDCG@10") is None


def test_primary_labels_lead_the_leaderboard_and_others_follow_at_the_main_cutoff(
    five: Results,
) -> None:
    assert five.main_k == 10
    assert five.main_labels[:2] == ["nDCG@10", "R@20"]
    assert set(five.main_labels[2:]) == {
        *(f"{name}@10" for name in ("P", "R", "F1", "Hit", "AP", "RR", "RBP(p=0.8)", "ERR")),
        "Rprec",
    }
