"""What a table is taken for: told by its columns and, where these leave it open, by the words of its path."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from concord.metrics_core.errors import refuse
from concord.metrics_core.files import refuse_special
from concord.pipeline.project.peek import Peeked, peeked
from concord.pipeline.project.recognised import columns_meant, list_meant, role_said

Columns = dict[str, str]  # ours -> theirs
Role = Literal[
    "truth", "validation", "train", "items", "users", "lists", "validation lists", "unsaid"
]
_SPLITS = ("truth", "validation", "train")
_READ = {  # which of our columns are read in which role
    "truth": ("user", "item", "grade", "time"),
    "validation": ("user", "item", "grade", "time"),
    "train": ("user", "item", "time"),
    "items": ("item", "categories", "title"),
    "users": ("user",),
    "lists": ("user", "item", "rank", "score"),
    "validation lists": ("user", "item", "rank", "score"),
    "unsaid": ("user", "item"),
}


@dataclass(frozen=True)
class Table:
    """A file and its columns; `made_by` is the stage that makes it, `order` how its lists are ordered."""

    peeked: Peeked
    columns: Columns
    made_by: str = ""
    order: str | None = None

    @property
    def path(self) -> Path:
        return self.peeked.path


def taken_for(seen: Peeked, path: str) -> Role | None:
    """The role; `unsaid` where it is a table of users and items of which nothing tells the role."""
    meant = _meant(seen)
    if {"user", "item"} <= set(meant):
        return _of_pairs(seen, path, meant)
    if "item" in meant:
        told = role_said(path, ("items", "train", "truth", "lists"))
        described = "title" in meant or "categories" in meant
        return "items" if told == "items" or (told is None and described) else None
    return "users" if "user" in meant and role_said(path, ("users",)) else None


def _of_pairs(seen: Peeked, path: str, meant: Columns) -> Role:
    """A rank or a score makes lists, unless there are grades as well or the name of the file or of its folder
    says something else; so do items of which a row holds many.
    """
    said = role_said(path, (*_SPLITS, "lists"))
    split = role_said("/".join(Path(path).parts[-2:]), _SPLITS)
    if ("rank" in meant or "score" in meant) and "grade" not in meant:
        said = "lists" if split is None or role_said(path, ("lists",)) else split
    if said == "lists" and split == "validation":
        return "validation lists"
    return said or ("lists" if meant["item"] in seen.lists else "unsaid")  # type: ignore[return-value]


def as_table(seen: Peeked, role: Role, made_by: str = "") -> Table:
    """The table with the columns that are read in this role."""
    meant = _meant(seen)
    if role.endswith("lists") and not {"rank", "score"} & set(meant) and "grade" in meant:
        meant["score"] = meant["grade"]
    columns = {ours: meant[ours] for ours in _READ[role] if ours in meant}
    has_order = {"rank", "score"} & set(columns) or columns.get("item") in seen.lists
    return Table(
        seen, columns, made_by, "file" if role.endswith("lists") and not has_order else None
    )


def named_table(path: Path, role: Role) -> Table:
    """A file that somebody names for a role.

    Raises
    ------
    InputError : it cannot be read as a table, or no column of users and items is known in it
    """
    where = os.path.relpath(path)
    if not path.exists():
        fix = "name one; `dvc pull` or `dvc repro` may bring it"
        raise refuse(where, "there is no such file", fix)
    fix = "name a file whose ending tells its format: .parquet, .csv, .tsv, .arrow, .jsonl, .run"
    refuse_special(path, fix)
    seen = peeked(path)
    if seen is None:
        raise refuse(where, "is no table that can be read", fix)
    if not {"user", "item"} <= set(_meant(seen)):
        what = f"has no columns that are known for user and item: {', '.join(seen.columns)}"
        raise refuse(where, what, "rename them to user and item, or write params.yaml by hand")
    return as_table(seen, role)


def _meant(seen: Peeked) -> Columns:
    """Ours -> theirs; lists in rows may have a name in the plural."""
    meant = columns_meant(seen.columns)
    if "user" in meant and meant.get("item") not in seen.lists and (many := list_meant(seen.lists)):
        meant["item"] = many
    return meant
