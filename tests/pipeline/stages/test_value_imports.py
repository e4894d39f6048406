"""The imports of docs/how-to/values.md, on files in the shape that each tool writes."""

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.relations import connect
from concord.metrics_core.data.value_files import read_value_file
from concord.metrics_core.errors import SettingNames, as_params_line
from concord.metrics_core.metrics.metric import UNBOUNDED
from tests.project import ROOT

PAGE = (ROOT / "docs/how-to/values.md").read_text(encoding="utf-8")


def _import(tool: str, **names: Any) -> None:
    """Run the example of a tool in the working directory."""
    section = PAGE.partition(f"### From {tool}\n")[2]
    example = re.search(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    assert example is not None
    Path("runs").mkdir()
    exec(example[1], names)


def _read(file: str, *metrics: str) -> pl.DataFrame:
    """Return the values, as the stage `load` reads them."""
    columns = {name: name for name in ("user", *metrics)}
    table = InputTable(
        file,
        "parquet",
        ("user",),
        metrics,
        columns,
        SettingNames(("models", "a"), as_params_line, path="values"),
    )
    with connect(reads=[Path(file)]) as connection:
        values, _ = read_value_file(connection, table, dict.fromkeys(metrics, UNBOUNDED))
    return values


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_ragas() -> None:
    class Result:
        def to_pandas(self) -> pd.DataFrame:
            return pd.DataFrame(
                {
                    "user_input": ["Why?", "How?"],
                    "retrieved_contexts": [["a"], ["b", "c"]],
                    "response": ["x", "y"],
                    "reference": ["x", "z"],
                    "faithfulness": [1.0, float("nan")],
                    "answer_relevancy": [0.93, 0.41],
                }
            )

    _import("Ragas", result=Result())

    values = _read("runs/ragas.parquet", "faithfulness", "answer_relevancy")
    assert values["user"].to_list() == ["How?", "Why?"]
    assert values["faithfulness"].is_nan().to_list() == [True, False]
    assert values["answer_relevancy"].to_list() == [0.41, 0.93]


def test_lm_eval() -> None:
    folder = Path("lm_eval_output")
    folder.mkdir()
    lines = [
        {
            "doc_id": number,
            "doc": {"question": "2 + 2?"},
            "target": "4",
            "arguments": {"gen_args_0": {"arg_0": "2 + 2?"}},
            "resps": [["4"]],
            "filtered_resps": ["4"],
            "filter": name,
            "metrics": ["exact_match"],
            "exact_match": score,
        }
        for name, scores in (("strict-match", (1.0, 0.0)), ("flexible-extract", (1.0, 1.0)))
        for number, score in enumerate(scores)
    ]
    file = folder / "samples_gsm8k_2025-01-01T10-00-00.000000.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")

    _import("lm-eval")

    values = _read("runs/lm_eval.parquet", "exact_match")
    assert values.rows() == [("gsm8k/0", 1.0), ("gsm8k/1", 0.0)]


def test_deepeval() -> None:
    def case(name: str, **scores: float | None) -> dict[str, Any]:
        data = [
            {"name": metric.replace("_", " "), "threshold": 0.5, "success": True, "score": score}
            for metric, score in scores.items()
        ]
        return {"name": name, "input": "?", "actualOutput": "!", "metricsData": data}

    cases = [
        case("test_case_0", Answer_Relevancy=0.9, Faithfulness=1),
        case("test_case_1", Answer_Relevancy=0.25, Faithfulness=None),
    ]
    Path("deepeval.json").write_text(json.dumps({"testCases": cases, "runDuration": 3.5}))

    _import("DeepEval")

    values = _read("runs/deepeval.parquet", "answer_relevancy", "faithfulness")
    assert values["answer_relevancy"].to_list() == [0.9, 0.25]
    assert values["faithfulness"].is_nan().to_list() == [False, True]
