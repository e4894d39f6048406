"""Stage `compare`: tables, errors, and results that it removes."""

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import wilcoxon

from concord.metrics_core.conventions.values_version import VALUES_VERSION
from concord.metrics_core.errors import InputError
from concord.metrics_core.results.stored import from_content
from concord.pipeline.params.model import Params
from concord.pipeline.params.paths import reference_file
from concord.pipeline.running.messages import Progress
from concord.pipeline.running.outputs import per_user_writer, write_json, write_text
from concord.pipeline.stages import compare as stage
from concord.pipeline.stages.compare import main as compare
from tests.pipeline.refusals import refusal_of
from tests.pipeline.stages.compare_project import (
    TRUTH,
    params_of,
    run_compare,
    write_evaluation,
    write_results,
)

MODELS = ["popularity", "ease", "als"]
LABELS = ["nDCG@5", "nDCG@10", "R@5", "R@10"]


def project(root: Path, **settings: Any) -> Params:
    rng = np.random.default_rng(5)
    shared = rng.random(400)
    models = {}
    for model, skill in zip(MODELS, (0.4, 0.6, 0.59), strict=True):
        hits = np.where(rng.random(400) < 0.1, rng.random(400), shared) < skill
        models[model] = {label: (hits / (i + 1)).tolist() for i, label in enumerate(LABELS)}
    return write_results(root, models, **{"primary": ["nDCG@10"], **settings})


def row(comparison: dict[str, Any], label: str, a: str, b: str) -> dict[str, Any]:
    (result,) = [
        row for row in comparison["pairs"] if (row["label"], row["a"], row["b"]) == (label, a, b)
    ]
    assert isinstance(result, dict)
    return result


def test_progress_counts_the_labels_that_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    observed: list[Progress] = []

    class RecordedProgress(Progress):
        def __enter__(self) -> Progress:
            observed.append(self)
            return super().__enter__()

    monkeypatch.setattr(stage, "Progress", RecordedProgress)

    compare(project(tmp_path, primary=["nDCG@10", "R@10"]))

    # four labels, and the two primary ones once more for their spread
    (progress,) = observed
    assert progress.line().startswith("compare: 6 of 6 labels, 0 s left")


def test_tables_equal_the_json(tmp_path: Path) -> None:
    params = project(tmp_path)
    comparison = run_compare(params)
    folder = Path(params.results.comparison)

    tables = {"metrics": "metrics", "leaderboard": "scores", "differences": "pairs"}
    for name, key in tables.items():
        assert pl.read_parquet(folder / f"{name}.parquet").to_dicts() == comparison[key]
        assert pl.read_csv(folder / f"{name}.csv").height == len(comparison[key])
    curves = pl.read_csv(folder / "curves.csv")
    assert curves.equals(pl.read_parquet(folder / "curves.parquet"))
    assert curves.columns == ["metric", "k", "model", "value"]
    means = {(r["label"], r["model"]): r["mean"] for r in comparison["scores"]}
    assert {(f"{m}@{k}", model): v for m, k, model, v in curves.iter_rows()} == means


def test_best_models_share_the_flag_and_close_ones_are_named(tmp_path: Path) -> None:
    strong = [1.0] * 60 + [0.0] * 40
    near = [1.0] * 45 + [0.0] * 40 + [1.0] * 14 + [0.0]
    values = {"pop": [0.0] * 100, "ease": strong, "copy": strong, "als": near}
    models = {model: {"nDCG@5": column, "nDCG@10": column} for model, column in values.items()}

    comparison = run_compare(write_results(tmp_path, models))
    rows = {r["model"]: r for r in comparison["scores"] if r["label"] == "nDCG@5"}

    close = {model: r["indistinguishable_from_best"] for model, r in rows.items()}
    assert {model for model, r in rows.items() if r["best"]} == {"ease", "copy"}
    assert close == {"pop": False, "ease": True, "copy": True, "als": True}
    assert row(comparison, "nDCG@5", "ease", "copy")["verdict"] == "identical"
    assert row(comparison, "nDCG@5", "ease", "copy")["p"] is None
    others = [
        r["indistinguishable_from_best"] for r in comparison["scores"] if r["label"] == "nDCG@10"
    ]
    assert others == [None] * 4


def test_users_are_matched_by_decimal_text_and_common_users_count(tmp_path: Path) -> None:
    params = params_of(tmp_path, ["pop", "als"], metrics=["nDCG"], ks=[10])
    numbers = list(range(1, 41))
    texts = sorted(map(str, range(11, 51)))  # "11", "12", … as text, ten users further on
    write_evaluation(params, "pop", {"nDCG@10": [u / 100 for u in numbers]}, users=numbers)
    write_evaluation(params, "als", {"nDCG@10": [int(u) / 50 for u in texts]}, users=texts)

    comparison = run_compare(params)
    actual = row(comparison, "nDCG@10", "als", "pop")

    assert actual["n_users"] == 30
    assert actual["difference"] == pytest.approx(sum(u / 50 - u / 100 for u in range(11, 41)) / 30)
    assert actual["worse"] == 0.0
    assert any(
        "als and pop do not have values for the same users" in s
        for s in from_content(comparison).verdicts
    )


@pytest.mark.parametrize(
    ("undefined", "n_users", "difference"),
    [
        ("skip", 20, 0.5),
        ("zero", 40, (20 * 0.5 + 10 * 1.0 - 10 * 0.5) / 40),
        ("propagate", 0, None),
    ],
)
def test_undefined_values_count_as_in_the_mean(
    tmp_path: Path, undefined: str, n_users: int, difference: float | None
) -> None:
    nan = math.nan
    pop = [0.5] * 20 + [nan] * 10 + [0.5] * 10 + [None] * 5
    als = [1.0] * 20 + [1.0] * 10 + [nan] * 10 + [1.0] * 5
    params = write_results(
        tmp_path, {"pop": {"AP@10": pop}, "als": {"AP@10": als}}, undefined=undefined
    )

    actual = row(run_compare(params), "AP@10", "als", "pop")

    assert actual["n_users"] == n_users
    assert actual["difference"] == difference


@pytest.mark.parametrize(
    ("min_effect", "expected_at_5", "expected_at_10"),
    [
        ("10%", 0.1 * 0.5, 0.1 * 0.25),
        (0.02, 0.02, 0.02),
        ({"nDCG@5": "20%", "default": 0.01}, 0.2 * 0.5, 0.01),
        ({"nDCG@5": 0, "nDCG@10": 0.3}, 0.0, 0.3),
    ],
)
def test_smallest_difference_that_matters(
    tmp_path: Path, min_effect: Any, expected_at_5: float, expected_at_10: float
) -> None:
    values = {"nDCG@5": [0.5] * 20, "nDCG@10": [0.25] * 20}
    comparison = run_compare(
        write_results(tmp_path, {"pop": values, "als": values}, min_effect=min_effect)
    )

    assert row(comparison, "nDCG@5", "als", "pop")["min_effect"] == pytest.approx(expected_at_5)
    assert row(comparison, "nDCG@10", "als", "pop")["min_effect"] == pytest.approx(expected_at_10)


def test_many_models_are_compared_on_primary_labels_else_with_the_baseline(tmp_path: Path) -> None:
    n_models = 12
    rng = np.random.default_rng(3)
    hits = {f"m{n:02}": (rng.random(60) < 0.2 + n / 100).tolist() for n in range(n_models)}
    models = {model: {"nDCG@5": values, "R@5": values[::-1]} for model, values in hits.items()}

    comparison = run_compare(write_results(tmp_path, models))

    labels = [result["label"] for result in comparison["pairs"]]
    assert labels.count("nDCG@5") == 2 * n_models - 3  # with the baseline, and with the leader
    assert labels.count("R@5") == n_models - 1
    assert len(comparison["scores"]) == 2 * n_models


def test_leader_by_easy_users_alone_is_not_best(tmp_path: Path) -> None:
    easy, hard = [0.9, 0.8] * 30, [0.1, 0.2] * 30
    lower = [value - 0.1 - 0.01 * (n % 3) for n, value in enumerate(easy)]
    values: dict[str, list[float | None]] = {
        "pop": [*easy, *hard],
        "als": [*lower, *[None] * 60],
        "other": [*([0.1] * 60), *hard],
    }

    models = {model: {"nDCG@10": column} for model, column in values.items()}
    comparison = run_compare(write_results(tmp_path, models))
    flags = {r["model"]: r["indistinguishable_from_best"] for r in comparison["scores"]}
    shares = {r["model"]: r["probability"] for r in comparison["best"]}

    assert row(comparison, "nDCG@10", "als", "pop")["verdict"] == "worse"
    verdicts = from_content(comparison).verdicts
    assert verdicts[0] == (
        "No model beats pop on nDCG@10: als and other are worse, "
        "each on the users with values of both (60 to 120)."
    )
    assert any("reversed on the users with values of both" in sentence for sentence in verdicts)
    assert flags == {"pop": True, "als": True, "other": False}
    assert shares == {"pop": 1.0, "als": 0.0, "other": 0.0}


def test_the_interval_of_few_users_is_that_of_their_sign_flips(tmp_path: Path) -> None:
    """The p-value is 0.045 by t, and 0.055 by sign flips."""
    gaps = [0.02, 0.05, -0.01, -0.03, 0.02, 0.01, 0.01, 0.07, 0.08, 0.08, 0.07, -0.04]
    models = {"pop": {"nDCG@10": [0.0] * len(gaps)}, "als": {"nDCG@10": gaps}}
    comparison = run_compare(write_results(tmp_path, models, min_effect=0))
    actual = row(comparison, "nDCG@10", "als", "pop")
    sums = np.array([*product((1, -1), repeat=len(gaps))]) @ np.array(gaps)

    assert actual["p"] == pytest.approx(np.mean(np.abs(sums) >= sum(gaps) - 1e-9))
    assert actual["verdict"] == "undecided"
    assert actual["ci_low"] <= 0 < actual["ci_high"]
    reason = "not decided, as the interval includes 0"
    assert reason in " ".join(from_content(comparison).verdicts)


def test_all_missing_results_are_named_at_once(tmp_path: Path) -> None:
    params = project(tmp_path)
    (tmp_path / "per_user/als.parquet").unlink()
    (tmp_path / "summary/ease.json").unlink()

    with pytest.raises(InputError) as refused:
        compare(params)
    assert [problem.where for problem in refused.value.problems] == [
        str(tmp_path / "summary/ease.json"),
        str(tmp_path / "per_user/als.parquet"),
    ]
    assert not [*(tmp_path / "comparison").iterdir()]


@pytest.mark.parametrize(
    ("change", "problem", "fix"),
    [
        (
            {"truth_visible": "retrieved"},
            "R@10 of als was evaluated with other conventions: truth_visible was 'retrieved' "
            "and is 'all'",
            "run `dvc repro evaluate@als`",
        ),
        (
            {"labels": LABELS[:3]},
            "has no R@10, which comparison.primary in params.yaml names",
            "run `dvc repro evaluate@als`",
        ),
        (
            {"truth": "99" * 32},
            "als was evaluated on another ground truth than popularity",
            "run `dvc repro`",
        ),
    ],
)
def test_results_of_other_params_are_refused(
    tmp_path: Path, change: dict[str, Any], problem: str, fix: str
) -> None:
    params = project(tmp_path, primary=["R@10"])
    settings = {"labels": LABELS, "truth": TRUTH} | change
    values = dict.fromkeys(settings.pop("labels"), [0.5] * 400)
    truth = settings.pop("truth")
    other = params_of(tmp_path, MODELS, metrics=["nDCG", "R"], ks=[5, 10], **settings)
    write_evaluation(other, "als", values, truth=truth)

    message = refusal_of(lambda: compare(params))
    assert message.startswith(f"{tmp_path}/per_user/als.parquet: ")
    assert problem in message
    assert f"\n  fix: {fix}" in message


def test_values_of_another_version_are_refused(tmp_path: Path) -> None:
    params = project(tmp_path)
    path = tmp_path / "summary/als.json"
    write_json(path, json.loads(path.read_text(encoding="utf-8")) | {"values_version": 0})

    assert refusal_of(lambda: compare(params)) == (
        f"{path}: has values of version 0, and this Concord computes version {VALUES_VERSION}\n"
        "  fix: read 'Values changed' in the changelog, then run `dvc repro`, which makes it again"
    )


def test_a_summary_without_a_version_is_refused(tmp_path: Path) -> None:
    params = project(tmp_path)
    path = tmp_path / "summary/als.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    del content["values_version"]
    write_json(path, content)

    assert f"{path}: has no values_version" in refusal_of(lambda: compare(params))


def test_a_panel_with_values_of_another_version_is_refused(tmp_path: Path) -> None:
    params = project(tmp_path)
    path, user = tmp_path / "panel/als.parquet", pl.DataFrame({"user": range(400)})
    with per_user_writer(path, pa.int64(), [], {"values_version": 2, "fingerprint": ""}) as writer:
        writer.write(user)

    assert refusal_of(lambda: compare(params)).startswith(f"{path}: has values of version 2")


def test_references_with_values_of_another_version_are_refused(tmp_path: Path) -> None:
    params = project(tmp_path)
    content = {"values_version": 2, "fingerprint": params.resolved_conventions.fingerprint}
    write_json(reference_file(params), content | {"references": {"values": []}})

    message = refusal_of(lambda: compare(params))
    assert message.startswith(f"{reference_file(params)}: has values of version 2")


def test_only_results_that_params_no_longer_name_are_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    params = project(tmp_path)
    for folder in ("per_user", "metrics", "summary", "quality"):
        for path in (tmp_path / folder).glob("als.*"):
            path.rename(path.with_stem("old"))
    for folder in ("summary", "quality"):
        path = tmp_path / folder / "old.json"
        write_json(path, {**json.loads(path.read_text(encoding="utf-8")), "model": "old"})
    write_text(tmp_path / "lists/old.parquet", "lists")
    background = dict.fromkeys(["path", "format", "sha256", "md5", "bytes", "rows"], 1)
    write_json(tmp_path / "data/users.json", background)
    write_text(tmp_path / "data/users.parquet", "users")
    others = (
        "data/items.json",
        "data/items.parquet",
        "quality/notes.json",
        "lists/mine.parquet",
        "metrics/x.json",
    )
    for name in others:
        write_json(tmp_path / name, {"hello": 1})
    remaining = params.model_copy(update={"models": {m: params.models[m] for m in MODELS[:2]}})

    compare(remaining)

    actual = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    assert {name for name in actual if "old" in name or "users" in Path(name).name} == set()
    assert {*others, "quality/truth.json", "data/truth.parquet"} <= actual
    removed = "removed 5 result files of old, which params.yaml no longer names"
    assert removed in capsys.readouterr().out


def test_wilcoxon_is_computed_on_request_only(tmp_path: Path) -> None:
    comparison = run_compare(project(tmp_path / "wilcoxon", wilcoxon=True))
    silent = run_compare(project(tmp_path / "silent"))
    actual = row(comparison, "nDCG@10", "als", "popularity")
    values = {
        m: pl.read_parquet(tmp_path / f"wilcoxon/per_user/{m}.parquet")
        for m in ("als", "popularity")
    }
    gaps = (values["als"]["nDCG@10"] - values["popularity"]["nDCG@10"]).drop_nans().to_numpy()

    expected: Any = wilcoxon(gaps[gaps != 0])
    assert actual["p_wilcoxon"] == pytest.approx(expected.pvalue)
    assert {each["p_wilcoxon"] for each in silent["pairs"]} == {None}
    assert [each["verdict"] for each in comparison["pairs"]] == [
        each["verdict"] for each in silent["pairs"]
    ]


def test_a_family_of_all_pairs_has_wider_intervals(tmp_path: Path) -> None:
    """Two labels: 4 comparisons with the baseline and 2 among the others, or 6 together."""
    primary = ["nDCG@10", "R@10"]
    two = run_compare(project(tmp_path / "two", primary=primary))
    one = run_compare(project(tmp_path / "one", primary=primary, family="all"))

    assert (two["family"], one["family"]) == ("baseline", "all")
    for wide, narrow in zip(one["pairs"], two["pairs"], strict=True):
        same = ("p", "single_low", "single_high", "standard_error")
        assert [wide[name] for name in same] == [narrow[name] for name in same]
        if not wide["primary"]:
            assert wide == narrow
        elif wide["p"] is not None:
            # the pair of the others has the same differences on both labels: copies count once
            is_alone = not narrow["vs_baseline"]
            assert (narrow["level"] == pytest.approx(0.95)) == is_alone
            assert 0.95 <= narrow["level"] < wide["level"] <= 1 - 0.05 / 6
            assert wide["ci_low"] < narrow["ci_low"] < narrow["ci_high"] < wide["ci_high"]
            assert (narrow["ci_low"] == narrow["single_low"]) == is_alone


def test_models_that_were_tried_widen_the_intervals(tmp_path: Path) -> None:
    """With 40 tried models, each of the 2 compared ones has a share of 5 % / 40."""
    plain = run_compare(project(tmp_path / "plain"))
    tried = run_compare(project(tmp_path / "tried", tried=40))

    assert (plain.get("tried"), tried["tried"]) == (None, 40)
    rows = [row(each, "nDCG@10", "als", "popularity") for each in (tried, plain)]
    assert 1 - 2 * 0.05 / 40 <= rows[0]["level"] <= 1 - 0.05 / 40
    assert rows[0]["ci_low"] < rows[1]["ci_low"]
    assert (len(plain["winners"]), tried["winners"]) == (1, [])
