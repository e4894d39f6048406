"""mypy finds mistakes of users of the library; the types agree with what is accepted."""

import os
import pickle
import pydoc
import subprocess
import sys
from inspect import isfunction
from pathlib import Path
from typing import Any, get_args, get_type_hints

import polars as pl
import pytest

import concord as cc
from concord.metrics_core.analyses.split.rows import METHOD_OPTIONS, SplitMethodName
from concord.metrics_core.data.argument_types import SplitColumns
from concord.metrics_core.data.input_table import (
    INTERACTIONS_COLUMNS,
    LIST_COLUMNS,
    TRAIN_COLUMNS,
    TRUTH_COLUMNS,
    USERS_COLUMNS,
)
from concord.metrics_core.data.policies import Policies
from concord.typing import PolicyOptions, TableColumns
from docs import option_types
from tests.project import ROOT

SCRIPT = """
from pathlib import Path
from typing import Final

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa

import concord as cc
from concord.testing import assert_passes_gate
from concord.typing import ConventionOptions, Data, PolicyOptions, PresetName, TableColumns

RECS, TRUTH, RR = {"u": ["a", "b"]}, {"u": {"b": 1}}, ["RR"]
STANDARD: Final = "standard"
frame = pl.DataFrame({"user": ["u"], "item": ["a"], "rank": [1]})
name: PresetName = "rectools"
gain: ConventionOptions = {"gain": {"map": {1: 0, 2: 5.5}}, "discount": {"jk": 2}}
policies: PolicyOptions = {"negative_grade": "zero"}
columns: TableColumns = {"user": "userId", "recs": {"item": "movieId"}, "truth": {"grade": None}}
relation: Data = duckdb.connect().table("lists")

cc.evaluate(frame, TRUTH, metrics=RR, conventions=STANDARD)
cc.evaluate(frame.lazy(), TRUTH, metrics=("RR",), conventions=cc.preset(name, **gain))
cc.evaluate(pd.DataFrame(), TRUTH, metrics=RR, conventions={"preset": "ranx", "ties": "given"})
cc.evaluate(pa.table({}), TRUTH, metrics=RR, conventions=STANDARD, input=policies)
cc.evaluate(relation, "truth.csv", metrics=RR, conventions=STANDARD, columns=columns)
cc.evaluate(RECS, Path("truth.csv"), metrics=RR, only_users=["u"])
for preset in cc.presets():
    cc.preset(preset)
models: dict[str, Data] = {"als": frame, "ease": {"replicates": {1: RECS, 2: "lists.csv"}}}
comparison = cc.compare(
    models, TRUTH, metrics=RR, baseline="als", columns={"user": "id", "als": {"score": "rating"}}
)
assert_passes_gate(comparison, undecided="pass")

assert_passes_gate(Path("results"))  # error
assert_passes_gate(comparison, undecided=True)  # error
cc.preset("rectool")  # error
cc.preset("standard", tie="average")  # error
cc.preset("standard", ties="averge")  # error
cc.preset("standard", discount={"ln": 2})  # error
cc.preset("standard", candidates={"negatives": 100, "catalogue": 2000})  # error
cc.preset("standard", overrides={"RR": {"tie": "given"}})  # error
cc.evalute(RECS, TRUTH)  # error
cc.evaluate(42, TRUTH, metrics=RR, conventions=STANDARD)  # error
cc.evaluate(["a"], TRUTH, metrics=RR, conventions=STANDARD)  # error
cc.evaluate(RECS, TRUTH, metrics=RR, convention=STANDARD)  # error
cc.evaluate(RECS, TRUTH, metrics=RR, conventions="standrd")  # error
cc.evaluate(RECS, TRUTH, metrics=RR, conventions={"preset": "standrd"})  # error
cc.evaluate(RECS, TRUTH, metrics=RR, conventions={"preset": "ranx", "tie": "given"})  # error
cc.evaluate(RECS, TRUTH, metrics=RR, conventions=STANDARD, item=RECS)  # error
cc.evaluate(RECS, TRUTH, metrics=RR, conventions=STANDARD, columns={"rec": {"user": "u"}})  # error
cc.evaluate(RECS, TRUTH, metrics=RR, conventions=STANDARD, columns={"recs": {"usr": "u"}})  # error
cc.evaluate(RECS, TRUTH, metrics=RR, conventions=STANDARD, input={"nan_scores": "last"})  # error
cc.evaluate(RECS, TRUTH, metrics=RR, conventions=STANDARD, input={"nan_score": "zero"})  # error
cc.evaluate(RECS, TRUTH, metrics=RR, conventions=STANDARD).means  # error
cc.compare(models, TRUTH, metrics=RR, baseline="als", conventions=STANDARD, panels=False)  # error
cc.data.split(frame, "leave-one-out")  # error
comparison.best_model  # error
"""
FUNCTIONS = [name for name in cc.__all__ if isfunction(getattr(cc, name))]


@pytest.mark.whole
def test_mypy_finds_the_mistakes_of_a_user_and_nothing_else(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    arguments = [
        "--strict",
        "--follow-imports=silent",
        "--no-error-summary",
        "--hide-error-context",
    ]
    config = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache")]

    run = subprocess.run(
        [sys.executable, "-m", "mypy", *arguments, *config, script.name],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    messages = [line for line in run.stdout.splitlines() if ": error: " in line]
    lines = SCRIPT.splitlines()
    marked = [number for number, line in enumerate(lines, 1) if line.endswith("# error")]
    assert sorted({int(message.split(":")[1]) for message in messages}) == marked, run.stdout
    assert not run.stderr


def test_types_of_conventions_are_those_of_the_registry() -> None:
    assert option_types.PATH.read_text(encoding="utf-8") == option_types.option_types()
    assert option_types.FIELDS_PATH.read_text(encoding="utf-8") == option_types.option_fields()


def test_policies_and_their_values_are_those_that_are_accepted() -> None:
    assert get_type_hints(PolicyOptions) == get_type_hints(Policies)


def test_names_of_columns_are_those_that_are_read() -> None:
    hints = get_type_hints(TableColumns) | get_type_hints(SplitColumns)
    read = {
        "recs": LIST_COLUMNS,
        "truth": TRUTH_COLUMNS,
        "train": TRAIN_COLUMNS,
        "users": USERS_COLUMNS,
        "interactions": INTERACTIONS_COLUMNS,
    }

    shared = ("user", "item", "rank", "score", "grade", "time")
    of_all_tables = {name: hints.pop(name) for name in shared}
    assert set(of_all_tables.values()) == {str}
    del hints["items"]
    assert {name: set(get_args(get_args(hint)[0])) for name, hint in hints.items()} == {
        name: {*required, *optional} for name, (required, optional) in read.items()
    }  # fmt: skip


def test_split_methods_are_those_that_are_accepted() -> None:
    assert get_args(SplitMethodName) == tuple(METHOD_OPTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_help_shows_public_names_only(name: str) -> None:
    text = pydoc.render_doc(getattr(cc, name), renderer=pydoc.plaintext)  # type: ignore[attr-defined]

    assert "metrics_core" not in text


def test_public_results_are_found_by_pickle() -> None:
    recs, truth = {"u": ["a", "b"], "v": ["b"]}, {"u": ["b"], "v": ["b"]}
    settings: dict[str, Any] = {"metrics": ["RR@2"], "conventions": "standard"}
    times = pl.DataFrame({"user": ["u", "u"], "item": ["a", "b"], "time": [1, 2]})
    results = [
        cc.preset("rectools"),
        cc.presets(),
        cc.compare({"a": recs, "b": truth}, truth, baseline="a", panel=False, **settings),
        cc.explain(recs, truth, user="u", metric="RR@2", conventions="standard"),
        cc.reconcile(recs, truth, value="0.75", metric="RR@2", conventions="standard"),
        cc.verify({"a": recs}, truth, pl.DataFrame({"model": "a", "metric": "RR@2", "value": "1"})),
        cc.plan(sd=0.2, users=1_000),
        cc.results.VarianceComponents(0.1, 0.2, 0.3),
    ]

    for result in results:
        assert type(result).__module__ == "concord.results"
        assert pickle.loads(pickle.dumps(result)) == result
    assert pickle.loads(pickle.dumps(cc.data.split(times, "leave-last-out"))).train.height == 1
