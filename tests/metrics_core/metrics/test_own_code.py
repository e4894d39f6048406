"""User-defined metrics that write to their input, exit, raise or return invalid values."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from ruamel.yaml import YAML

import concord as cc
from benchmarks.fuzz_readers import EXPECTED_OUTCOMES, outcomes
from concord.metrics_core.metrics import custom_metric
from tests.pipeline.params.params_content import params_content
from tests.project import attempt, run_stages

RECS = {"u": ["a", "d", "c"], "v": ["b", "a", "c"], "w": ["a"]}
TRUTH = {"u": {"a": 1, "c": 1, "b": 0}, "v": {"c": 2, "d": 1}, "w": {"b": 0}}
OTHERS = ["R@2", "AP@10", "nDCG@3", "RR", "R(rel=2)@2"]
CONVENTIONS = cc.preset("standard", user_empty_truth="one", ideal="truth_at_k")
WRITES = {
    "cached": "n = lists.n_relevant; n[n == 0] = 1",
    "unlocked": "n = lists.n_relevant; n.setflags(write=True); n[:] = 9",
    "weights": "lists.relevant_weight[:] = 5",
    "places": "lists.hit_number[:] = 1; lists.truth_rank[:] = 1",
    "ties": "lists.tied_ranks[:] = 1; lists.hit_rank[:] = 1",
    "lengths": "lists.length(None)[:] = 1",
    "fields": "g = lists.hit_grade; g.setflags(write=True); g[:] = 0",
    "base": "g = lists.hit_user; g = g if g.base is None else g.base; "
    "g.setflags(write=True); g[:] = 0",
    "attributes": "object.__setattr__(lists, 'hit_grade', lists.hit_grade * 0)",
    "dictionary": "lists.__dict__['n_relevant'] = lists.n_listed",
    "views": "lists.relevant(2.0, 'all').__dict__['n_relevant'] = lists.n_listed; "
    "lists._views.clear()",
    "shared": "lists.cached(lambda each: each.n_listed * 1)[:] = 7",
    "floating point": "np.seterr(all='raise')",
}


@pytest.fixture(autouse=True)
def _nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(custom_metric, "_registry", custom_metric.Registry())


def write_metric(
    folder: Path, body: str, returned: str = "lists.count(k) * 0.0", *, top: str = ""
) -> str:
    """Write a file with the metric `f` and return its label."""
    head = f"import concord\nimport numpy as np\n{top}\n@concord.metric()\n"
    code = f"{head}def f(lists, k):\n    'f@k'\n    {body}\n    return {returned}\n"
    (folder / "m.py").write_text(code, encoding="utf-8")
    return f"{folder}/m.py:f"


def refused_value(metric: str) -> str:
    with pytest.raises(ValueError) as refused:
        cc.evaluate(RECS, TRUTH, metrics=[f"{metric}@2"], conventions=CONVENTIONS)
    return str(refused.value)


@pytest.mark.fault(25, "other metrics keep their values, because each call gets its own arrays")
@pytest.mark.parametrize("name", WRITES)
def test_no_own_metric_changes_another_metric(tmp_path: Path, name: str) -> None:
    label = write_metric(
        tmp_path,
        f"try:\n        {WRITES[name]}\n    except (ValueError, AttributeError):\n        pass",
    )
    before = cc.evaluate(RECS, TRUTH, metrics=OTHERS, conventions=CONVENTIONS)

    with np.errstate():
        after = cc.evaluate(RECS, TRUTH, metrics=[f"{label}@2", *OTHERS], conventions=CONVENTIONS)

    for other in OTHERS:
        assert after.per_user[other].equals(before.per_user[other])


def test_an_own_metric_cannot_change_the_conventions_of_another(tmp_path: Path) -> None:
    code = (
        "import concord\n@concord.metric()\ndef f(lists, k, *, discount):\n    'f@k'\n"
        "    discount.clear()\n    discount['geometric'] = 0.5\n    return lists.count(k)\n"
    )
    (tmp_path / "m.py").write_text(code, encoding="utf-8")
    before = cc.evaluate(RECS, TRUTH, metrics=["nDCG@2"], conventions="standard")

    after = cc.evaluate(
        RECS, TRUTH, metrics=[f"{tmp_path}/m.py:f@2", "nDCG@2"], conventions="standard"
    )

    assert after["nDCG@2"] == before["nDCG@2"]


@pytest.mark.fault(25, "an error for writing to an array; `concord check-metric` finds it")
@pytest.mark.parametrize("name", ["cached", "weights", "places", "ties", "lengths", "shared"])
def test_metric_that_writes_to_its_lists_is_refused_and_check_metric_fails(
    tmp_path: Path, name: str
) -> None:
    label = write_metric(tmp_path, WRITES[name])

    message = refused_value(label)
    checked = cc.metrics.check_metric(label).properties[0]

    assert "read-only" in message
    assert "change a copy" in message
    assert not checked.holds
    assert "read-only" in checked.counterexample


@pytest.mark.fault(25, "masked values are undefined")
def test_masked_values_are_undefined(tmp_path: Path) -> None:
    masked = "np.ma.masked_array([1, 1, 1], mask=[False, True, False])"
    label = write_metric(tmp_path, "pass", masked)

    result = cc.evaluate(RECS, TRUTH, metrics=[f"{label}@2"], conventions=CONVENTIONS)

    assert result.per_user["f@2"].to_list() == pytest.approx([1.0, np.nan, 1.0], nan_ok=True)


@pytest.mark.fault(25, "an error for complex numbers, text, dates and objects")
@pytest.mark.parametrize(
    ("returned", "kind"),
    [
        ("np.ones(3, dtype=complex)", "complex128"),
        ("np.array(['0.5', '1', '0'])", "<U3"),
        ("np.ones(3, dtype='M8[D]')", "datetime64[D]"),
        ("['0.5', None, 0]", "object"),
        ("np.ma.masked_array([1j, 0, 0], mask=[1, 0, 0])", "complex128"),
    ],
)
def test_values_that_are_not_real_numbers_are_refused(
    tmp_path: Path, returned: str, kind: str
) -> None:
    message = refused_value(write_metric(tmp_path, "pass", returned))

    assert (
        f"m.py: f returns values of type {kind}\n  fix: return float64, NaN where undefined"
        in message
    )


@pytest.mark.parametrize(
    "leaving", ["exit()", "import sys; sys.exit(0)", "raise SystemExit", "raise GeneratorExit"]
)
def test_a_metric_that_exits_is_refused(tmp_path: Path, leaving: str) -> None:
    when_called = refused_value(write_metric(tmp_path, leaving))
    when_imported = refused_value(write_metric(tmp_path, "pass", top=leaving))

    name = "GeneratorExit" if "Generator" in leaving else "SystemExit"
    assert f"f raises {name}" in when_called
    assert f"m.py: line 3: raises {name}" in when_imported


def write_project(folder: Path) -> None:
    """Write a project with user-defined metrics in `m.py`."""
    content = params_content(
        {"a": {"path": "a.parquet"}, "b": {"path": "b.parquet"}},
        ["nDCG", "f"],
        [10],
        background={"metrics": {"path": "m.py"}},
    )
    content["gate"] = {"guardrails": {"nDCG@10": "2%"}}
    with (folder / "params.yaml").open("w", encoding="utf-8") as file:
        YAML().dump(content, file)


@pytest.mark.fault(25, "`exit()` is an error (exit code 2), also in a gate")
@pytest.mark.parametrize(
    "command",
    [
        "gate",
        "gate HEAD",
        "comment",
        "comment HEAD",
        "validate",
        "leaderboard",
        "diff HEAD",
        "check-metric ./m.py:f",
        "explain u f@10 --model a",
        "stage compare",
    ],
)
def test_own_code_that_exits_is_an_error_of_every_command(tmp_path: Path, command: str) -> None:
    write_metric(tmp_path, "pass", top="exit()")
    write_project(tmp_path)

    done = attempt(tmp_path, "concord", *command.split())

    assert done.returncode == 2
    assert "m.py: line 3: raises SystemExit" in done.stderr


def test_a_command_that_is_left_early_is_no_decision(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def leave(*_: Any, **__: Any) -> int:
        raise SystemExit(0)

    monkeypatch.setattr("concord.pipeline.commands.gate.run", leave)

    done = attempt(tmp_path, "concord", "gate")

    assert done.returncode == 2
    assert "SystemExit" in done.stderr


@pytest.mark.fault(25, "an error names file, function and line")
def test_an_error_of_an_own_metric_is_reported_of_its_file_and_not_of_the_conventions(
    tmp_path: Path,
) -> None:
    write_metric(tmp_path, "return {}[k]")
    write_project(tmp_path)
    rows = [(user, item) for user, items in RECS.items() for item in items]
    pl.DataFrame({"user": ["u", "v"], "item": ["a", "c"]}).write_parquet(tmp_path / "truth.parquet")
    lists = pl.DataFrame(rows, ["user", "item"], orient="row")
    lists.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user")).write_parquet(
        tmp_path / "a.parquet"
    )
    run_stages(tmp_path, "load-truth", "load-background metrics", "load a")

    done = attempt(tmp_path, "concord", "stage", "evaluate", "a")

    assert done.returncode == 2
    assert "m.py: f raises KeyError: 10, line 7\n  fix: correct the function" in done.stderr
    assert "params.yaml" not in done.stderr


def test_a_package_that_exits_when_its_metric_is_loaded_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Leaving:
        name = "leaving"

        def load(self) -> None:
            raise SystemExit(0)

    packages = SimpleNamespace(select=lambda name: [Leaving()])
    monkeypatch.setattr(custom_metric, "_entry_points", lambda folders: packages)

    assert "entry point leaving of concord.metrics: raises SystemExit" in refused_value("leaving")


@pytest.mark.whole
def test_whatever_own_metrics_do_other_metrics_keep_their_values() -> None:
    """`benchmarks/fuzz_readers.py --kind own_metrics` tries more of them."""
    result = list(outcomes(1_000_000, 60, "own_metrics"))

    assert [each for each in result if each[0] not in EXPECTED_OUTCOMES] == []
    assert {"refused", "right"} <= {outcome for outcome, _, _ in result}
