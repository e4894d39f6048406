"""Results of the stage `evaluate` on disk, with per-user values that a test sets."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.conventions.values_version import VALUES_VERSION
from concord.metrics_core.evaluation.summary import summarise
from concord.metrics_core.metrics.label import is_pooled, parse
from concord.pipeline.params.model import Comparison, Params, Results
from concord.pipeline.params.paths import reference_file
from concord.pipeline.running.outputs import per_user_writer, write_json, write_parquet
from concord.pipeline.stages.compare import main as compare
from concord.pipeline.stages.evaluation_data import evaluation_data
from concord.pipeline.stages.evaluations import read_evaluations
from tests.pipeline.params.params_content import params_content

# Label -> one value per user; None: the user is left out of the metric.
Values = Mapping[str, Sequence[float | None]]
TRUTH = "ab" * 32


def params_of(
    root: Path, models: Sequence[str], *, metrics: list[str], ks: list[int], **settings: Any
) -> Params:
    """Return validated parameters; `settings` are keys of `comparison` or conventions."""
    conventions = {
        name: settings.pop(name) for name in list(settings) if name not in Comparison.model_fields
    }
    content = params_content(
        {model: {"path": f"{model}.csv"} for model in models},
        metrics,
        ks,
        comparison=settings,
        conventions=preset("standard", **conventions).as_dict(),
        results={folder: str(root / folder) for folder in Results.model_fields},
    )
    return Params.model_validate(content)


def write_evaluation(
    params: Params,
    model: str,
    values: Values,
    *,
    users: Sequence[int] | Sequence[str] | None = None,
    truth: str = TRUTH,
) -> None:
    """Write the files of `load` and `evaluate` for a model."""
    folders, conventions = params.results, params.parsed_conventions
    n = len(next(iter(values.values())))
    frame = pl.DataFrame(
        {"user": list(range(n)) if users is None else users, **values}, strict=False
    )
    frame = frame.with_columns(pl.col(list(values)).cast(pl.Float64))
    metadata = {
        "model": model,
        "values_version": VALUES_VERSION,
        "conventions": conventions.as_dict(),
        "fingerprint": conventions.fingerprint,
    }
    id_type = pa.string() if frame.schema["user"] == pl.String else pa.int64()
    path = Path(folders.per_user) / f"{model}.parquet"
    with per_user_writer(path, id_type, list(values), metadata) as writer:
        writer.write(frame)
    summaries = {label: _summary(frame[label], label, params) for label in values}
    _write_lists(params, model, frame["user"])
    write_json(
        Path(folders.metrics) / f"{model}.json", {k: v["mean"] for k, v in summaries.items()}
    )
    write_json(
        Path(folders.quality) / f"{model}.json",
        {"model": model, "rows": 10 * n, "notes": [], "has_scores": True},
    )
    references = {"fingerprint": conventions.fingerprint, "references": None}
    write_json(reference_file(params), references)
    write_json(Path(folders.quality) / "truth.json", {"rows": 3 * n, "users": n, "items": 5})
    write_json(
        Path(folders.summary) / f"{model}.json",
        {
            **metadata,
            "metrics": summaries,
            "users": {"evaluated": n},
            "judged_share": {"10": 0.5},
            "inputs": {
                "truth": {"path": "truth.parquet", "sha256": truth, "md5": "cd" * 16},
                "lists": {"path": f"{model}.csv", "sha256": "ef" * 32, "md5": "01" * 16},
            },
            "versions": {"concord-eval": "0.1.0", "numpy": "2.4.6"},
        },
    )


def write_results(root: Path, models: Mapping[str, Values], **settings: Any) -> Params:
    """Write results of models from values by label, the baseline first; return the parameters."""
    labels = [parse(label) for label in next(iter(models.values()))]
    metrics = dict.fromkeys(label.name for label in labels)
    ks = dict.fromkeys(label.k for label in labels if label.k is not None)
    params = params_of(root, list(models), metrics=list(metrics), ks=list(ks), **settings)
    for model, values in models.items():
        write_evaluation(params, model, values)
    return params


def run_compare(params: Params) -> dict[str, Any]:
    """Run the stage; return the content of comparison.json."""
    compare(params)
    path = Path(params.results.comparison) / "comparison.json"
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def comparison_input(params: Params) -> ComparisonInput:
    """Return the input of the stage from disk."""
    lists, config = read_evaluations(params, params.comparison_config, ())
    return ComparisonInput(config, lists, evaluation_data(params))


def _write_lists(params: Params, model: str, users: pl.Series) -> None:
    """Write two items per user, one of which is relevant."""
    n = len(users)
    lists = pl.DataFrame(
        {
            "user": pl.concat([users, users]).sort(),
            "item": [f"i{rank}" for _ in range(n) for rank in (1, 2)],
            "rank": [1, 2] * n,
        }
    )
    write_parquet(Path(params.results.lists) / f"{model}.parquet", lists)
    truth = pl.DataFrame({"user": users.sort(), "item": ["i1"] * n, "grade": [1.0] * n})
    write_parquet(Path(params.results.data) / "truth.parquet", truth)


def _summary(column: pl.Series, text: str, params: Params) -> dict[str, Any]:
    label = parse(text)
    values = column.drop_nulls().to_numpy()
    parts = (values, np.ones_like(values)) if is_pooled(label, params.parsed_conventions) else ()
    summary = summarise(
        label,
        values,
        params.parsed_conventions,
        confidence=params.comparison.confidence,
        parts=parts,
    )
    return {
        name: None if math.isnan(number) else number for name, number in summary.numbers.items()
    }
