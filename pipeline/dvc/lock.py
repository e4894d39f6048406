"""dvc.lock: hashes and parameters of each stage."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from io import StringIO
from pathlib import Path
from typing import Any

import yaml
from ruamel.yaml import YAML

from concord.metrics_core.comparison.options import MAX_MISSING_LISTS
from concord.metrics_core.comparison.replicate_config import ReplicateNames, match_replicates
from concord.metrics_core.conventions.values_version import VALUES_VERSION
from concord.pipeline.params.model import PARAMS
from concord.pipeline.params.repository import VERSION_KEY
from concord.pipeline.params.yaml_files import find_conflict

LOCK = "dvc.lock"
RESULT_SUFFIXES = {"per_user": ".parquet", "summary": ".json", "lists": ".parquet"}
# Scalars stay text: a model may be called `no`, and a hash may look like a number.
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_MAX_DEPTH = 100  # of nested mappings and lists
_BACKGROUND = "load-background@"
_HASHES = ("md5", "etag", "checksum")


@dataclass(frozen=True)
class ComparisonParams:
    """Parameters of the stage `compare`; `conventions` is their JSON without the preset."""

    models: tuple[str, ...]
    baseline: str | None
    replicates: ReplicateNames
    primary: tuple[str, ...]
    conventions: str
    max_missing_lists: float = MAX_MISSING_LISTS


@dataclass(frozen=True)
class Stage:
    """Inputs and outputs of a stage (path -> its entry in dvc.lock), parameters and command."""

    deps: Mapping[str, Mapping[str, str]]
    outs: Mapping[str, Mapping[str, str]]
    param_files: Mapping[str, Any]
    command: str

    @property
    def params(self) -> Mapping[str, Any]:
        """Parameters of params.yaml."""
        return as_mapping(self.param_files.get(PARAMS.name))

    def output_hashes(self) -> dict[str, str]:
        """Return path -> hash of the outputs that have one."""
        hashes = {path: _hash(entry) for path, entry in self.outs.items()}
        return {path: value for path, value in hashes.items() if value is not None}

    def param(self, key: str) -> Any:
        """Return a parameter, listed alone or in its section; None if it is missing."""
        section, _, name = key.partition(".")
        return self.params.get(key, as_mapping(self.params.get(section)).get(name))

    def input_hash(self, key: str) -> str | None:
        """Return the hash of the table that a parameter names, or else of its parquet copy."""
        entry = as_mapping(self.param(key))
        path = entry.get("path", entry.get("values"))
        copies = (md5 for name, md5 in self.output_hashes().items() if name.endswith(".parquet"))
        return _hash(self.deps.get(str(path), {})) or next(copies, None)


_NO_STAGE = Stage({}, {}, {}, "")


@dataclass(frozen=True)
class DvcLock:
    """Content of dvc.lock; without stages if it is not valid YAML, as in a merge conflict."""

    text: str

    @property
    def stages(self) -> Mapping[str, Stage]:
        """Stages by name."""
        return _parse_stages(self.text)

    def stage(self, name: str) -> Stage:
        """Return a stage; an empty one if the name is unknown."""
        return self.stages.get(name, _NO_STAGE)

    @property
    def conflict(self) -> str | None:
        """Sentence on the first merge conflict marker; None if there is none."""
        if (conflict := find_conflict(self.text)) is None:
            return None
        line, marker = conflict
        return f"has merge conflict markers: line {line} starts with {marker!r}"

    @cached_property
    def fault(self) -> str | None:
        """Reason why the comparison cannot be read; None if it can be, or there is none."""
        if self.conflict is not None:
            return self.conflict
        is_comparison_lost = "compare" in self.stages and self.comparison is None
        if is_comparison_lost or (self.text.strip() and not self.stages):
            return f"is not a valid {LOCK}"
        return None

    @property
    def other_values(self) -> str | None:
        """Version of the values of the comparison if it is not that of this Concord, else None."""
        version = self.stage("compare").param(VERSION_KEY)
        return None if version in {None, str(VALUES_VERSION)} else str(version)

    @property
    def comparison(self) -> str | None:
        """Hash of the comparison's folder; None before the first comparison."""
        return next(iter(self.stage("compare").output_hashes().values()), None)

    def results(
        self, models: Iterable[str], background: Iterable[str]
    ) -> dict[str, Mapping[str, str]]:
        """Return path -> entry of the outputs that other stages and commands read."""
        background_stages = [f"{_BACKGROUND}{name}" for name in background]
        model_stages = [f"{stage}@{model}" for model in models for stage in ("load", "evaluate")]
        stages = map(
            self.stage, ["load-truth", *background_stages, *model_stages, "reference", "compare"]
        )
        return {path: entry for stage in stages for path, entry in stage.outs.items()}

    @property
    def truth(self) -> str | None:
        """Hash of the ground truth."""
        return self.stage("load-truth").input_hash("data.truth")

    @property
    def background(self) -> Mapping[str, str]:
        """Hash of each table of side data, such as `train`."""
        tables = [name.partition("@")[2] for name in self.stages if name.startswith(_BACKGROUND)]
        hashes = {
            table: self.stage(f"{_BACKGROUND}{table}").input_hash(f"background.{table}")
            for table in tables
        }
        return {table: value for table, value in hashes.items() if value is not None}

    @cached_property
    def comparison_params(self) -> ComparisonParams:
        """Parameters of the comparison."""
        stage = self.stage("compare")
        models = tuple(self.model_entries)
        rules = as_mapping(stage.param("comparison"))
        conventions = {**as_mapping(stage.param("conventions"))}
        conventions.pop("preset", None)
        primary = rules.get("primary")
        return ComparisonParams(
            models=models,
            baseline=rules.get("baseline"),
            replicates=replicates_of(rules.get("replicates"), models),
            primary=tuple(map(str, primary)) if isinstance(primary, list) else (),
            conventions=json.dumps(conventions),
            max_missing_lists=float(rules.get("max_missing_lists", MAX_MISSING_LISTS)),
        )

    @property
    def model_entries(self) -> Mapping[str, Any]:
        """Section `models` of the params.yaml of the comparison."""
        return as_mapping(self.stage("compare").param("models"))

    def lists(self, model: str) -> str | None:
        """Return the hash of a model's recommendations."""
        return self.stage(f"load@{model}").input_hash(f"models.{model}")

    def result_hash(self, model: str, kind: str) -> str | None:
        """Return the hash of a model's file of a kind of result, such as `per_user`."""
        stage = f"evaluate@{model}"
        path = f"{self.folder(stage, kind)}/{model}{RESULT_SUFFIXES[kind]}"
        return self.stage(stage).output_hashes().get(path)

    def folder(self, stage: str, name: str) -> str | None:
        """Return the folder of a kind of result at that time."""
        return as_mapping(self.stage(stage).param("results")).get(name)

    def output(self, path: Path) -> str | None:
        """Return the hash of an output of any stage."""
        hashes = (stage.output_hashes().get(path.as_posix()) for stage in self.stages.values())
        return next(filter(None, hashes), None)


def replicates_of(value: Any, lists: Sequence[str]) -> ReplicateNames:
    """Return model -> number of the replicate -> its lists; models with unknown lists are left out.

    Parameters
    ----------
    value : object
        The value of `comparison.replicates`, which may be of another version.
    lists : sequence of str
        The entries of `models`.
    """
    try:
        replicates = {
            str(model): names
            if isinstance(names, str)
            else {str(number): str(name) for number, name in names.items()}
            for model, names in (value or {}).items()
        }
    except AttributeError:
        return {}
    matched = match_replicates(replicates, lists)
    return {
        model: names for model, names in matched.items() if names and {*names.values()} <= {*lists}
    }


def to_lock_values(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return values of params.yaml as in dvc.lock, with every scalar as text."""
    text = StringIO()
    YAML().dump(values, text)
    return as_mapping(parse_yaml(text.getvalue()))


@lru_cache(maxsize=1_000)
def _parse_stages(text: str) -> Mapping[str, Stage]:
    stages = as_mapping(as_mapping(parse_yaml(text)).get("stages"))
    return {name: _stage(as_mapping(entry)) for name, entry in stages.items()}


def _stage(entry: Mapping[str, Any]) -> Stage:
    command = entry.get("cmd") or ""
    return Stage(
        deps=dict(_files(entry.get("deps"))),
        outs=dict(_files(entry.get("outs"))),
        param_files=as_mapping(entry.get("params")),
        command=" ".join(map(str, command)) if isinstance(command, list) else str(command),
    )


def _files(entries: Any) -> Iterator[tuple[str, Mapping[str, str]]]:
    for entry in entries if isinstance(entries, list) else ():
        file = as_mapping(entry)
        yield (
            str(file.get("path")),
            {key: value for key, value in file.items() if isinstance(value, str)},
        )


def _hash(entry: Mapping[str, str]) -> str | None:
    return next((entry[name] for name in _HASHES if name in entry), None)


def as_mapping(value: Any) -> Mapping[str, Any]:
    """Return the value; an empty mapping if it is not a mapping."""
    return value if isinstance(value, dict) else {}


def parse_yaml(text: str) -> Any:
    """Return the content with every scalar as text; None if it is not YAML or nested too deep.

    The loader of LibYAML crashes the process on deep nesting, so the depth is known before.
    """
    depth = 0
    try:
        for event in yaml.parse(text, _LOADER):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_DEPTH:
                return None
        return yaml.load(text, _LOADER)
    except (yaml.YAMLError, RecursionError):
        return None
