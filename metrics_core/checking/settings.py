"""How the reader of a message changes a setting: by a key of params.yaml, or by an argument in Python."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class Settings(Protocol):
    """What a fix says to set, in the words of whoever gave the table."""

    def path(self) -> str:
        """What to do where there is no such file."""

    def columns(self, ours: str, theirs: str = "…") -> str:
        """The setting that names the table's own column."""

    def all_columns(self) -> str:
        """The setting that names columns, as a whole."""

    def format(self, form: str = "") -> str:
        """The setting that says in which format a file is."""

    def unit(self) -> str:
        """The setting that says which columns name a request."""

    def requests(self, columns: Sequence[str]) -> str:
        """The settings under which these columns and the user's name a request."""

    def order(self) -> str:
        """What to do where nothing says in which order the items of a list stand."""

    def other_order(self, *, has_score: bool) -> str:
        """What to do where the ranks do not say it."""

    def input(self, policy: str, value: str = "") -> str:
        """The setting of a policy of `input`."""

    def conventions(self, knob: str, values: str) -> str:
        """How to set a convention to other values than those of the preset."""

    def metrics(self) -> str:
        """The setting of what is evaluated."""

    def segments(self) -> str:
        """The setting of how users and items are cut into groups."""

    def lacking(self, table: str) -> tuple[str, str]:
        """That train, items or users were not given, and how to give them."""

    def own_train(self) -> str:
        """How to give another train, or none."""

    def place(self, choice: str) -> str:
        """Where a choice of the comparison stands, such as `segments.age`."""


@dataclass(frozen=True)
class Arguments:
    """Settings as arguments of `evaluate`, `compare`, `explain` and `reconcile`; `name` is that of the table."""

    name: str

    def path(self) -> str:
        return f"give the path of the file as `{self.name}`"

    def columns(self, ours: str, theirs: str = "…") -> str:
        named = "None" if theirs == "null" else f"'{theirs}'"
        return f"`columns={{'{self.name}': {{'{ours}': {named}}}}}`"

    def all_columns(self) -> str:
        return f"`columns={{'{self.name}': …}}`"

    def format(self, form: str = "") -> str:
        return f"the ending .{form}" if form else "the ending of its name"

    def unit(self) -> str:
        return "`unit`"

    def requests(self, columns: Sequence[str]) -> str:
        return f"`unit={['user', *columns]}` and `unit_mean='requests'` of the conventions"

    def order(self) -> str:
        named = self.columns("score")
        return f"add a column 'rank' (1 is best) or 'score' (the highest is best), or name yours: {named}"

    def other_order(self, *, has_score: bool) -> str:
        return f"give each user one list{', or leave out the ranks, so that scores decide' if has_score else ''}"

    def input(self, policy: str, value: str = "") -> str:
        shown = f"'{value}'" if value else "…"
        return f"`input={{'{policy}': {shown}}}`"

    def conventions(self, knob: str, values: str) -> str:
        return f"set `{knob}` of the conventions to {values}"

    def metrics(self) -> str:
        return "`metrics`"

    def segments(self) -> str:
        return "`segments`"

    def lacking(self, table: str) -> tuple[str, str]:
        return "which was not given", f"give it as `{table}`"

    def own_train(self) -> str:
        return "give your own table as `train`, or none"

    def place(self, choice: str) -> str:
        return choice
