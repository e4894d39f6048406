"""What params.yaml may not say, in words: names of models, values beside their shape, values that contradict each other."""

import difflib
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from concord.metrics_core.comparison.config import baseline_findings
from concord.metrics_core.comparison.gate_config import gate_findings
from concord.metrics_core.comparison.replicate_config import (
    KEY,
    fold_findings,
    replicate_findings,
    unpaired_folds,
)
from concord.metrics_core.comparison.segmentation import segment_findings
from concord.metrics_core.conventions.convention import shown
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.presets import differences_from_preset, preset_problems
from concord.metrics_core.conventions.validation import ConventionError
from concord.metrics_core.data.units import mean_findings
from concord.metrics_core.errors import ParamsKeys, in_words
from concord.metrics_core.evaluation.score import uncomputable
from concord.metrics_core.metrics.scope import idle_overrides
from concord.metrics_core.results.words import listed
from concord.pipeline.params.config import compared_models, config_from_params, replicates_of
from concord.pipeline.params.labels import label_findings, labels_of, metric_findings
from concord.pipeline.params.model import MODEL_NAME, NO_KEYS, Params
from concord.pipeline.params.yaml_files import Finding

TRUTH = "truth"  # its files stand beside those of the models
BACKGROUND = ("train", "items", "users", "metrics")  # what is known beside lists and truth
_SHAPES = {  # in pydantic's own words: "Input should be a valid list"
    "list_type": "write a list, in brackets: […]",
    "string_type": "write a text",
    "dict_type": "write a mapping, keys with values",
    "model_type": "write a mapping, keys with values",
    "bool_type": "write true or false",
}


def model_name_findings(models: Any) -> Iterator[Finding]:
    """DVC drops names that are no text without a word, and stumbles over dots, `@` and slashes."""
    fix = (
        "use letters, digits, `_` and `-`, at most 100, starting with a letter or digit; quote a name of digits only; "
        f"{', '.join(map(repr, (TRUTH, *BACKGROUND)))} are taken"
    )
    alike = defaultdict(list)
    for name in models if isinstance(models, dict) else []:
        if not is_model_name(name):
            yield ("models", name), f"{shown(name)} is no name of a model", fix
        else:
            alike[name.lower()].append(name)
    for first, *others in alike.values():
        for name in others:
            what = f"{name!r} and {first!r} differ in capitals alone: their files are one on many disks"
            yield ("models", name), what, "give one of them another name"


def nested_findings(models: Any) -> Iterator[Finding]:
    """Trainings within an entry of `models`: DVC makes one stage an entry, and cannot look into it."""
    for name, entry in models.items() if isinstance(models, dict) else []:
        if isinstance(entry, dict) and KEY in entry:
            what = f"holds `{KEY}`, and each entry of `models` is the lists of one training"
            fix = f"write `{name}-1: {{path: …}}`, `{name}-2: {{path: …}}`, and `comparison.{KEY}: {{{name}: {name}-*}}`"
            yield ("models", name), what, fix


def is_model_name(name: Any) -> bool:
    return (
        isinstance(name, str)
        and re.fullmatch(MODEL_NAME, name) is not None
        and name.lower() not in {TRUTH, *BACKGROUND}
    )


def shape_findings(
    shape: type[BaseModel], found: Sequence[Any], told: Collection[tuple[Any, ...]] = ()
) -> list[Finding]:
    """All that pydantic found, but for what is told; a key that is missing because it is mistyped is told once."""
    lacking = {tuple(each["loc"]) for each in found if each["type"] == "missing"}
    mistyped = {
        (*keys[:-1], near)
        for each in found
        if each["type"] == "extra_forbidden" and (keys := tuple(each["loc"]))
        for near in _near(str(keys[-1]), _keys_at(shape, keys))
    }
    told_twice = lacking & mistyped
    return [
        _finding(shape, each)
        for each in found
        if (keys := tuple(each["loc"])) not in told_twice
        and not any(keys[: len(known)] == known for known in told)
    ]


def early_findings(content: dict[str, Any], shapes: Sequence[Finding]) -> Iterator[Finding]:
    """What can be told of conventions and metrics though something else has not its shape."""
    wrong = {keys[0] for keys, _, _ in shapes}
    if "conventions" not in wrong and "conventions" in content:
        yield from convention_findings(content["conventions"])
    metrics = [
        keys for keys, _, _ in shapes if keys[:2] in {("evaluation",), ("evaluation", "metrics")}
    ]
    if "evaluation" in content and not metrics and "metrics" in content["evaluation"]:
        yield from metric_findings(content["evaluation"]["metrics"])


def _finding(shape: type[BaseModel], found: Any) -> Finding:
    """What pydantic found, as a finding: unknown keys with what may be meant, values with what is allowed."""
    place = tuple(found["loc"])
    keys = tuple(key for key in place if key not in NO_KEYS)
    if found["type"] == "extra_forbidden":
        known = _keys_at(shape, place)
        return keys, "is not a key that Concord knows", _meant(str(keys[-1]), known)
    if found["type"] == "missing":
        return keys, "is missing", f"add `{keys[-1]}:` there"
    fix = _SHAPES.get(found["type"]) or _limit(found) or found["msg"].removeprefix("Value error, ")
    if found["type"] == "literal_error" and isinstance(found["input"], str):
        allowed = re.findall(r"'([^']*)'", found["ctx"]["expected"])
        near = difflib.get_close_matches(found["input"], allowed, n=1)
        fix += f"; did you mean {near[0]!r}?" if near else ""
    return keys, f"is {shown(found['input'])}", fix[:1].lower() + fix[1:]


def _limit(found: Any) -> str:
    """The limit that a number, or the length of a list, does not keep; empty where it is something else."""
    said = {"less_than_equal": "at most", "less_than": "less than", "too_long": "a list of at most"}
    limits = [
        found["ctx"][key] for key in ("le", "lt", "max_length") if key in found.get("ctx", ())
    ]
    return f"write {said[found['type']]} {limits[0]:,}" if found["type"] in said and limits else ""


def _meant(key: str, known: list[str]) -> str:
    near = _near(key, known)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"remove it; known here: {', '.join(known)}" if known else "remove it"


def _near(key: str, known: list[str]) -> list[str]:
    return difflib.get_close_matches(key, known, n=1)


def _keys_at(shape: Any, keys: tuple[Any, ...]) -> list[str]:
    """The keys that may stand where the last of `keys` does."""
    for key in keys[:-1]:
        shape = _below(shape, key)
    found = [s for s in (shape, *_parts(shape)) if _is_shape(s)]
    return sorted({name for each in found for name in each.model_fields})


def _below(shape: Any, key: Any) -> Any:
    for each in (shape, *_parts(shape)):
        if _is_shape(each) and key in each.model_fields:
            return each.model_fields[key].annotation
        if get_origin(each) is dict:
            return get_args(each)[1]
    return shape  # a tag of a union: it names no key


def _parts(shape: Any) -> Iterator[Any]:
    """The members of a union, however deep it is wrapped."""
    for part in get_args(shape) if get_origin(shape) is not dict else ():
        yield part
        yield from _parts(part)


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, type) and issubclass(shape, BaseModel)


def value_findings(params: Params) -> list[Finding]:
    """What the values say of each other, once their shape is right."""
    found = [
        *convention_findings(params.conventions),
        *_unit_findings(params),
        *label_findings(params),
        *_segment_findings(params),
        *_replicate_findings(params),
        *_fold_findings(params),
        *_baseline_findings(params),
        *_case_findings(params),
        *_training_findings(params),
        *_rename_findings(params),
    ]
    return found or [*_uncomputable_findings(params), *_gate_findings(params)]


def convention_findings(conventions: dict[str, Any]) -> list[Finding]:
    """Conventions that are none, that nothing honours, or that are not those of the preset."""
    problems = preset_problems(conventions.get("preset"))
    differing: dict[str, tuple[Any, Any]] = {}
    try:
        pinned = Conventions.from_mapping(conventions)
        problems += idle_overrides(pinned)
        differing = {} if problems else differences_from_preset(pinned)
    except ConventionError as error:
        problems += error.problems
    return [(("conventions", *key.split(".")), what, fix) for key, what, fix in problems] + [
        (
            ("conventions", name),
            f"is {value!r}, but preset {conventions['preset']!r} has {named!r}",
            f"set it to {named!r}, or `preset: custom`",
        )
        for name, (value, named) in differing.items()
    ]


def _uncomputable_findings(params: Params) -> Iterator[Finding]:
    """Metrics that have no value under their conventions, whatever the data."""
    why: dict[str, list[str]] = {}
    for label in labels_of(params):
        why.setdefault(uncomputable(label, params.pinned), []).append(str(label))
    for reason, labels in why.items():
        if reason:
            fix = "leave them out, or change what is named; a convention that the preset has otherwise needs `conventions.preset: custom`"
            yield ("evaluation", "metrics"), f"{listed(labels)}: {reason}", fix


def _unit_findings(params: Params) -> Iterator[Finding]:
    for what, fix in mean_findings(params.data.unit, params.conventions.get("unit_mean")):
        yield ("conventions", "unit_mean"), what, fix


def _segment_findings(params: Params) -> Iterator[Finding]:
    segments = {name: each.cut for name, each in params.segments.items()}
    for place, what, fix in segment_findings(segments, params.background, ParamsKeys("segments")):
        yield ("segments", place.removeprefix("segments.")), what, fix


def _baseline_findings(params: Params) -> Iterator[Finding]:
    for key, what, fix in baseline_findings(params.comparison.baseline, compared_models(params)):
        yield ("comparison", key), what, fix


def _case_findings(params: Params) -> Iterator[Finding]:
    asked = params.comparison.cases or []
    known = [*params.models, *replicates_of(params)]
    for model in asked:
        for _, what, fix in baseline_findings(model, known):
            yield ("comparison", "cases"), what, fix
    if len(asked) != len({*asked}):
        yield ("comparison", "cases"), f"{asked[0]!r} is named twice", "name another model"
    elif asked and len(asked) != 2:  # noqa: PLR2004
        fix = "name two models, such as [als, ease]"
        yield ("comparison", "cases"), f"names {in_words(len(asked), 'model')}", fix


def _replicate_findings(params: Params) -> Iterator[Finding]:
    comparison = params.comparison
    named = replicates_of(params)
    unfit = [model for model, trainings in named.items() if not trainings]
    for model in unfit:
        like = [name for name in params.models if name.startswith(model)]
        what = f"{comparison.replicates[model]!r} fits no entry of `models`"
        fix = f"`*` stands for the number, as in `{model}-*` for `{model}-1`, `{model}-2`"
        yield (
            ("comparison", KEY, model),
            what,
            f"{fix}; there is {listed(like or [*params.models])}",
        )
    fitting = {model: trainings for model, trainings in named.items() if model not in unfit}
    for model, what, fix in replicate_findings(
        fitting, params.models, paired=comparison.paired_replicates
    ):
        yield ("comparison", KEY, model), what, fix


def _fold_findings(params: Params) -> Iterator[Finding]:
    """Of folds with a truth of their own: training n of each model is of fold n."""
    folds, named = params.data.truth.folds, replicates_of(params)
    for number, file in folds.items():
        if Path(file).is_absolute() or ".." in Path(file).parts:
            what = f"is {file!r}, which leads out of the folder `path`"
            yield (
                ("data", "truth", "folds", number),
                what,
                "name a file in it: DVC watches that folder",
            )
    for model, what, fix in fold_findings(folds, compared_models(params), named):
        yield ("comparison", KEY, model), what, fix
    for key, what, fix in unpaired_folds(folds, paired=params.comparison.paired_replicates):
        yield ("comparison", key), what, fix
    of_training = {name: n for trainings in named.values() for n, name in trainings.items()}
    for name, entry in params.models.items():
        n, fold = of_training.get(name) if folds else None, entry.fold
        if fold is not None and not folds:
            fix = "leave it out, or name the files of the folds at `data.truth.folds`"
            yield ("models", name, "fold"), f"is {fold}, and the truth has no folds", fix
        elif n is not None and fold != n:
            has = "is missing" if fold is None else f"is {fold}"
            what = f"{has}, and the lists are training {n} of a model that is trained on folds"
            yield ("models", name, "fold"), what, f"write `fold: {n}`"


def _gate_findings(params: Params) -> Iterator[Finding]:
    """What a gate names that is not there: it rests on all that is checked before."""
    asked = config_from_params(params)
    if asked.gate is not None:
        for place, what, fix in gate_findings(asked.gate, asked, compared_models(params)):
            yield tuple(place.split(".", 2)), what, fix


def _rename_findings(params: Params) -> Iterator[Finding]:
    """Yield former names that are still models, or that two models have."""
    seen: dict[str, str] = {}
    for name, entry in params.models.items():
        if entry.was is None:
            continue
        place = ("models", name, "was")
        if entry.was in params.models:
            yield (
                place,
                f"is {entry.was!r}, which is still a model",
                "remove `was`, or rename the model",
            )
        elif entry.was in seen:
            what = f"is {entry.was!r}, as that of {seen[entry.was]}"
            yield place, what, "leave it with the model that continues the former one"
        seen.setdefault(entry.was, name)


def _training_findings(params: Params) -> Iterator[Finding]:
    """Of two models on one training run, the metrics of the second would hide those of the first.

    Ids that stand in files are known when they are read.
    """
    seen: dict[str, str] = {}
    for name, model in params.models.items():
        run_id = model.training_run_id
        if not isinstance(run_id, str):
            continue
        if params.mlflow.attach == "metrics" and run_id in seen:
            what = f"{run_id!r} is the training run of {seen[run_id]} too"
            fix = "name another run, or set `mlflow.attach: child`"
            yield ("models", name, "training_run_id"), what, fix
        seen[run_id] = name
