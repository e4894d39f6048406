"""params.yaml: what is refused, and in which words."""

from pathlib import Path

import pytest

from concord.metrics_core.checking.problems import InputError
from concord.pipeline.params.read import read_params
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
            "models.als.training_run_id: is 12\n  fix: write a text",
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
        ("  popularity:\n", "  Truth:\n", "'Truth' is no name of a model"),
        ("  popularity:\n", '  "als\\n":\n', "is no name of a model"),
        ("  engine: duckdb", "  engine: pandas", "evaluation.engine: is 'pandas'"),
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
        ("report:\n", "models:\n", "key 'models' stands twice\n  fix: keep one of them"),
    ],
)
def test_a_wrong_value_is_refused_with_its_key(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in DEMO
    text = _refusal(tmp_path, DEMO.replace(old, new, 1))

    assert message in text
    assert text.startswith("params.yaml")


LINES = {line.strip(): number for number, line in enumerate(DEMO.splitlines(), start=1)}


def _at(start: str) -> int:
    return next(number for line, number in LINES.items() if line.startswith(start))


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        pytest.param(
            "  ks: [", "  kss: [", "ks: [", "evaluation.kss: is not a key that Concord knows\n  fix: did you mean 'ks'?",
            marks=pytest.mark.bad_input(52, "refused: did you mean 'ks'?"), id="unknown key",
        ),
        (
            "  als: {path", "  als: {pth", "als: {path",
            "models.als.pth: is not a key that Concord knows\n  fix: did you mean 'path'?",
        ),
        (
            "by: activity, edges", "by: activity, edgs", "activity: {by",
            "segments.activity.activity.edgs: is not a key that Concord knows\n  fix: did you mean 'edges'?",
        ),
        (
            "  confidence: 0.95", "  confidnce: 0.95", "confidence:",
            "comparison.confidnce: is not a key that Concord knows\n  fix: did you mean 'confidence'?",
        ),
        (
            "engine: duckdb #", "engine: duckbd #", "engine:",
            "evaluation.engine: is 'duckbd'\n  fix: input should be 'duckdb', 'polars' or 'spark'; did you mean 'duckdb'?",
        ),
        *(
            pytest.param(
                "ks: [1, 3,", f"ks: [{k}, 3,", "ks: [", f"evaluation.ks.0: is {shown}",
                marks=pytest.mark.bad_input(53, f"refused: k = {k}"), id=f"k = {k}",
            )
            for k, shown in {"0": "0", "-1": "-1", "2.5": "2.5", "ten": "'ten'", "yes": "'yes'", "010": "'010'"}.items()
            if k != "010"
        ),
        pytest.param(
            "  confidence: 0.95", "  confidence: 95", "confidence:", "comparison.confidence: is 95",
            marks=pytest.mark.bad_input(56, "refused: a confidence outside (0.5, 1)"), id="confidence",
        ),
        pytest.param(
            "  confidence: 0.95", "  confidence: .nan", "confidence:", "comparison.confidence: is nan",
            marks=pytest.mark.bad_input(56, "refused: NaN"), id="NaN",
        ),
        pytest.param(
            "  baseline: popularity", "  baseline: popularty", "baseline:",
            "comparison.baseline: 'popularty' is not among the models\n  fix: did you mean 'popularity'?",
            marks=pytest.mark.bad_input(56, "refused: a baseline that is no model"), id="baseline",
        ),
        pytest.param(
            "metrics: [nDCG,", "metrics: [NDCG,", "metrics:", "evaluation.metrics: ",
            marks=pytest.mark.bad_input(56, "refused: a metric that is not known"), id="metric",
        ),
        pytest.param(
            "relevance_threshold: 1 #", "relevance_threshold: .nan #", "relevance_threshold:",
            "conventions.relevance_threshold: is nan",
            marks=pytest.mark.bad_input(56, "refused: a threshold of NaN"), id="threshold",
        ),
        pytest.param(
            "  als: {path", "  EASE: {path: x}\n  als: {path", "als: {path",
            "models.EASE: 'EASE' and 'ease' differ in capitals alone: their files are one on many disks",
            marks=pytest.mark.bad_input(41, "refused: names that differ in capitals alone"), id="capitals",
        ),
        pytest.param(
            "  seed: 20261121", "  seed: 1\n  seed: 2", "seed:", "key 'seed' stands twice",
            marks=pytest.mark.bad_input(54, "refused with the line"), id="a key twice",
        ),
    ],
)  # fmt: skip
def test_the_line_and_what_may_be_meant_are_named(
    tmp_path: Path, old: str, new: str, line: str, message: str
) -> None:
    assert old in DEMO
    text = _refusal(tmp_path, DEMO.replace(old, new, 1))

    where = f"line {_at(line) + 1}: " if "stands twice" in message else f"line {_at(line)}, "
    assert f"params.yaml: {where}{message}" in text


@pytest.mark.bad_input(55, "read as YAML 1.2, as DVC reads it")
def test_words_of_older_yaml_are_words(tmp_path: Path) -> None:
    """`no`, `on` and 12:30 were booleans and seconds in YAML 1.1, 010 was 8."""
    path = tmp_path / "params.yaml"
    text = DEMO.replace("title: Demo shop", "title: no").replace("  ease-recent: {", "  on: {")
    path.write_text(text.replace("baseline: popularity", "baseline: on"), encoding="utf-8")

    params = read_params(path)

    assert params.report.title == "no"
    assert params.comparison.baseline == "on"
    assert "is 1230" not in _refusal(tmp_path, DEMO.replace("  seed: 20261121", "  seed: 12:30"))
    assert read_params(_written(path, "  resamples: 0200")).comparison.resamples == 200


def _written(path: Path, resamples: str) -> Path:
    path.write_text(DEMO.replace("  resamples: 2000", resamples), encoding="utf-8")
    return path


def test_all_problems_are_named_at_once(tmp_path: Path) -> None:
    text = DEMO.replace("  gain: linear", "  gain: x").replace("  ideal: truth_at_k", "  ideal: y")

    assert _refusal(tmp_path, text).count("fix:") == 2


def test_a_missing_file_says_where_to_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`concord init` writes both"):
        read_params(tmp_path / "params.yaml")


def test_the_scale_of_the_grades_is_free_under_a_preset(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(DEMO.replace("relevance_threshold: 1", "relevance_threshold: 2"))

    assert read_params(path).pinned.relevance_threshold == 2
