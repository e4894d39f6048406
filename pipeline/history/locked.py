"""What dvc.lock says of results: their hashes. DVC writes it in one form, so that lines are enough; YAML would take 0.5 s each."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from concord.pipeline.params.safe_yaml import load_yaml

_STAGE = re.compile(r"^  (?! )(.+):\n((?:    .*\n|\n)*)", re.MULTILINE)
_FILE = re.compile(r"^    - path: (.+)\n((?:      .*\n)*)", re.MULTILINE)
_HASH = re.compile(r"^      (?:md5|etag|checksum): (.+)$", re.MULTILINE)
_FOLDERS = re.compile(r"^        results:\n((?:          .+\n)+)", re.MULTILINE)
_TRUTH = re.compile(r"^        data\.truth:\n((?:          .+\n)+)", re.MULTILINE)
_KEY = re.compile(r"^          (\w+): (.+)$", re.MULTILINE)


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
        """The hash of the truth as it was given."""
        block = self.stages.get("load-truth", "")
        path = _keys(_TRUTH, block).get("path", "")
        return _hashes(block.partition("\n    outs:\n")[0]).get(path)

    @property
    def background(self) -> Mapping[str, str]:
        """Table beside lists and truth, such as `train` -> its hash, as Concord read it."""
        stages = (name.partition("@") for name in self.stages)
        found = {table: self._table(f"{stage}@{table}") for stage, _, table in stages if stage == "load-background"}  # fmt: skip
        return {table: mark for table, mark in found.items() if mark is not None}

    def lists(self, model: str) -> str | None:
        """The hash of a model's lists, as Concord read them."""
        return self._table(f"load@{model}")

    def values(self, model: str) -> str | None:
        """The hash of its users' values."""
        return self._evaluated(model, "per_user", ".parquet")

    def summary(self, model: str) -> str | None:
        """The hash of its summary."""
        return self._evaluated(model, "summary", ".json")

    def folder(self, stage: str, name: str) -> str | None:
        """A folder of results, as params.yaml named it then."""
        return _keys(_FOLDERS, self.stages.get(stage, "")).get(name)

    def outs(self, stage: str) -> Mapping[str, str]:
        """What a stage wrote: path -> hash."""
        return _hashes(self.stages.get(stage, "").partition("    outs:\n")[2])

    def _table(self, stage: str) -> str | None:
        """The hash of the one table that a stage writes."""
        found = self.outs(stage)
        return next((mark for path, mark in found.items() if path.endswith(".parquet")), None)

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


def _keys(section: "re.Pattern[str]", block: str) -> dict[str, str]:
    found = section.search(block)
    return {name: _scalar(value) for name, value in _KEY.findall(found[1])} if found else {}


def _scalar(text: str) -> str:
    return str(load_yaml(text, "dvc.lock")) if text[:1] in {"'", '"'} else text
