"""Valid and invalid input tables, read in this process by a stage and by the library."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

import concord as cc
from concord.metrics_core.errors import InputError
from tests.pipeline.stages.load_project import loaded, loaded_background, loaded_truth

# A function writes the file itself.
File: TypeAlias = str | bytes | pa.Table | Callable[[Path], object]
LISTS = {"u": ["a", "b"], "v": ["b"]}
TRUTH = {"u": ["b"], "v": ["b"]}
TABLES = {
    "recs": "models.m",
    "truth": "data.truth",
    "train": "background.train",
    "items": "background.items",
    "users": "background.users",
}


@dataclass(frozen=True, kw_only=True)
class Input:
    """A table of a user.

    Attributes
    ----------
    id : str
        Name of the special case.
    content : File or mapping of str to File
        Content of the file; or name -> content of several files.
    file : str
        Name of the file that is read.
    table : str
        Argument of the library that takes the table.
    settings : mapping
        `columns`, `order` and `format` of the table in params.yaml; `shared`: `data.columns`.
    policies : mapping
        Keys of `input` in params.yaml.
    page : int, optional
        Row of docs/reference/robustness.md that this case proves.
    """

    id: str = field(kw_only=False)
    content: File | Mapping[str, File] = field(kw_only=False)
    file: str
    table: str = "recs"
    settings: Mapping[str, Any] = field(default_factory=dict)
    policies: Mapping[str, Any] = field(default_factory=dict)
    conventions: Mapping[str, Any] = field(default_factory=dict)
    page: int | None = None

    def write(self) -> None:
        """Write the files to the working directory."""
        files = self.content if isinstance(self.content, Mapping) else {self.file: self.content}
        for name, content in files.items():
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                path.write_bytes(content)
            elif isinstance(content, str):
                path.write_text(content, encoding="utf-8", newline="")
            elif isinstance(content, pa.Table):
                write_table(content, path)
            else:
                content(path)

    def load(self) -> tuple[list[Any], dict[str, Any]]:
        """Return the rows that the stage writes and the content of its quality file."""
        settings: dict[str, Any] = dict(self.settings)
        if self.table not in ("recs", "truth"):
            return loaded_background(self.table, self.file, **settings)
        load = loaded if self.table == "recs" else loaded_truth
        return load(self.file, conventions=dict(self.conventions), **settings, **self.policies)


@dataclass(frozen=True, kw_only=True)
class BadInput(Input):
    """A table that is refused.

    Attributes
    ----------
    problem : str or tuple of str
        Location and problem, without the file's name, which `/` continues; or several of them.
    fix : str or tuple of str, optional
        Fix in the words of a stage; one for each problem, or one for all. None: `problem` is the
        start of the message.
    """

    problem: str | tuple[str, ...] = field(kw_only=False)
    fix: str | tuple[str, ...] | None = field(kw_only=False)

    @property
    def expected(self) -> str:
        """The whole message of the stage, or its start."""
        problems = [f"{self.file}{'' if p.startswith('/') else ': '}{p}" for p in self.problems]
        if self.fix is None:
            return problems[0]
        fixes = (self.fix,) * len(problems) if isinstance(self.fix, str) else self.fix
        return "\n".join(f"{p}\n  fix: {fix}" for p, fix in zip(problems, fixes, strict=True))

    @property
    def problems(self) -> tuple[str, ...]:
        """Problems with their locations."""
        return (self.problem,) if isinstance(self.problem, str) else self.problem

    def refused_by_stage(self) -> str:
        """Return the message of the stage that loads the table."""
        return message(self.load)

    def refused_by_library(self, data: Any = None) -> str:
        """Return the message of `evaluate`, or of `compare` for a table of users.

        Parameters
        ----------
        data : Any, optional
            The table; None passes the path of the file.
        """
        data = Path(self.file) if data is None else data
        tables = {"recs": LISTS, "truth": TRUTH, self.table: data}
        options: dict[str, Any] = {
            "metrics": ["P@1"],
            "conventions": cc.preset("standard", **self.conventions),
            "columns": {self.table: self.settings.get("columns", {})},
            "input": self.policies,
        }
        if self.table != "users":
            return message(lambda: cc.evaluate(**tables, **options))
        models = {"m": tables.pop("recs"), "n": LISTS}
        segments = {"plan": {"by": "user", "column": "plan"}}
        options |= {"baseline": "m", "segments": segments, "resamples": 99, "panel": False}
        return message(lambda: cc.compare(models, **tables, **options))


def message(call: Callable[[], object]) -> str:
    """Return the message of the InputError that a call raises."""
    try:
        call()
    except InputError as error:
        assert not Path("results").exists()
        return str(error)
    unexpected = "the input was read"
    raise AssertionError(unexpected)


def write_table(table: pa.Table, path: Path) -> None:
    """Write a parquet or an Arrow file, according to the suffix of its name."""
    if path.suffix == ".parquet":
        pq.write_table(table, path)
        return
    with pyarrow.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)


def as_argument(message: str, table: str) -> str:
    """Return a message of a stage in the words of the library: arguments instead of keys."""
    key = re.escape(TABLES[table])
    for pattern, argument in (
        (rf"`{key}\.path`", f"`{table}`"),
        (rf"`{key}\.columns: {{(\w+): null}}`", rf"`columns={{'{table}': {{'\1': None}}}}`"),
        (rf"`{key}\.columns: {{(\w+): …}}`", rf"`columns={{'{table}': {{'\1': …}}}}`"),
        (rf"`{key}\.columns: {{(\w+): (\w+)}}`", rf"`columns={{'{table}': {{'\1': '\2'}}}}`"),
        (rf"`{key}\.columns`", f"`columns={{'{table}': …}}`"),
        (rf"set `{key}\.format: (\w+)`", r"give the file the ending .\1"),
        (rf"set `{key}\.format`", "give the file another ending"),
        (r"`input\.(\w+): (\w+)`", r"`input={'\1': '\2'}`"),
        (r"`input\.(\w+)`", r"`input={'\1': …}`"),
        (r"`conventions\.unit_mean: (\w+)`", r"`unit_mean='\1'` of the conventions"),
        (
            r"`conventions\.(\w+)` to ([^;]+), and `conventions.preset` to custom",
            r"`\1` of the conventions to \2",
        ),
        (r"`data\.unit: \[user, (\w+)\]`", r"`unit=['user', '\1']`"),
        ("set `order: file` if the rows are in rank order", ADD_AN_ORDER),
        ("set `order: score` or `order: file`", f"{ONE_LIST_A_USER}, {OR_SCORES}"),
        ("set `order: file`", ONE_LIST_A_USER),
    ):
        message = re.sub(pattern, argument, message)
    return message


ADD_AN_ORDER = (
    "add a column 'rank' (1 is best) or 'score' (the highest is best), or name yours: "
    "`columns={'recs': {'score': …}}`"
)
ONE_LIST_A_USER = "give each user one list"
OR_SCORES = "or leave out the ranks, so that scores decide"
