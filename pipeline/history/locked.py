"""What dvc.lock says of results: their hashes. DVC writes it in one form, so that lines are enough; YAML would take 0.5 s each."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from concord.metrics_core.comparing.evidence.replicating import Named
from concord.pipeline.diffing.revision import trainings
from concord.pipeline.params.safe_yaml import load_yaml

_STAGE = re.compile(r"^  (?! )(.+):\n((?:    .*\n|\n)*)", re.MULTILINE)
_FILE = re.compile(r"^    - path: (.+)\n((?:      .*\n)*)", re.MULTILINE)
_HASH = re.compile(r"^      (?:md5|etag|checksum): (.+)$", re.MULTILINE)
_PARAM = re.compile(r"^        (?! )(.+):\n((?:          .*\n)+)", re.MULTILINE)
_KEY = re.compile(r"^          (?![ -])([^:\n]+):(?: (.+))?$", re.MULTILINE)
_INDENT = re.compile(r"^  ", re.MULTILINE)
_PRIMARY = re.compile(r"^          primary:\n((?:          - .+\n)+)", re.MULTILINE)
_REPLICATES = re.compile(r"^          replicates:\n((?:            .+\n)+)", re.MULTILINE)
_PRESET = re.compile(r"^          preset: .+\n", re.MULTILINE)


@dataclass(frozen=True)
class Asked:
    """Of whom the comparison told what; `conventions` as dvc.lock writes them, the preset's name is none."""

    models: tuple[str, ...]
    baseline: str | None
    replicates: Named
    primary: tuple[str, ...]
    conventions: str


@dataclass(frozen=True)
class Locked:
    """A dvc.lock."""

    text: str

    @cached_property
    def stages(self) -> Mapping[str, str]:
        """Stage -> what it says of it."""
        return {_scalar(name): block for name, block in _STAGE.findall(self.text)}

    @property
    def comparison(self) -> str | None:
        """The hash of the folder of the comparison; None before there was one."""
        return next(iter(self.outs("compare").values()), None)

    @property
    def truth(self) -> str | None:
        """The hash of the truth."""
        return self._given("load-truth", "data.truth")

    @property
    def background(self) -> Mapping[str, str]:
        """Table beside lists and truth, such as `train` -> its hash."""
        stages = (name.partition("@") for name in self.stages)
        tables = [table for stage, _, table in stages if stage == "load-background"]
        found = {each: self._given(f"load-background@{each}", f"background.{each}") for each in tables}  # fmt: skip
        return {table: mark for table, mark in found.items() if mark is not None}

    @property
    def asked(self) -> Asked:
        """What the comparison was asked."""
        block = self.stages.get("compare", "")
        rules = _param(block, "comparison")
        primary = _PRIMARY.search(rules)
        models = tuple(_keys(_param(block, "models")))
        replicates = _REPLICATES.search(rules)
        return Asked(
            models=models,
            baseline=_keys(rules).get("baseline"),
            replicates=trainings(load_yaml(replicates[1], "dvc.lock"), models)
            if replicates
            else {},
            primary=tuple(map(_scalar, re.findall(r"- (.+)", primary[1]))) if primary else (),
            conventions=_PRESET.sub("", _param(block, "conventions")),
        )

    def lists(self, model: str) -> str | None:
        """The hash of a model's lists."""
        return self._given(f"load@{model}", f"models.{model}")

    def values(self, model: str) -> str | None:
        """The hash of its users' values."""
        return self._evaluated(model, "per_user", ".parquet")

    def summary(self, model: str) -> str | None:
        """The hash of its summary."""
        return self._evaluated(model, "summary", ".json")

    def folder(self, stage: str, name: str) -> str | None:
        """A folder of results, as params.yaml named it then."""
        return _keys(_param(self.stages.get(stage, ""), "results")).get(name)

    def outs(self, stage: str) -> Mapping[str, str]:
        """What a stage wrote: path -> hash."""
        return _hashes(self.stages.get(stage, "").partition("    outs:\n")[2])

    def _given(self, stage: str, key: str) -> str | None:
        """The hash of the table that a key of params.yaml names: as it was given, or else as Concord read it."""
        block = self.stages.get(stage, "")
        path = _keys(_param(block, key)).get("path", "")
        as_read = (mark for out, mark in self.outs(stage).items() if out.endswith(".parquet"))
        return _hashes(block.partition("\n    outs:\n")[0]).get(path) or next(as_read, None)

    def _evaluated(self, model: str, kind: str, suffix: str) -> str | None:
        stage = f"evaluate@{model}"
        return self.outs(stage).get(f"{self.folder(stage, kind)}/{model}{suffix}")


@lru_cache(maxsize=20_000)
def _hashes(section: str) -> Mapping[str, str]:
    found = {}
    for path, rest in _FILE.findall(section):
        if mark := _HASH.search(rest):
            found[_scalar(path)] = _scalar(mark[1])
    return found


@lru_cache(maxsize=20_000)
def _param(block: str, name: str) -> str:
    """The lines of a mapping of params.yaml that a stage depends on, by itself or with its whole section."""
    params = block.partition("\n    outs:\n")[0] + "\n"
    section, _, inner = name.partition(".")
    return _mapping(params, name) or _mapping(_INDENT.sub("", _mapping(params, section)), inner)


def _mapping(params: str, name: str) -> str:
    return next((lines for key, lines in _PARAM.findall(params) if key == name), "")


def _keys(lines: str) -> dict[str, str]:
    """Key -> its value, where that is one; else nothing."""
    return {_scalar(name): _scalar(value) for name, value in _KEY.findall(lines)}


def _scalar(text: str) -> str:
    return str(load_yaml(text, "dvc.lock")) if text[:1] in {"'", '"'} else text
