"""How a fix names the keys of params.yaml."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from concord.pipeline.params.model import PARAMS


@dataclass(frozen=True)
class Keys:
    """Settings as keys of params.yaml; `key` is where the table stands, such as `models.als`.

    shared : our columns whose names the table takes from `data.columns`
    """

    key: str
    shared: frozenset[str] = frozenset()

    def path(self) -> str:
        return f"set `{self.key}.path` to the file"

    def columns(self, ours: str, theirs: str = "…") -> str:
        key = "data" if ours in self.shared else self.key
        return f"`{key}.columns: {{{ours}: {theirs}}}`"

    def all_columns(self) -> str:
        return f"`{self.key}.columns`"

    def format(self, form: str = "") -> str:
        return f"`{self.key}.format{_given(form)}`"

    def unit(self) -> str:
        return "`data.unit`"

    def requests(self, columns: Sequence[str]) -> str:
        unit = ", ".join(name if name.isidentifier() else json.dumps(name) for name in columns)
        return f"`data.unit: [user, {unit}]` and `conventions.unit_mean: requests`"

    def order(self) -> str:
        return "set `order: file` if the rows stand in rank order"

    def other_order(self, *, has_score: bool) -> str:
        return f"set {'`order: score` or ' if has_score else ''}`order: file`"

    def input(self, policy: str, value: str = "") -> str:
        return f"`input.{policy}{_given(value)}`"

    def conventions(self, knob: str, values: str) -> str:
        return f"set `conventions.{knob}` to {values}, and `conventions.preset` to custom"

    def metrics(self) -> str:
        return "evaluation.metrics and evaluation.ks"

    def segments(self) -> str:
        return "`segments:`"

    def lacking(self, table: str) -> tuple[str, str]:
        return "which background does not name", f"name the file as `background.{table}`"

    def own_train(self) -> str:
        return "name your own files under `background:`, or write `background: {}`"

    def place(self, choice: str) -> str:
        return f"{PARAMS}: {choice}"


def _given(value: str) -> str:
    return f": {value}" if value else ""
