"""What columns and files are called elsewhere, and what they are taken for."""

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise

# Written small, without anything but letters and digits.
COLUMNS: Mapping[str, str] = {
    "user": "user userid uid useridx customer customerid client clientid visitor visitorid member memberid account"
    " accountid person personid reader readerid reviewerid session sessionid query queryid qid",
    "item": "item itemid iid itemidx movie movieid film filmid product productid article articleid track trackid song"
    " songid artist artistid book bookid isbn asin parentasin sku news newsid video videoid game gameid app appid"
    " recipe recipeid business businessid venue venueid poi doc docid document documentid hotel hotelid",
    "rank": "rank ranking position pos place",
    "score": "score prediction predicted pred predictedrating ratingpred predrating est estimate similarity",
    "grade": "grade rating relevance rel label stars gain",
    "time": "time timestamp ts datetime date createdat eventtime tdat unixtimestamp",
    "categories": "categories category genres genre tags topics",
    "title": "title name movietitle productname itemname",
}
LISTED = (
    "items itemids movies movieids products productids recs recommendations recommended predictions"
)
_MEANT = {each: ours for ours, names in COLUMNS.items() for each in names.split()}
_CLEARNESS = {each: place for place, each in enumerate(_MEANT)}
# Words of a path, the clearest first.
ROLES: Mapping[str, str] = {
    "truth": "test holdout heldout truth groundtruth groundtruths qrels gt",
    "validation": "valid validation val dev",
    "train": "train training history",
    "lists": "recs rec recommendations recommendation recommended predictions preds pred topn topk lists candidates"
    " ranked ranking rankings runs scored",
    "items": "items item movies products articles catalog catalogue metadata meta books tracks",
    "users": "users user customers visitors members",
}
_WORD = re.compile(r"[a-z]+")
BASELINES = (
    "popularity popular mostpopular pop toppop mostpop topsellers bestsellers baseline random"
)


def columns_meant(names: Iterable[str]) -> dict[str, str]:
    """Ours -> theirs, for each column of ours that a name stands for; of several the clearest name, as `COLUMNS` orders them."""
    found: dict[str, str] = {}
    for name in sorted(
        names, key=lambda name: (_CLEARNESS.get(_plain(name), 0), name not in COLUMNS)
    ):
        ours = _MEANT.get(_plain(name))
        if ours is not None and ours not in found:
            found[ours] = name
    return found


def _plain(name: str) -> str:
    """A name in small letters and digits, without anything between them."""
    return re.sub(r"[\W_]", "", name).casefold()


def list_meant(names: Iterable[str]) -> str | None:
    """The column that holds lists of items: the only one, or the one that is called so, be it in the singular."""
    found = list(names)
    known = {*LISTED.split(), *COLUMNS["item"].split()}
    likely = [name for name in found if _plain(name) in known]
    alone = found if len(found) == 1 and not columns_meant(found) else []
    return next(iter([*likely, *alone]), None)


def role_said(path: str, among: Iterable[str]) -> str | None:
    """Which of some roles the words of a path say that a file has; the last word that says one decides."""
    words = _WORD.findall(path.casefold())
    pairs = [one + other for one, other in pairwise(words)]
    known = {word: role for role in among for word in ROLES[role].split()}
    said = [known[word] for word in [*pairs, *words] if word in known]
    return said[-1] if said else None


def is_baseline(model: str) -> bool:
    """Does the name say that others are measured by it?"""
    return _plain(model) in BASELINES.split()
