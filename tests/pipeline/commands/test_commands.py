"""`concord explain`, `reconcile` and `verify` on a copy of the project with loaded lists."""

import json
from pathlib import Path

import polars as pl
import pytest

import concord as cc
from tests.project import attempt, change_params, copied, copied_from, run, run_stages

MODEL = "ease"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = copied(tmp_path_factory.mktemp("commands"))
    run_stages(path, "load-truth", f"load {MODEL}")
    return path


def run_concord(project: Path, *arguments: str) -> str:
    return run(project, "concord", *arguments, COLUMNS="200")


def load_data(project: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    lists = pl.read_parquet(project / "results/lists" / f"{MODEL}.parquet")
    return lists, pl.read_parquet(project / "results/data/truth.parquet")


def find_user_with_hits(project: Path) -> str:
    result = cc.evaluate(*load_data(project), metrics=["Hit@5"], conventions=cc.preset("standard"))
    user: str = result.per_user.filter(pl.col("Hit@5") == 1)["user"][0]
    return user


def test_explain_shows_the_derivation_of_the_library(project: Path) -> None:
    user = find_user_with_hits(project)
    derived = cc.explain(
        *load_data(project), user=user, metric="nDCG@5", conventions=cc.preset("standard")
    )

    output = run_concord(project, "explain", user, "nDCG@5", "--model", MODEL)

    first, *lines = output.splitlines()
    assert first.startswith(f"nDCG@5 of user {user!r}, conventions standard ")
    assert lines == derived.summary.splitlines()[1:]


def test_explain_versus_shows_both_and_their_differences(project: Path) -> None:
    user = find_user_with_hits(project)

    output = run_concord(project, "explain", user, "AP@5", "--model", MODEL, "--versus", "rectools")

    assert "--- standard " in output
    assert "--- rectools " in output
    assert "ap_denominator: min_k_relevant → relevant" in output


def test_explain_versus_orders_equal_scores_as_the_other_definition(project: Path) -> None:
    recs, truth = project / "data/demo/item-knn.parquet", project / "data/demo/truth.parquet"
    pinned = cc.preset("standard", err_max_grade=3)
    values = [
        cc.evaluate(recs, truth, metrics=["RR"], conventions=each).per_user.sort("user")
        for each in (pinned, "trec_eval")
    ]
    tied = values[0].filter(values[0]["RR"] != values[1]["RR"])["user"]
    expected = cc.explain(
        recs, truth, user=tied[0], metric="RR", conventions=pinned, versus="trec_eval"
    )

    output = run_concord(
        project, "explain", tied[0], "RR", "--model", "item-knn", "--versus", "trec_eval"
    )

    assert output.splitlines() == str(expected).splitlines()
    assert "ties: item_asc" in output


def test_explain_shows_each_replicate_of_a_model(project: Path, tmp_path: Path) -> None:
    """Both replicates have the same lists, so the mean is the value of each."""
    copy = copied_from(project, tmp_path)
    models = {
        "ease-1": {"path": "data/demo/ease.jsonl.gz"},
        "ease-2": {"path": "data/demo/ease.jsonl.gz"},
        "als": {"path": "data/demo/als.run.gz"},
    }
    replicates = {"ease": {1: "ease-1", 2: "ease-2"}}
    change_params(
        copy,
        {
            "models": models,
            "comparison.replicates": replicates,
            "comparison.baseline": "als",
            "comparison.cases": [],
        },
    )
    user = find_user_with_hits(project)
    alone = run_concord(copy, "explain", user, "nDCG@5", "--model", "ease-1")
    value = alone.splitlines()[-1].removeprefix("nDCG@5 = ")

    output = run_concord(copy, "explain", user, "nDCG@5", "--model", "ease")
    unknown = attempt(copy, "concord", "explain", user, "nDCG@5", "--model", "eas")

    assert f"=== ease-1\n{alone}" in output
    assert f"=== ease-2\n{alone}" in output
    assert output.splitlines()[-1] == (
        f"ease: the value of nDCG@5 is the mean over its 2 replicates: ({value} + "
        f"{value}) / 2 = {value}"
    )
    assert "did you mean 'ease'?" in unknown.stderr


def test_explain_as_markdown_has_a_table_of_ranks(project: Path) -> None:
    user = find_user_with_hits(project)

    output = run_concord(project, "explain", user, "AP@5", "--model", MODEL, "--markdown")

    assert output.startswith(f"- AP@5 of user '{user}'")
    assert "\n| rank | item | grade |" in output


def test_reconcile_finds_the_preset_of_a_number(project: Path) -> None:
    lists, truth = load_data(project)
    conventions = cc.preset("rectools")
    mean = cc.evaluate(lists, truth, metrics=["nDCG@10"], conventions=conventions)["nDCG@10"]

    output = run_concord(
        project, "reconcile", f"{mean:.4f}", "--metric", "nDCG@10", "--model", MODEL
    )

    assert f"nDCG@10 = {mean:.4f}:" in output
    assert any(starts_with_value(line, mean) and "rectools" in line for line in output.splitlines())


def test_reconcile_gives_what_the_library_gives(project: Path) -> None:
    """Lists with equal scores, whose order is part of a definition; several numbers."""
    recs, truth = project / "data/demo/item-knn.parquet", project / "data/demo/truth.parquet"
    conventions = cc.preset("pytrec_eval")
    values = cc.evaluate(recs, truth, metrics=["nDCG@10", "AP@10"], conventions=conventions)
    numbers = {label: f"{values[label]:.4f}" for label in ("nDCG@10", "AP@10")}
    metrics = [part for label in numbers for part in ("--metric", label)]
    conventions = cc.preset("standard", err_max_grade=3)
    expected = cc.reconcile(recs, truth, value=numbers, conventions=conventions)

    output = run_concord(
        project, "reconcile", *numbers.values(), *metrics, "--model", "item-knn", "--json"
    )

    assert json.loads(output) == expected.to_dict()
    assert "pytrec_eval" in expected.matches[0].presets


def starts_with_value(line: str, mean: float) -> bool:
    first = line.split(" ")[0]
    return first.startswith("0.") and abs(float(first) - mean) < 1e-4


def test_reconcile_names_the_nearest_value_without_a_match(project: Path) -> None:
    done = attempt(
        project, "concord", "reconcile", "0.999999", "--metric", "P@10", "--model", MODEL
    )
    output = done.stdout
    assert (done.returncode, done.stderr) == (1, "")

    assert "No definition gives P@10 = 0.999999" in output
    assert "Other lists, another ground truth or another cutoff" in output


def test_verify_explains_a_table_by_its_preset(project: Path, tmp_path: Path) -> None:
    labels = ["P@5", "nDCG@10"]
    result = cc.evaluate(*load_data(project), metrics=labels, conventions=cc.preset("rectools"))
    rows = [f"{MODEL},{label},{result[label]:.4f}" for label in labels]
    table = tmp_path / "table.csv"
    table.write_text("\n".join(["model,metric,value", *rows]))

    done = attempt(project, "concord", "verify", str(table), COLUMNS="200")
    content = json.loads(attempt(project, "concord", "verify", str(table), "--json").stdout)

    assert (done.returncode, done.stderr) == (1, "")
    assert "1 of 2 published means agree:" in done.stdout
    assert "All 2 means have a joint explanation: preset rectools" in done.stdout
    assert [each["agrees"] for each in content["values"]] == [True, False]
    assert content["explanations"][0] == {"preset": "rectools", "changes": {}, "n_values": 2}


def test_verify_succeeds_if_every_mean_agrees(project: Path, tmp_path: Path) -> None:
    result = cc.evaluate(*load_data(project), metrics=["P@5"], conventions=cc.preset("standard"))
    table = tmp_path / "table.csv"
    table.write_text(f"model,metric,value\n{MODEL},P@5,{result['P@5']:.4f}\n")

    assert "1 of 1 published means agree:" in run_concord(project, "verify", str(table))


def test_explain_takes_a_number_as_reconcile_and_a_table_as_verify(project: Path) -> None:
    number = ("0.27", "--metric", "P@5", "--model", MODEL, "--json")
    (project / "data/table.csv").write_text(f"model,metric,value\n{MODEL},P@5,0.27\n")

    for command, code, arguments in (("reconcile", 0, number), ("verify", 1, ("table.csv",))):
        folder = project / "data"
        expected = attempt(folder, "concord", command, *arguments)
        done = attempt(folder, "concord", "explain", *arguments)
        assert (done.returncode, done.stdout) == (expected.returncode, expected.stdout)
        assert done.returncode == code


def test_a_number_and_its_metric_may_follow_explain(project: Path) -> None:
    words = ("0.27", "P@5", "--model", MODEL, "--json")
    options = ("0.27", "--metric", "P@5", "--model", MODEL, "--json")

    short, whole = (attempt(project, "concord", "explain", *each) for each in (words, options))
    assert (short.returncode, short.stdout) == (whole.returncode, whole.stdout)
    assert whole.returncode == 0


def test_the_words_of_explain_may_be_in_any_order(project: Path) -> None:
    user = load_data(project)[1]["user"][0]
    words = ("explain", user, "--model", MODEL, "P@5")

    assert run_concord(project, *words) == run_concord(
        project, "explain", user, "P@5", "--model", MODEL
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("explain", "missing.csv"), "missing.csv: there is no such file"),
        (
            ("explain", "0.27", "0.3", "--metric", "P@5", "--model", MODEL),
            "there are 2 numbers and 1 metric",
        ),
        (("verify", "missing.csv"), "missing.csv: there is no such file"),
        (("comment", "--report", "javascript:alert(1)"), "is not a web address"),
        (
            ("reconcile", "abc", "--metric", "P@5", "--model", MODEL),
            "'abc' is not a number as printed\n  fix: write a text such as",
        ),
        (
            ("reconcile", "0.29", "--metric", "Coverage@10", "--model", MODEL),
            "Coverage@10 is one number over all users",
        ),
        (
            ("reconcile", "0.29", "0.3", "--metric", "P@5", "--model", MODEL),
            "there are 2 numbers and 1 metric",
        ),
        (
            ("reconcile", "0.29", "0.3", *2 * ("--metric", "P@5"), "--model", MODEL),
            "value: has two numbers of P@5",
        ),
        (("explain", "nobody", "P@5", "--model", MODEL), "user 'nobody': is neither in the lists"),
        (
            ("explain", "u1", "Novelty@5", "--model", MODEL),
            "explain covers metrics of lists and truth",
        ),
    ],
)
def test_invalid_argument_is_refused(
    project: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = attempt(project, "concord", *arguments)

    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
