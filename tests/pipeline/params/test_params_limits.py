"""params.yaml: every number and name has a limit that is told in words, and what is left empty is told."""

from pathlib import Path

import pytest

from concord.metrics_core.checking.problems import InputError
from concord.pipeline.params.read import examined, read_params
from tests.project import ROOT

DEMO = (ROOT / "params.yaml").read_text(encoding="utf-8")
KS = "ks: [1, 3, 5, 10, 20]"
MANY = "1" + "0" * 400


def _refused(folder: Path, *changes: tuple[str, str]) -> list[str]:
    """The problems without the line, each as `key: what | fix`."""
    text = DEMO
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = folder / "params.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_params(path)
    return [
        f"{problem.where.partition(', ')[2]}: {problem.what} | {problem.fix}"
        for problem in refused.value.problems
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (KS, "ks: [10000000000000000000]", "evaluation.ks.0: is 10000000000000000000 | write at most 1,000,000"),
        (KS, "ks: [1e19]", "evaluation.ks.0: is 1e+19 | input should be a valid integer"),
        (KS, f"ks: {list(range(1, 10_001))}", "write a list of at most 100"),
        ("metrics: [nDCG, AP,", "metrics: [nDCG@10000000000000000000, AP,", "cutoffs go up to 1,000,000"),
        ("min_effect: 0.005", "min_effect: 1e308", "1e+308 is no effect: write a number such as 0.005, or a share of the baseline such as 2%; at most 1,000,000,000 or 1000%"),
        ("min_effect: 0.005", "min_effect: {default: 1e308}", "1e+308 is no effect"),
        ("min_effect: 0.005", "min_effect: 1001%", "'1001%' is no effect"),
        ("min_effect: 0.005", f"min_effect: {MANY}%", "is no effect"),
        ("min_effect: 0.005", f"min_effect: {MANY}", "is no effect"),
        ("confidence: 0.95", "confidence: 0.99999999999", "write at most 0.9999"),
        ("resamples: 2000", "resamples: 2000000000", "write at most 1,000,000"),
        ("seed: 20261121", f"seed: {MANY}", "write at most 9,223,372,036,854,775,807"),
        ("rows_per_partition: 5000000", f"rows_per_partition: {MANY}", "write at most 1,000,000,000,000"),
        ("edges: [0, 20, 50]", f"edges: [0, {MANY}]", "write at most 1,000,000,000,000"),
        ("column: channel,", "column: channel, edges: [.nan, .inf, 1e300],", "input should be a finite number"),
        ("relevance_threshold: 1 #", "relevance_threshold: 1e308 #", "numbers go up to 1,000,000,000,000,000"),
        ("relevance_threshold: 1 #", f"relevance_threshold: {MANY} #", "numbers go up to 1,000,000,000,000,000"),
        ("err_max_grade: 3 #", "err_max_grade: 1e6 #", "number > 0, up to 1000"),
        ("  gain: linear", "  gain: {map: {1: 1e308}}", "numbers go up to"),
        ("  als: {path", f"  {'a' * 300}: {{path", "is no name of a model | use letters, digits, `_` and `-`, at most 100,"),
        ("data/demo/als.run.gz", "''", "models.als.path: is '' | name a file or folder"),
        ("experiment: concord-demo", "experiment: ''", "mlflow.experiment: is ''"),
        ("  preset: standard", "  preset:", "conventions.preset: is empty | name a preset, or write `custom`"),
        ("  overrides: {}", "  overrides:", "conventions.overrides: is empty | write {} where there are none"),
        ("  overrides: {}", "  overrides: {RR: }", "conventions.overrides.RR: is empty | write a mapping such as {rr_cutoff: none}"),
        ("  overrides: {}", "  overrides: {RR: {1: 2}}", "conventions.overrides.RR.1: is not a convention"),
        ("  overrides: {}", "  overrides: [RR]", "conventions.overrides: is ['RR'] | write {}"),
        ("  overrides: {}", "  overrides: {map: {ap_denominator: k}}", "'map' is no metric | did you mean 'AP'?"),
        ("primary: [nDCG@10,", "primary: [ndgc@10,", "comparison.primary: 'ndgc@10' is not evaluated | did you mean 'nDCG@10'?"),
        ("primary: [nDCG@10,", "primary: [recall@20,", "'recall@20' is not evaluated | did you mean 'R@20'?"),
        ("primary: [nDCG@10,", "primary: [nDCG@10, nDCG @10,", "comparison.primary: names nDCG@10 more than once | name each label once"),
        ("  seed: 20261121", "  cases: [als, eas]\n  seed: 20261121", "comparison.cases: 'eas' is not among the models | did you mean 'ease'?"),
        ("  seed: 20261121", "  cases: [als, als]\n  seed: 20261121", "comparison.cases: 'als' is named twice"),
        ("  seed: 20261121", "  cases: [als]\n  seed: 20261121", "comparison.cases: names 1 model | name two models, such as [als, ease]"),
        ("primary: [nDCG@10,", "primary: [Coverage@10,", "Coverage@10 is one number over all users"),
        ("min_effect: 0.005", "min_effect: {ndcg@10: 0.1, default: 0}", "comparison.min_effect: 'ndcg@10' is not evaluated"),
    ],
)  # fmt: skip
def test_what_no_evaluation_can_use_is_refused_in_words(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    told = _refused(tmp_path, (old, new))

    assert message in told[0] or any(message in each for each in told)
    assert all(len(each) < 1000 for each in told)


def test_a_thousand_labels_are_the_most(tmp_path: Path) -> None:
    hundred = f"ks: {list(range(1, 101))}"
    (told,) = _refused(tmp_path, (KS, hundred), ("Hit, Rprec", "Hit, CG, DCG, Rprec"))

    assert told.startswith("evaluation.metrics: asks for 1,105 labels, metrics times cutoffs")


def test_wrong_metrics_conventions_primary_and_baseline_are_told_at_once(tmp_path: Path) -> None:
    told = _refused(
        tmp_path,
        ("metrics: [nDCG, AP, RR,", "metrics: [NDCG, map, recall@20,"),
        ("primary: [nDCG@10,", "primary: [nDCG@11,"),
        ("baseline: popularity", "baseline: pop"),
        ("  preset: standard", "  preset: standart"),
        ("  gain: linear", "  gian: linear"),
        ("  overrides: {}", "  overrides: {RR: {ties: best}}"),
    )

    assert sorted(each.partition(":")[0] for each in told) == sorted(
        [
            *["evaluation.metrics"] * 3,
            *("comparison.baseline", "comparison.primary", "conventions.preset"),
            *("conventions.gain", "conventions.gian", "conventions.overrides.RR.ties"),
        ]
    )


def test_a_misspelt_metric_makes_no_second_problem_of_the_primary_one(tmp_path: Path) -> None:
    (told,) = _refused(tmp_path, ("metrics: [nDCG,", "metrics: [NDCG,"))

    assert "did you mean 'nDCG'?" in told


def test_what_has_its_shape_is_checked_though_something_else_has_not(tmp_path: Path) -> None:
    told = _refused(
        tmp_path,
        ("wilcoxon: false", "wilcoxn: false"),
        ("metrics: [nDCG,", "metrics: [NDCG,"),
        ("  gain: linear", "  gain: best"),
    )

    assert [each.partition(":")[0] for each in told] == [
        "evaluation.metrics",
        "comparison.wilcoxn",
        "conventions.gain",
    ]


def test_the_demo_has_nothing_wrong() -> None:
    params, refusal = examined(ROOT / "params.yaml")

    assert params is not None
    assert refusal is None
