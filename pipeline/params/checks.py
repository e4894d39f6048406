"""Problems with the values of params.yaml, and with values that contradict each other."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from concord.metrics_core.comparison.behaviour_rules import parse_checks
from concord.metrics_core.comparison.config import (
    baseline_problems,
    value_problems,
)
from concord.metrics_core.comparison.gate import parse_gate
from concord.metrics_core.comparison.min_effect import effect_problems
from concord.metrics_core.comparison.replicate_config import REPLICATES
from concord.metrics_core.comparison.warnings.acknowledge import parse_acknowledgements
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.presets import (
    differences_from_preset,
    preset,
    preset_problems,
)
from concord.metrics_core.data.units import unit_mean_problems
from concord.metrics_core.errors import (
    InputError,
    Problem,
    format_count,
    label_fix,
    params_keys,
    problems_of,
)
from concord.metrics_core.evaluation.config import subtopic_problems
from concord.metrics_core.evaluation.score import label_problem
from concord.metrics_core.metrics.custom_metric import split_file_label
from concord.metrics_core.metrics.label import Label, expand, parse, similar_label
from concord.metrics_core.metrics.scope import idle_overrides
from concord.metrics_core.results.text_format import group_values, join_names
from concord.pipeline.params.model import Evaluation, Params
from concord.pipeline.params.values import value_params_problems

MAX_LABELS = 1_000  # metrics x cutoffs
_METRICS = ("evaluation", "metrics")
_COLUMNS = {
    "train": ("user", "item", "time"),
    "items": ("item", "categories", "vector", "title", "group"),
    "users": ("user",),
    "metrics": (),
}


def misplaced_replicates(models: Any) -> Iterator[Problem]:
    """Yield a problem for each model that holds its replicates: DVC runs one stage per model."""
    for name, entry in models.items() if isinstance(models, dict) else []:
        if isinstance(entry, dict) and REPLICATES in entry:
            problem = (
                f"has the key `{REPLICATES}`, "
                "and each entry of `models` is the lists of one replicate"
            )
            fix = (
                f"write `{name}-1: {{path: …}}`, `{name}-2: {{path: …}}`, "
                f"and `comparison.{REPLICATES}: {{{name}: {name}-*}}`"
            )
            yield Problem(("models", name), problem, fix)


def section_problems(content: Mapping[str, Any], known: Sequence[Problem]) -> Iterator[Problem]:
    """Yield problems with values of sections that have no problem yet."""
    invalid = {problem.location[:2] for problem in known if isinstance(problem.location, tuple)}
    conventions, evaluation, comparison, gate, checks, acknowledge = (
        content.get(name)
        for name in ("conventions", "evaluation", "comparison", "gate", "checks", "acknowledge")
    )
    if conventions is not None and ("conventions",) not in invalid:
        yield from convention_problems(conventions)
    has_own_metrics = "metrics" in (content.get("background") or {})  # not loaded yet
    if isinstance(evaluation, dict) and _METRICS not in invalid and not has_own_metrics:
        yield from _metric_problems(evaluation.get("metrics", ()))
    if isinstance(comparison, dict):
        effects = comparison.get("min_effect", 0.0)
        yield from _with_keys(value_problems(comparison))
        yield from _with_keys(effect_problems(effects, {}, (), params_keys("comparison")))
    if isinstance(gate, dict) and not any(keys[0] == "gate" for keys in invalid):
        rules = {key: gate[key] for key in gate.keys() - {"new_models"}}
        yield from problems_of(parse_gate, rules)
    if isinstance(checks, dict) and not any(keys[0] == "checks" for keys in invalid):
        yield from problems_of(parse_checks, checks)
    if isinstance(acknowledge, dict) and not any(keys[0] == "acknowledge" for keys in invalid):
        yield from problems_of(parse_acknowledgements, acknowledge)


def params_problems(params: Params) -> list[Problem]:
    """Return problems with the values of a file that fits the schema."""
    ids = {name: entry.training_run_id for name, entry in params.models.items()}
    known_ids = {name: run_id for name, run_id in ids.items() if isinstance(run_id, str)}
    model_problems = [*shared_run_problems(params, known_ids), *_rename_problems(params)]
    if params.has_values:
        conventions = params.parsed_conventions
        return [
            *value_params_problems(params),
            *_with_keys(problems_of(params.build_config, params.labels, conventions)),
            *model_problems,
        ]
    metrics, ks = params.evaluation.metrics, params.evaluation.ks
    labels, values = list(dict.fromkeys(_known_labels(metrics, ks))), params.value_labels
    invalid_conventions = convention_problems(params.conventions)
    conventions = preset("standard") if invalid_conventions else params.parsed_conventions
    problems = [
        *value_params_problems(params),
        *invalid_conventions,
        *_catalogue_problems(params, conventions),
        *_unit_problems(params),
        *_label_problems(params, labels),
        *subtopic_problems(labels, params.data.truth.columns, params_keys("data.truth"), _METRICS),
        *_pattern_problems(params),
        *_with_keys(problems_of(params.build_config, [*labels, *values], conventions)),
        *_fold_problems(params),
        *_case_problems(params),
        *model_problems,
    ]
    return problems or [*_uncomputable_problems(params)]


def _with_keys(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Yield problems with a comparison's configuration, located at their keys in params.yaml."""
    for problem in problems:
        keys = problem.location if isinstance(problem.location, tuple) else (problem.location,)
        if keys[0] not in Params.model_fields:
            keys = ("comparison", *keys)
        yield replace(problem, location=keys)


def convention_problems(conventions: dict[str, Any]) -> list[Problem]:
    """Return invalid conventions, overrides without effect, and differences from the preset."""
    problems = preset_problems(conventions.get("preset"))
    differing: dict[str, tuple[Any, Any]] = {}
    try:
        parsed = Conventions.from_mapping(conventions)
        problems += idle_overrides(parsed)
        differing = {} if problems else differences_from_preset(parsed)
    except InputError as error:
        problems += error.problems
    return problems + [
        Problem(
            ("conventions", name),
            f"is {_yaml(value)}, but preset {conventions['preset']!r} has {_yaml(preset_value)}",
            f"set it to {_yaml(preset_value)}, or `preset: custom`; "
            f"`concord pin {conventions['preset']}` sets all",
        )
        for name, (value, preset_value) in differing.items()
    ]


def _yaml(value: Any) -> str:
    return "null" if value is None else repr(value)


def _uncomputable_problems(params: Params) -> Iterator[Problem]:
    """Yield metrics that have no value under the conventions for any data."""
    labels = group_values(
        (label_problem(label, params.parsed_conventions), str(label))
        for label in params.list_labels
    )
    for reason, names in labels.items():
        if reason:
            fix = (
                "remove them, or change what is named; a convention that differs from the preset "
                "needs `conventions.preset: custom`"
            )
            yield Problem(_METRICS, f"{join_names(names)}: {reason}", fix)


def _catalogue_problems(params: Params, conventions: Conventions) -> Iterator[Problem]:
    """Yield a problem if `candidates.catalogue` names a table that is missing."""
    role = (conventions.candidates or {}).get("catalogue")
    if isinstance(role, str) and role not in params.background:
        fix = f"name the table under `background.{role}`, or write the number of items"
        problem = f"is {role}, and `background` has no {role}"
        yield Problem(("conventions", "candidates", "catalogue"), problem, fix)


def _unit_problems(params: Params) -> Iterator[Problem]:
    for problem, fix in unit_mean_problems(params.data.unit, params.conventions.get("unit_mean")):
        yield Problem(("conventions", "unit_mean"), problem, fix)


def _label_problems(params: Params, labels: Sequence[Label]) -> Iterator[Problem]:
    ks = params.evaluation.ks
    problems = [*_undeclared_problems(params), *_metric_problems(params.evaluation.metrics)]
    if len(set(ks)) < len(ks):
        problem = Problem(("evaluation", "ks"), f"repeats a cutoff: {ks}", "name each k once")
        problems.append(problem)
    yield from problems or _expansion_problems(params.evaluation)
    yield from _column_problems(params, labels)


def _undeclared_problems(params: Params) -> Iterator[Problem]:
    """Yield files of metrics whose changes DVC would not notice."""
    for text in params.evaluation.metrics:
        file, metric_file = split_file_label(text), params.own_metrics
        if file is not None and (metric_file is None or file[0].resolve() != metric_file.resolve()):
            problem = f"{text!r} names a file that `background.metrics` does not"
            fix = (
                f"write `background: {{metrics: {{path: {file[0]}}}}}`, "
                "so that DVC evaluates again when it changes"
            )
            yield Problem(_METRICS, problem, fix)


def _metric_problems(metrics: Sequence[Any]) -> Iterator[Problem]:
    for text in metrics:
        try:
            parse(text, allow_missing_cutoff=True)
        except ValueError as error:
            yield Problem(_METRICS, str(error), label_fix(error))


def _expansion_problems(evaluation: Evaluation) -> Iterator[Problem]:
    try:
        labels = expand(evaluation.metrics, evaluation.ks)
    except ValueError as error:
        yield Problem(_METRICS, str(error), "name each metric once")
        return
    if len(labels) > MAX_LABELS:
        problem = f"makes {len(labels):,} labels, metrics times cutoffs"
        yield Problem(_METRICS, problem, f"name metrics and cutoffs for at most {MAX_LABELS:,}")


def _known_labels(metrics: Sequence[str], ks: Sequence[int]) -> Iterator[Label]:
    """Yield labels of valid and of misspelt metrics, so that one typo causes one problem only."""
    for text in metrics:
        for spelling in (text, similar_label(text)):
            with suppress(ValueError):
                yield from expand([spelling] if spelling else [], set(ks))
                break


def _column_problems(params: Params, labels: Sequence[Label]) -> Iterator[Problem]:
    """Yield columns of side data that nothing reads."""
    propensity = params.conventions.get("propensity")
    for name, file in params.background.items():
        known = list(_COLUMNS[name])
        if name == "items":
            known += [column for label in labels for column in label.metric.columns]
            is_column = isinstance(propensity, dict) and propensity.get("column") == "items"
            known += ["propensity"] if is_column else []
        for column in file.columns:
            if column not in known:
                near = difflib.get_close_matches(column, known, n=1)
                spelling = f"did you mean {near[0]!r}? Else " if near else ""
                fix = f"{spelling}choose one of {', '.join(known)}" if known else "remove it"
                location = ("background", name, "columns", column)
                yield Problem(location, "is a column that nothing reads", fix)


def _case_problems(params: Params) -> Iterator[Problem]:
    models, location = params.comparison.cases or [], ("comparison", "cases")
    for model in models:
        yield from baseline_problems(model, [*params.models, *params.replicate_names], location)
    if len(models) != len({*models}):
        yield Problem(location, f"{models[0]!r} is named twice", "name another model")
    elif models and len(models) != 2:  # noqa: PLR2004
        fix = "name two models, such as [als, ease]"
        yield Problem(location, f"names {format_count(len(models), 'model')}", fix)


def _pattern_problems(params: Params) -> Iterator[Problem]:
    """Yield patterns of `replicates` that match no entry of `models`."""
    for model, lists in params.replicate_names.items():
        if not lists:
            similar = [name for name in params.models if name.startswith(model)]
            problem = f"{params.comparison.replicates[model]!r} matches no entry of `models`"
            fix = (
                f"`*` means the number, as in `{model}-*` for `{model}-1`, `{model}-2`; "
                f"there is {join_names(similar or [*params.models])}"
            )
            yield Problem(("comparison", REPLICATES, model), problem, fix)


def _fold_problems(params: Params) -> Iterator[Problem]:
    """Yield files outside the folder of folds, and lists without the fold of their replicate."""
    folds = params.data.truth.folds
    if folds and params.data.truth.additional:
        problem = "is used, and the ground truth has folds"
        fix = "add the rows to the file of each fold"
        yield Problem(("data", "truth", "additional"), problem, fix)
    for number, file in folds.items():
        if Path(file).is_absolute() or ".." in Path(file).parts:
            problem = f"is {file!r}, which leads out of the folder `path`"
            fix = "name a file in it: DVC watches that folder"
            yield Problem(("data", "truth", "folds", number), problem, fix)
    replicate_numbers = {
        name: n for numbered in params.replicate_names.values() for n, name in numbered.items()
    }
    for name, entry in params.models.items():
        n, fold = replicate_numbers.get(name) if folds else None, entry.fold
        location = ("models", name, "fold")
        if fold is not None and not folds:
            fix = "leave it out, or name the files of the folds at `data.truth.folds`"
            yield Problem(location, f"is {fold}, and the ground truth has no folds", fix)
        elif n is not None and fold != n:
            state = "is missing" if fold is None else f"is {fold}"
            problem = (
                f"{state}, and the lists are replicate {n} of a model that is trained on folds"
            )
            yield Problem(location, problem, f"write `fold: {n}`")


def _rename_problems(params: Params) -> Iterator[Problem]:
    """Yield former names that are still models, or that two models claim."""
    owners: dict[str, str] = {}
    for name, entry in params.models.items():
        if entry.was is None:
            continue
        location = ("models", name, "was")
        if entry.was in params.models:
            problem = f"is {entry.was!r}, which is still a model"
            yield Problem(location, problem, "remove `was`, or rename the model")
        elif entry.was in owners:
            problem = f"is {entry.was!r}, as that of {owners[entry.was]}"
            yield Problem(location, problem, "keep it at the model that continues the former one")
        owners.setdefault(entry.was, name)


def shared_run_problems(params: Params, run_ids: Mapping[str, str]) -> Iterator[Problem]:
    """Yield models that share a training run: metrics of one would overwrite the other's.

    `run_ids` are those of the models; ids in files are known only once the files are read.
    """
    owners: dict[str, str] = {}
    for name, run_id in run_ids.items():
        if params.mlflow.attach != "child" and run_id in owners:
            problem = f"{run_id!r} is the training run of {owners[run_id]} too"
            fix = "name another run, or set `mlflow.attach: child`"
            yield Problem(("models", name, "training_run_id"), problem, fix)
        owners[run_id] = name
