"""Stage `evaluate@<model>`: ranked lists and ground truth -> users' values, their summary and the DVC metrics."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from concord.metrics_core.errors import InputError, refuse
from concord.metrics_core.evaluation.accumulator import panels_of, pinned_content, task_of
from concord.metrics_core.evaluation.evaluate_model import Executor, ModelData, evaluate_model
from concord.metrics_core.evaluation.partition import Part, Task, evaluated, one_ahead
from concord.metrics_core.files import known_of, load_json
from concord.metrics_core.metrics.catalogue import spelled
from concord.pipeline.evaluating.engines.executors import executor_of
from concord.pipeline.evaluating.model_data import check_grades, check_model_ids, model_data
from concord.pipeline.params.labels import labels_of
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.read import read_params
from concord.pipeline.running.outputs import MAKE_AGAIN, prepare, write_json
from concord.pipeline.running.per_user_file import PerUserWriter, per_user_writer
from concord.pipeline.running.progress import Progress
from concord.pipeline.running.removed_models import remove_background
from concord.pipeline.running.stage import model_argument


def main() -> str:
    params = read_params()
    folders = params.results
    prepare(folders, folders.per_user, folders.panel, folders.summary, folders.metrics)
    return evaluate(params, model_argument(params))


def evaluate(params: Params, model: str) -> str:
    """Write the users' values, the summary and the metrics of one model; return how many there are."""
    remove_background(params)
    check_grades(params, model)
    fit = check_model_ids(params, model)
    _check_unit(params, model)
    labels, folders = labels_of(params), params.results
    primary = params.comparison.primary if params.evaluation.panel else []
    panels = panels_of(labels, [spelled(text) for text in primary], params.pinned)
    task = task_of(labels, params.pinned, panels, has_users="users" in params.background)
    with _value_files(params, model, task) as store:
        content = evaluate_model(
            model_data(params, model),
            task,
            panels,
            _ahead(executor_of(params)),
            store,
            confidence=params.comparison.confidence,
            fit=fit,
            inputs={
                "truth": known_of(_truth_quality(params, model)),
                "lists": known_of(_quality(params, model)),
                **{name: known_of(_quality(params, name)) for name in params.background},
            },
        )
    means = {label: numbers["mean"] for label, numbers in content["metrics"].items()}
    write_json(Path(folders.metrics) / f"{model}.json", means)
    write_json(Path(folders.summary) / f"{model}.json", content)
    return f"{len(task.labels)} metrics for {content['users']['in_truth']:,} users"


def _check_unit(params: Params, model: str) -> None:
    """Refuse lists or ground truth that were read as those of users where requests are evaluated, or the reverse."""
    read = {"load-truth": _truth_quality(params, model), f"load@{model}": _quality(params, model)}
    for stage, quality in read.items():
        if (unit := quality.get("unit", [])) != params.data.unit:
            problem = f"is {params.data.unit}, and {quality['path']} was read with {unit}"
            fix = f"run `dvc repro --single-item --force {stage}`, then `dvc repro`"
            raise refuse(f"{PARAMS}: data.unit", problem, fix)


def _quality(params: Params, name: str) -> dict[str, Any]:
    """Return the quality file of a model or a table."""
    folder = params.results.data if name in params.background else params.results.quality
    return load_json(Path(folder) / f"{name}.json", MAKE_AGAIN)


def _truth_quality(params: Params, model: str) -> dict[str, Any]:
    """Return the quality of the ground truth that a model is evaluated on."""
    quality, fold = _quality(params, "truth"), params.models[model].fold
    return quality if fold is None else quality["folds"][fold]


def _ahead(execute: Executor) -> Executor:
    """Compute the next partition while one is written; an error of a convention names params.yaml."""

    def execute_ahead(data: ModelData, task: Task) -> Generator[Part]:
        with closing(one_ahead(_located_errors(execute(data, task)))) as parts:
            yield from parts

    return execute_ahead


def _located_errors(parts: Iterator[Part]) -> Generator[Part]:
    try:
        yield from parts
    except InputError:  # has a location
        raise
    except ValueError as error:
        fix = "change the convention that is named, or the data; train and items are named under `background:`"
        raise refuse(f"{PARAMS}: conventions", str(error), fix) from error


class _ValueFiles:
    """Parquet files of users' values: one of the labels, one of the panel's other definitions."""

    def __init__(self, params: Params, model: str, task: Task, progress: Progress) -> None:
        self.task, self.progress = task, progress
        folders = (params.results.per_user, params.results.panel)
        self.files = [Path(folder) / f"{model}.parquet" for folder in folders]
        self.metadata = pinned_content(model, params.pinned)
        self.open_files = ExitStack()
        self.writers: Sequence[PerUserWriter] = ()
        weights = [*task.mean_weights]
        self.definitions = [definition.column for definition in task.definitions]
        self.columns = [[*map(str, task.per_user), *weights], [*self.definitions, *weights]]

    def write(self, part: Part) -> None:
        """Write the values of a partition."""
        if not self.writers:
            is_integer = part.values.schema["user"].is_integer()
            id_type = pa.int64() if is_integer else pa.string()
            self.writers = [
                self.open_files.enter_context(
                    per_user_writer(file, id_type, columns, self.metadata)
                )
                for file, columns in zip(self.files, self.columns, strict=True)
            ]
        labels, definitions = self.writers
        self.progress.advance(len(part.values))
        labels.write(evaluated(part.values, self.task))
        definitions.write(part.values.select("user", *self.columns[1]))

    def close(self) -> None:
        """Put the files in place."""
        self.open_files.close()

    def table_of(self, column: str) -> Path:
        """Return the file of a column."""
        return self.files[column in self.definitions]


@contextmanager
def _value_files(params: Params, model: str, task: Task) -> Iterator[_ValueFiles]:
    n_users = None
    if (Path(params.results.quality) / "truth.json").exists():
        n_users = _truth_quality(params, model).get("users")
    with Progress(f"evaluate {model}", "users", n_users) as progress:
        store = _ValueFiles(params, model, task, progress)
        with store.open_files:  # an error removes what was written
            yield store
