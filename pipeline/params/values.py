"""params.yaml of models with values of another tool: sections that it lacks, and its problems."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.conventions.registry import suggest
from concord.metrics_core.errors import Problem
from concord.metrics_core.metrics.value_metric import NAME_OF_LISTS, OF_USERS, is_name_of_lists
from concord.pipeline.params.model import (
    Data,
    Evaluation,
    Input,
    ListsFile,
    Params,
    TruthFile,
    is_values_entry,
)

USER = "user"
ModelKind = Literal["lists", "values", "lists and values"]
_METRIC_NAME = r"[A-Za-z][A-Za-z0-9_.-]{0,79}(@[1-9][0-9]{0,5})?"  # MLflow takes them as well
# Sections that describe lists and ground truth: what stands for them if there are none.
_WITHOUT_LISTS: Mapping[str, Any] = {
    "data": Data.model_construct(truth=TruthFile(path="")),
    "background": {},
    "evaluation": Evaluation.model_construct(metrics=[], ks=[], panel=False),
    "segments": {},
    "checks": {},
    "conventions": preset("standard").as_dict(),
}
SECTIONS_OF_LISTS = (*_WITHOUT_LISTS, "input")
_KEYS_OF_LISTS = {  # of sections that both kinds of models have
    "comparison": {"replicates", "paired_replicates", "cases"},
    "input": {*Input.model_fields} - {"allow_outside"},
}


def has_values(content: Mapping[str, Any]) -> bool:
    """True if an entry of `models` names values of another tool."""
    return any(map(is_values_entry, _section(content, "models").values()))


def kind_of_models(content: Mapping[str, Any]) -> ModelKind:
    """Return what the entries of `models` name."""
    entries = _section(content, "models").values()
    if any(map(is_values_entry, entries)):
        return "values"
    return "lists and values" if any(map(_has_both, entries)) else "lists"


def _has_both(entry: Any) -> bool:
    """True if an entry of `models` with recommendations has values of another tool."""
    return isinstance(entry, dict) and bool(entry.get("values"))


def _section(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = content.get(name)
    return section if isinstance(section, dict) else {}


def with_absent_sections(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of params.yaml with all sections that the schema requires."""
    allow_outside = _section(content, "input").get("allow_outside") is True
    policies = Input.model_construct(allow_outside=allow_outside)
    return {**content, **_WITHOUT_LISTS, "input": policies}


def misplaced_sections(content: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield models of both kinds, and sections and keys of models of the other kind."""
    kind, models = kind_of_models(content), _section(content, "models")
    if kind == "lists":
        if "metrics" in content:
            problem = "describes values of another tool, and the models have recommendations"
            yield Problem(("metrics",), problem, "name metrics of recommendations in `evaluation`")
        return
    if not content.get("metrics"):
        fix = "name each metric: `metrics: {faithfulness: {higher_is_better: true}}`"
        yield Problem(("metrics",), "is missing, and the models have values", fix)
    if kind == "lists and values":
        if _section(content, "data").get("unit"):
            yield Problem(("data", "unit"), *OF_USERS)
        for name in [name for name, entry in models.items() if not _has_both(entry)]:
            problem = "has no values next to its lists, and another model has some"
            yield Problem(("models", name), problem, "give every model `values`, or none")
        return
    problem = "describes recommendations and ground truth, and the models have values"
    for section in _WITHOUT_LISTS:
        if section in content:
            yield Problem((section,), problem, "remove it")
    for section, keys in _KEYS_OF_LISTS.items():
        for key in filter(keys.__contains__, _section(content, section)):
            yield Problem((section, key), "concerns recommendations only", "remove it")
    values = next(name for name, entry in models.items() if is_values_entry(entry))
    for name, entry in models.items():
        if not is_values_entry(entry):
            problem = (
                f"has recommendations, and {values} has values: means of the two do not compare, "
                "as nothing says how another tool computed a metric, or over which users"
            )
            yield Problem(
                ("models", name), problem, "give every model recommendations, or every model values"
            )


def value_params_problems(params: Params) -> Iterator[Problem]:
    """Yield invalid names of metrics, and columns that nothing reads."""
    for name in params.metrics:
        if name == USER or re.fullmatch(_METRIC_NAME, name) is None:
            fix = (
                "use letters, digits, `_`, `.` and `-`, such as answer_relevancy or ndcg@10; "
                "`columns` of a model may map it to any column"
            )
            yield Problem(("metrics", name), f"{name!r} cannot be the name of a metric", fix)
        elif not params.has_values and is_name_of_lists(name):
            yield Problem(("metrics", name), *NAME_OF_LISTS)
    known = [USER, *params.metrics]
    for model, entry in params.models.items():
        values = entry.values if isinstance(entry, ListsFile) else entry
        for name in values.columns if values else ():
            if name not in known:
                keys = ("models", model) if values is entry else ("models", model, "values")
                problem = "is neither the user nor a metric"
                yield Problem((*keys, "columns", name), problem, suggest(name, known))
