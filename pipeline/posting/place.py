"""A place for comments: it holds one of each project, which is written again instead of a second one."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from concord.pipeline.posting.requests import RefusedError


@dataclass(frozen=True)
class Posted:
    """A comment that is there: its number, its text, and whether it is from whom the token stands for."""

    number: int
    text: str
    own: bool


class Place(Protocol):
    """The comments of one request; every method raises a RefusedError where the server refuses."""

    hint: str

    def comments(self) -> Iterator[Posted]: ...
    def create(self, text: str) -> str: ...
    def update(self, number: int, text: str) -> str: ...


@dataclass(frozen=True)
class Request:
    """A pull or merge request: the commit that it would change, the commit that it brings, and where comments stand."""

    base: str | None
    head: str | None
    place: Place


def post(place: Place, marker: str, text: str) -> tuple[bool, str]:
    """Writes the comment that begins with the marker, again or for the first time: was it done, and what to say of it."""
    try:
        there = (each for each in place.comments() if each.own and _begins(each.text, marker))
        old = next(there, None)
        if old is None:
            return True, f"commented: {place.create(text)}"
        return True, f"comment updated: {place.update(old.number, text)}"
    except RefusedError as error:
        return False, f"no comment: {error}{f'; {place.hint}' if error.status else ''}"
    except (KeyError, TypeError):
        return False, "no comment: the server answers what no such server does"


def _begins(text: str, marker: str) -> bool:
    return text.lstrip().partition("\n")[0].rstrip() == marker
