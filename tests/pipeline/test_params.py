"""params.yaml: what is refused, and in which words."""

from pathlib import Path

import pytest

from pipeline.checks import InputError
from pipeline.params import read_params
from tests.project import ROOT

DEMO = (ROOT / "params.yaml").read_text(encoding="utf-8")


def _refusal(folder: Path, text: str) -> str:
    path = folder / "params.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_params(path)
    return str(refused.value).replace(str(path), "params.yaml")


def test_the_demo_is_accepted() -> None:
    assert next(iter(read_params(ROOT / "params.yaml").models)) == "popularity"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "  gain: linear",
            "  gain: exponential",
            "conventions.gain: is 'exponential'\n  fix: choose one of: binary | linear",
        ),
        (
            "  gain: linear",
            "  gian: linear",
            "conventions.gian: is not a convention\n  fix: did you mean 'gain'?",
        ),
        ("  attach: child", "  attach: below", "mlflow.attach: is 'below'\n  fix: input should be"),
        ("  required: true", "", "mlflow.required: is missing\n  fix: add `required:` there"),
        (
            "  als: {path: data/demo/als.run.gz}",
            "  als: {path: data/demo/als.run.gz, training_run_id: 12}",
            "models.als.training_run_id: is 12\n  fix: input should be a valid string",
        ),
        ("  gain: linear", "", "conventions.gain: is missing\n  fix: add `gain: …`"),
        (
            "  gain: linear",
            "  gain: exp2",
            "but preset 'standard' has 'linear'\n  fix: set it to 'linear', or `preset: custom`",
        ),
        ("  preset: standard", "  preset: standart", "did you mean 'standard'?"),
        (
            "  overrides: {}",
            "  overrides: {RR: {ties: item_best}}",
            "overrides.RR.ties: is 'item_best'",
        ),
        (
            "  overrides: {}",
            "  overrides: {NDCG: {gain: exp2}}",
            "conventions.overrides.NDCG: 'NDCG' is no metric\n  fix: did you mean 'nDCG'?",
        ),
        (
            "  overrides: {}",
            "  overrides: {RR: {gain: exp2}}",
            "conventions.overrides.RR.gain: does not change RR\n  fix: remove it; gain concerns CG, DCG, nDCG",
        ),
        (
            "  baseline: popularity",
            "  baseline: pop",
            "comparison.baseline: 'pop' is not among the models",
        ),
        ("  ks: [1, 3, 5, 10, 20]", "  ks: [5, 5]", "evaluation.ks: repeats a cutoff: [5, 5]"),
        ("  ks: [1, 3, 5, 10, 20]", "  ks: [0]", "evaluation.ks.0: is 0"),
        ("  rank_base: 1", "  rank_base: 2", "input.rank_base: is 2"),
        (
            "  min_effect: 0.005",
            "  min_effect: lots",
            "comparison.min_effect: is 'lots'\n  fix: 'lots' is no effect: write a number such as 0.005, or a share of the baseline such as 2%",
        ),
        ("  popularity:\n", "  als.v1:\n", "'als.v1' is no name of a model"),
        ("  popularity:\n", "  2024:\n", "2024 is no name of a model"),
        ("  popularity:\n", "  truth:\n", "'truth' is no name of a model"),
        ("  engine: duckdb", "  engine: spark", "evaluation.engine: is 'spark'"),
        ("edges: [0, 20, 50]", "edges: [20, 0]", "segments.activity: [20, 0] does not rise"),
        (
            "shares: [0.5, 0.8]",
            "shares: [0.8]",
            "segments.wanted items.truth_item.shares: is [0.8]",
        ),
        ("by: activity", "by: mood", "segments.activity: is {'by': 'mood'"),
        (
            "  users: {path",
            "  # users: {path",
            "segments.channel: needs users, which background does not name",
        ),
        ("adjustment: holm", "adjustment: none", "comparison.adjustment: is 'none'"),
        ("report:\n", "reprot:\n", "reprot: is not a key that Concord knows"),
        ("report:\n", "models:\n", "is not valid YAML"),
    ],
)
def test_a_wrong_value_is_refused_with_its_key(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in DEMO
    text = _refusal(tmp_path, DEMO.replace(old, new, 1))

    assert message in text
    assert text.startswith("params.yaml")


def test_all_problems_are_named_at_once(tmp_path: Path) -> None:
    text = DEMO.replace("  gain: linear", "  gain: x").replace("  ideal: truth_at_k", "  ideal: y")

    assert _refusal(tmp_path, text).count("fix:") == 2


def test_a_missing_file_says_where_to_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="run in the root of the project"):
        read_params(tmp_path / "params.yaml")


def test_the_scale_of_the_grades_is_free_under_a_preset(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(DEMO.replace("relevance_threshold: 1", "relevance_threshold: 2"))

    assert read_params(path).pinned.relevance_threshold == 2
