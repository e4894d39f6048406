"""params.yaml: errors and their messages, parsed values, and folders of results."""

import inspect
from collections.abc import Callable, Collection
from pathlib import Path

import pytest

import concord as cc
from concord.metrics_core.comparison.config import ComparisonOptions
from concord.metrics_core.errors import InputError
from concord.metrics_core.results.gate import Gate
from concord.pipeline.params.model import Comparison
from concord.pipeline.params.read import read_params
from tests.pipeline.refusals import refusal_of
from tests.project import ROOT

DEMO = (ROOT / "params.yaml").read_text(encoding="utf-8")
KS = "ks: [1, 3, 5, 10, 20]"
MANY = "1" + "0" * 400


def refusal_message(folder: Path, text: str) -> str:
    path = folder / "params.yaml"
    path.write_text(text, encoding="utf-8")
    return refusal_of(lambda: read_params(path)).replace(str(path), "params.yaml")


def refused_problems(folder: Path, *changes: tuple[str, str]) -> list[str]:
    """Return the problems without their lines, each as `key: message | fix`."""
    text = DEMO
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = folder / "params.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_params(path)
    return [
        f"{problem.where.partition(', ')[2]}: {problem.message} | {problem.fix}"
        for problem in refused.value.problems
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            KS,
            "ks: [10000000000000000000]",
            "evaluation.ks.0: is 10000000000000000000 | write at most 1,000,000",
        ),
        (KS, f"ks: {list(range(1, 10_001))}", "write a list of at most 100"),
        (
            "metrics: [nDCG, AP,",
            "metrics: [nDCG@10000000000000000000, AP,",
            "cutoffs go up to 1,000,000",
        ),
        (
            "min_effect: 0.005",
            "min_effect: 1e308",
            "comparison.min_effect: is 1e+308 | write a number such as 0.005, or a share of "
            "the baseline's mean such as 2%; at most 1,000,000,000 or 1000%",
        ),
        ("resamples: 2000", "resamples: 2000000000", "write a whole number from 99 to 1,000,000"),
        (
            "seed: 20261121",
            f"seed: {MANY}",
            "write a whole number from 0 to 9,223,372,036,854,775,807",
        ),
        ("edges: [0, 20, 50]", f"edges: [0, {MANY}]", "write at most 1,000,000,000,000"),
        (
            "column: channel,",
            "column: channel, edges: [.nan, .inf, 1e300],",
            "input should be a finite number",
        ),
        (
            "relevance_threshold: 1 #",
            "relevance_threshold: 1e308 #",
            "numbers go up to 1,000,000,000,000,000",
        ),
        ("err_max_grade: 3 #", "err_max_grade: 1e6 #", "number > 0, up to 1000"),
        ("  gain: linear", "  gain: {map: {1: 1e308}}", "numbers go up to"),
        (
            "  als: {path",
            f"  {'a' * 300}: {{path",
            "cannot be the name of a model | use letters, digits, `_` and `-`, at most 100,",
        ),
        ("data/demo/als.run.gz", "''", "models.als.path: is '' | name a file or folder"),
        ("experiment: concord-demo", "experiment: ''", "mlflow.experiment: is ''"),
        (
            "data:\n",
            "data:\n  words: {query: user}\n",
            "has the key 'query': write a word for user",
        ),
        (
            "  preset: standard",
            "  preset:",
            "conventions.preset: is empty | name a preset, or write `custom`",
        ),
        ("  overrides: {}", "  overrides:", "conventions.overrides: is empty | write {}"),
        (
            "  overrides: {}",
            "  overrides: {map: {ap_denominator: k}}",
            "'map' is not a metric | did you mean 'AP'?",
        ),
        (
            "primary: [nDCG@10,",
            "primary: [recall@21,",
            "'recall@21' is not evaluated | did you mean one of R@1, R@3, R@5, R@10, R@20?",
        ),
        (
            "  seed: 20261121",
            "  cases: [als, eas]\n  seed: 20261121",
            "comparison.cases: 'eas' is not among the models | did you mean 'ease'?",
        ),
        (
            "  seed: 20261121",
            "  cases: [als]\n  seed: 20261121",
            "comparison.cases: names 1 model | name two models, such as [als, ease]",
        ),
        (
            "primary: [nDCG@10,",
            "primary: [Coverage@10,",
            "Coverage@10 is one number over all users",
        ),
        (
            "min_effect: 0.005",
            "min_effect: {ndcg@10: 0.1, nDCG@10: 0.2, default: 0}",
            "comparison.min_effect: names nDCG@10 more than once",
        ),
        (
            "  gain: linear",
            "  gain: exponential",
            "conventions.gain: is 'exponential' | choose one of: binary | linear",
        ),
        ("  attach: both", "  attach: below", "mlflow.attach: is 'below' | input should be"),
        ("  required: true", "", "mlflow.required: is missing | add `required:` there"),
        (
            "  als: {path: data/demo/als.run.gz}",
            "  als: {path: data/demo/als.run.gz, training_run_id: 12}",
            "models.als.training_run_id: is 12 | write a text",
        ),
        ("  gain: linear", "", "conventions.gain: is missing | add `gain: …`"),
        (
            "  gain: linear",
            "  gain: exp2",
            "but preset 'standard' has 'linear' | set it to 'linear', or `preset: custom`; "
            "`concord pin standard` sets all",
        ),
        (
            "  overrides: {}",
            "  overrides: {RR: {gain: exp2}}",
            "conventions.overrides.RR.gain: does not change RR | remove it; gain concerns CG, "
            "DCG, nDCG",
        ),
        ("  ks: [1, 3, 5, 10, 20]", "  ks: [5, 5]", "evaluation.ks: repeats a cutoff: [5, 5]"),
        ("  rank_base: 1", "  rank_base: 2", "input.rank_base: is 2"),
        ("  popularity:\n", "  als.v1:\n", "'als.v1' cannot be the name of a model"),
        ("  popularity:\n", "  2024:\n", "2024 cannot be the name of a model"),
        ("  popularity:\n", "  Truth:\n", "'Truth' cannot be the name of a model"),
        ("  popularity:\n", '  "als\\n":\n', "cannot be the name of a model"),
        (
            "  popularity:\n",
            "  Aux:\n",
            "models.Aux: 'Aux' is a device on Windows, which has no files of this name | give it",
        ),
        (
            "edges: [0, 20, 50]",
            "edges: [20, 0]",
            "segments.activity: [20, 0] is not in increasing order",
        ),
        (
            "shares: [0.5, 0.8]",
            "shares: [0.8]",
            "segments.relevant items.truth_item.shares: is [0.8]",
        ),
        ("by: activity", "by: mood", "segments.activity: is {'by': 'mood'"),
        (
            "  users: {path",
            "  # users: {path",
            "segments.channel: needs users, which is missing",
        ),
        (
            "gate: {}",
            "gate:\n  guardrails: {Entropy@10: 2%}",
            "'Entropy@10' is not evaluated | add it to `evaluation.metrics`",
        ),
        (
            "gate: {}",
            "gate:\n  guardrails: {nDCG@10: 0.0001, nDCG@010: 0.9}",
            "names nDCG@10 as 'nDCG@10' and 'nDCG@010'",
        ),
        ("gate: {}", "gate:\n  gaurdrails: {nDCG@10: 2%}", "did you mean 'guardrails'?"),
        (
            "gate: {}",
            "checks: {adult: {never: {itms: {group: adult}}}}",
            "checks.adult.never: 'itms' is not a key of `never` | did you mean 'items'?",
        ),
        (
            "gate: {}",
            "checks: {stable: {overlap: {with: alss, at_least: 0.7}}}",
            "checks.stable.overlap.with: 'alss' is not among the models | did you mean 'als'?",
        ),
        (
            "gate: {}",
            "acknowledge: {short_list: {reason: known}}",
            "acknowledge.short_list: is not the code of a warning | did you mean 'short_lists'?",
        ),
        (
            "tracking_uri: sqlite:///mlflow.db",
            "tracking_uri: ${MLFLOW_TRACKING_URI}",
            "is '${MLFLOW_TRACKING_URI}' | variables are not expanded; write the address itself",
        ),
        (
            "primary: [nDCG@10,",
            "primary: [nDCG@10, ndcg_cut_10,",
            "comparison.primary: names nDCG@10 more than once | name each label once",
        ),
    ],
)
def test_unusable_values_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    actual = refused_problems(tmp_path, (old, new))

    assert message in actual[0] or any(message in each for each in actual)
    assert all(len(each) < 1000 for each in actual)


def test_more_than_a_thousand_labels_are_refused(tmp_path: Path) -> None:
    hundred = f"ks: {list(range(1, 101))}"
    (message,) = refused_problems(tmp_path, (KS, hundred), ("Hit, Rprec", "Hit, CG, DCG, Rprec"))

    assert message.startswith("evaluation.metrics: makes 1,105 labels, metrics times cutoffs")


def test_wrong_metrics_conventions_primary_and_baseline_are_reported_at_once(
    tmp_path: Path,
) -> None:
    message = refused_problems(
        tmp_path,
        ("metrics: [nDCG, AP, RR,", "metrics: [nDGC, mapp, recal@20,"),
        ("primary: [nDCG@10,", "primary: [nDCG@11,"),
        ("baseline: popularity", "baseline: pop"),
        ("  preset: standard", "  preset: standart"),
        ("  gain: linear", "  gian: linear"),
        ("  overrides: {}", "  overrides: {RR: {ties: best}}"),
    )

    assert sorted(each.partition(":")[0] for each in message) == sorted(
        [
            *["evaluation.metrics"] * 3,
            *("comparison.baseline", "comparison.primary", "conventions.preset"),
            *("conventions.gain", "conventions.gian", "conventions.overrides.RR.ties"),
        ]
    )


def test_a_misspelt_metric_makes_no_second_problem_of_the_primary_one(tmp_path: Path) -> None:
    (message,) = refused_problems(tmp_path, ("metrics: [nDCG,", "metrics: [nDGC,"))

    assert "did you mean 'nDCG'?" in message


def test_valid_sections_are_checked_beside_invalid_ones(tmp_path: Path) -> None:
    message = refused_problems(
        tmp_path,
        ("wilcoxon: false", "wilcoxn: false"),
        ("metrics: [nDCG,", "metrics: [nDGC,"),
        ("  gain: linear", "  gain: best"),
    )

    assert [each.partition(":")[0] for each in message] == [
        "comparison.wilcoxn",
        "evaluation.metrics",
        "conventions.gain",
    ]


def test_values_to_fill_in_are_named_one_by_one_with_their_comments(tmp_path: Path) -> None:
    message = refused_problems(
        tmp_path,
        ("metrics: [nDCG,", "metrics: [FILL_IN,"),
        ("  columns: {} # names of user and item", "  columns: {user: FILL_IN} # one of a, b"),
        ("  title: Demo shop", "  title: FILL_IN"),
        ("wilcoxon: false", "wilcoxn: false"),  # reported once the values are filled in
    )

    assert message == [
        "data.columns.user: is FILL_IN | write a value in its place: one of a, b in all files, "
        "such as {user: customer_id}",
        "evaluation.metrics.0: is FILL_IN | write a value in its place",
        "report.title: is FILL_IN | write a value in its place",
    ]


LINES = {line.strip(): number for number, line in enumerate(DEMO.splitlines(), start=1)}


def line_number(start: str) -> int:
    return next(number for line, number in LINES.items() if line.startswith(start))


def test_windows_line_ends_change_no_value(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_bytes(DEMO.replace("\n", "\r\n").encode())
    (tmp_path / "unix.yaml").write_bytes(DEMO.encode())

    assert read_params(tmp_path / "params.yaml") == read_params(tmp_path / "unix.yaml")


@pytest.mark.bad_input(41, "an error")
@pytest.mark.bad_input(52, "error: did you mean 'ks'?")
@pytest.mark.bad_input(53, "an error with the line")
@pytest.mark.bad_input(54, "an error with the line")
@pytest.mark.bad_input(56, "an error with the line")
@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        (
            "  ks: [",
            "  kss: [",
            "ks: [",
            "evaluation.kss: is not a key that Concord knows\n  fix: did you mean 'ks'?",
        ),
        (
            "by: activity, edges",
            "by: activity, edgs",
            "activity: {by",
            "segments.activity.activity.edgs: is not a key that Concord knows\n  fix: did you "
            "mean 'edges'?",
        ),
        (
            "engine: duckdb #",
            "engine: duckbd #",
            "engine:",
            "evaluation.engine: is 'duckbd'\n  fix: input should be 'duckdb', 'polars' or "
            "'spark'; did you mean 'duckdb'?",
        ),
        ("ks: [1, 3,", "ks: [0, 3,", "ks: [", "evaluation.ks.0: is 0"),
        ("ks: [1, 3,", "ks: [2.5, 3,", "ks: [", "evaluation.ks.0: is 2.5"),
        ("ks: [1, 3,", "ks: [ten, 3,", "ks: [", "evaluation.ks.0: is 'ten'"),
        ("confidence: 0.95", "confidence: 95", "confidence:", "comparison.confidence: is 95"),
        (
            "  baseline: popularity",
            "  baseline: popularty",
            "baseline:",
            "comparison.baseline: 'popularty' is not among the models\n  fix: did you mean "
            "'popularity'?",
        ),
        ("metrics: [nDCG,", "metrics: [nDGC,", "metrics:", "evaluation.metrics: "),
        (
            "  als: {path",
            "  EASE: {path: x}\n  als: {path",
            "als: {path",
            "models.EASE: 'EASE' and 'ease' differ only in capitals: many disks write both to "
            "one file",
        ),
        ("  seed: 20261121", "  seed: 1\n  seed: 2", "seed:", "key 'seed' occurs more than once"),
    ],
)
def test_line_and_similar_name_are_named(
    tmp_path: Path, old: str, new: str, line: str, message: str
) -> None:
    assert old in DEMO
    text = refusal_message(tmp_path, DEMO.replace(old, new, 1))

    where = (
        f"line {line_number(line) + 1}: "
        if "occurs more than once" in message
        else f"line {line_number(line)}, "
    )
    assert f"params.yaml: {where}{message}" in text


@pytest.mark.bad_input(55, "read as YAML 1.2, as in DVC")
def test_values_of_older_yaml_are_text(tmp_path: Path) -> None:
    """`no`, `on` and 12:30 were booleans and seconds in YAML 1.1, 010 was 8."""
    path = tmp_path / "params.yaml"
    text = DEMO.replace("title: Demo shop", "title: no").replace("  ease-recent: {", "  on: {")
    path.write_text(text.replace("baseline: popularity", "baseline: on"), encoding="utf-8")

    params = read_params(path)

    assert params.report.title == "no"
    assert params.comparison.baseline == "on"
    assert "is 1230" not in refusal_message(
        tmp_path, DEMO.replace("  seed: 20261121", "  seed: 12:30")
    )
    assert read_params(write_resamples(path, "  resamples: 0200")).comparison.resamples == 200


def write_resamples(path: Path, resamples: str) -> Path:
    path.write_text(DEMO.replace("  resamples: 2000", resamples), encoding="utf-8")
    return path


def test_the_demo_has_no_gate() -> None:
    assert read_params(ROOT / "params.yaml").comparison_config.gate is None


def test_metrics_may_have_the_names_of_the_field(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    text = DEMO.replace("metrics: [nDCG,", "metrics: [NDCG,")
    path.write_text(text.replace("primary: [nDCG@10,", "primary: [ndcg@10,"), encoding="utf-8")

    params, demo = read_params(path), read_params(ROOT / "params.yaml")

    assert params.labels == demo.labels
    assert params.comparison_config.primary == demo.comparison_config.primary == demo.primary
    assert params.parsed_conventions == demo.parsed_conventions


def test_labels_of_a_gate_are_read_in_any_spelling(tmp_path: Path) -> None:
    path, gate = (
        tmp_path / "params.yaml",
        (
            "gate: {guardrails: {nDCG @10: 2%, Coverage@10: 0.5}, segments: {channel: {R@20: "
            "min_effect}}, "
            "success: [RBP(p=0.80)@10], undecided: pass, models: [als]}"
        ),
    )
    path.write_text(DEMO.replace("gate: {}", gate), encoding="utf-8")

    assert read_params(path).comparison_config.gate == Gate(
        guardrails={"nDCG@10": "2%", "Coverage@10": 0.5},
        segments={"channel": {"R@20": "min_effect"}},
        success=("RBP(p=0.8)@10",),
        undecided_passes=True,
        models=("als",),
    )


RESULTS = DEMO.index("\nresults:")


def folder_refusal(folder: Path, key: str, location: str) -> str:
    (folder / "pipeline").mkdir(exist_ok=True)
    (folder / "pipeline/__init__.py").touch()
    (folder / "README.md").touch()
    head, results = DEMO[:RESULTS], DEMO[RESULTS:]
    assert f"  {key}: results/{key}\n" in results
    text = head + results.replace(f"  {key}: results/{key}\n", f"  {key}: {location}\n")
    (folder / "params.yaml").write_text(text, encoding="utf-8")
    return refusal_of(lambda: read_params(folder / "params.yaml")).replace(f"{folder}/", "")


@pytest.mark.parametrize(
    ("key", "location", "message"),
    [
        (
            "panel",
            "results/per_user",
            "results.panel: 'results/per_user' is, contains or is in `results.per_user`",
        ),
        ("panel", "results/per_user/deeper", "is, contains or is in `results.per_user`"),
        ("panel", "./results//lists/../per_user", "is, contains or is in `results.per_user`"),
        ("panel", "Results/Per_User", "is, contains or is in `results.per_user`"),
        ("report", "results", "is, contains or is in `results.data` and 8 more"),
        (
            "lists",
            "data",
            "results.lists: 'data' is, contains or is in `data.truth.path` and 8 more",
        ),
        ("lists", "data/demo/ease-recent/x", "is, contains or is in `models.ease-recent.path`"),
        ("lists", "data/demo/truth.parquet", "is, contains or is in `data.truth.path`"),
        ("lists", ".git", "'.git' is hidden, as folders of git, DVC and other tools are"),
        ("lists", ".dvc/cache", "'.dvc/cache' is hidden"),
        ("lists", "results/.git", "'results/.git' is hidden"),
        ("lists", "pipeline", "'pipeline' is a folder of code"),
        ("lists", "pipeline/lists", "'pipeline/lists' is a folder of code"),
        ("lists", "mlruns/1", "'mlruns/1' is a folder or file of MLflow"),
        ("lists", "mlflow.db", "is a folder or file of MLflow"),
        ("lists", "README.md/lists", "'README.md/lists' leads through a file, README.md"),
        ("lists", "''", "results.lists: is ''"),
    ],
)
def test_a_folder_in_use_is_refused(tmp_path: Path, key: str, location: str, message: str) -> None:
    actual = folder_refusal(tmp_path, key, location)

    assert message in actual
    assert "  fix: " in actual


def test_a_link_to_the_folder_of_another_is_that_folder(tmp_path: Path) -> None:
    (tmp_path / "results/per_user").mkdir(parents=True)
    (tmp_path / "elsewhere").symlink_to("results/per_user")

    assert "is, contains or is in `results.per_user`" in folder_refusal(
        tmp_path, "panel", "elsewhere"
    )


@pytest.mark.parametrize(
    "address", ["sqlite:///results/comparison/mlflow.db", "file:./results/comparison", "results"]
)
def test_mlflow_keeps_no_file_in_folders_that_dvc_clears(tmp_path: Path, address: str) -> None:
    text = DEMO.replace("sqlite:///mlflow.db", address)
    (tmp_path / "params.yaml").write_text(text, encoding="utf-8")

    with pytest.raises(InputError, match=r"is, contains or is in `mlflow\.tracking_uri`"):
        read_params(tmp_path / "params.yaml")


@pytest.mark.parametrize(
    "address",
    ["sqlite:///mlflow.db", "file:./mlruns", "http://127.0.0.1:5000", "http://[::1", "file:."],
)
def test_other_folders_of_mlflow_are_valid(tmp_path: Path, address: str) -> None:
    text = DEMO.replace("sqlite:///mlflow.db", address)
    (tmp_path / "params.yaml").write_text(text, encoding="utf-8")

    assert read_params(tmp_path / "params.yaml").mlflow.tracking_uri == address


@pytest.mark.bad_input(73, "an error before any file is read, for all metrics at once")
def test_metrics_without_a_value_under_the_conventions_are_refused(
    tmp_path: Path,
) -> None:
    candidates = "  candidates: {negatives: 100, catalogue: 1000, sampling: uniform}\n  overrides:"
    refused = refused_problems(
        tmp_path, ("  overrides:", candidates), ("Novelty@10,", "Novelty@5, Novelty@10,")
    )
    begins = "evaluation.metrics: {}: there is no correction for sampled candidates".format

    assert any(each.startswith(begins("Novelty@5 and Novelty@10")) for each in refused)
    assert any(each.startswith(begins("Coverage@10")) for each in refused)
    assert all("| remove them, or change what is named" in each for each in refused)


def test_a_catalogue_of_candidates_needs_its_table(tmp_path: Path) -> None:
    candidates = "  candidates: {negatives: 100, catalogue: items, sampling: uniform}\n  overrides:"
    items = DEMO[DEMO.index("  items: #") : DEMO.index("  users: {path")]
    refused = refused_problems(tmp_path, ("  overrides:", candidates), (items, ""))

    assert (
        "conventions.candidates.catalogue: is items, and `background` has no items | name the "
        "table under `background.items`, or write the number of items"
    ) in refused


def test_arguments_and_keys_are_the_options_of_a_comparison() -> None:
    options = {name: value or None for name, value in vars(ComparisonOptions()).items()}
    elsewhere = {"title", "panel", "segments", "gate", "checks", "acknowledge"}  # sections
    keys = Comparison.model_fields

    named = {"baseline", "primary", "min_effect"}  # the others are fields of `Options`
    assert {*options} - named <= {*vars(cc.Options())}
    assert _defaults(cc.compare_values, options) == {name: options[name] for name in named}
    assert keys.keys() - {"replicates", "cases"} == options.keys() - elsewhere
    for name in ("paired_replicates", "max_missing_lists"):
        assert (keys[name].default or None) == options[name]


def _defaults(function: Callable[..., object], options: Collection[str]) -> dict[str, object]:
    """Return the arguments that are options, with their defaults."""
    arguments = inspect.signature(function).parameters
    return {name: arguments[name].default or None for name in options if name in arguments}
