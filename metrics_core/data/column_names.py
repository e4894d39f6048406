"""Recognise columns by common names, such as `movieId` for `item`."""

import re
from collections.abc import Iterable, Mapping

PLURALS = (
    "items itemids movies movieids films filmids products productids articles articleids tracks "
    "trackids songs songids artists artistids books bookids asins skus videos videoids games "
    "gameids apps appids recipes recipeids venues venueids docs docids documents documentids "
    "hotels hotelids passages passageids"
)
# Column of Concord -> common names in letters and digits, the most specific first.
COLUMN_NAMES: Mapping[str, str] = {
    "user": "user userid uid useridx customer customerid client clientid visitor visitorid "
    "member memberid account accountid person personid reader readerid reviewerid session "
    "sessionid query queryid qid topicid userindex buyerid shopperid subscriberid playerid guestid "
    "householdid slateid",
    "item": "item itemid iid itemidx movie movieid film filmid product productid article "
    "articleid track trackid song songid artist artistid book bookid isbn asin parentasin sku "
    "news newsid video videoid game gameid app appid recipe recipeid business businessid venue "
    "venueid poi docno doc docid document documentid hotel hotelid corpusid passage passageid pid "
    "aid itemindex adid animeid beerid contentid courseid jobid listingid offerid postid showid "
    "restaurantid " + PLURALS,
    "rank": "rank ranking position pos place",
    "score": "score prediction predicted pred predictedrating ratingpred predrating est estimate "
    "similarity",
    "grade": "grade rating relevance rel label stars gain",
    "time": "time timestamp ts datetime date createdat eventtime tdat unixtimestamp",
    "categories": "categories category genres genre tags topics",
    "title": "title name movietitle productname itemname",
}
# Names of search that are read without being asked for, as nothing else has them.
SEARCH_NAMES: Mapping[str, str] = {
    "user": "qid queryid",
    "item": "docno docid corpusid pid",
    "grade": "label relevance rel",
}
# Names of the user in a table of values, which has no other ids; the most specific first.
_VALUE_USERS = "qid queryid questionid topicid query question topic"
_TEXTS = ("query", "doc", "document", "passage", "article")  # columns beside ids in search
_COLUMN = {name: column for column, names in COLUMN_NAMES.items() for name in names.split()}
_PRIORITY = {name: number for number, name in enumerate(_COLUMN)}


def guess_columns(names: Iterable[str]) -> dict[str, str]:
    """Return column of Concord -> column of the table, by the table's column names."""
    columns: dict[str, str] = {}
    for name in sorted(
        names,
        key=lambda name: (_PRIORITY.get(normalise_name(name), 0), name not in COLUMN_NAMES),
    ):
        column = _COLUMN.get(normalise_name(name))
        if column is not None:
            columns.setdefault(column, name)
    return columns


def possible_columns(column: str, names: Iterable[str]) -> list[str]:
    """Return the columns of a table that may hold the ids of a column of Concord.

    `docid` next to `docno` is a number that PyTerrier gives to documents.
    """
    known = {*COLUMN_NAMES[column].split()}.difference(_TEXTS)
    found = [name for name in names if normalise_name(name) in known]
    return [name for name in found if name != "docid" or "docno" not in found]


def is_search_name(column: str, name: str) -> bool:
    """True if search uses a name for a column of Concord alone, such as `qid` for the user."""
    return normalise_name(name) in SEARCH_NAMES[column].split()


def user_of_values(names: Iterable[str]) -> str | None:
    """Return the column of users in a table of values per user; None if no name is known."""
    known = {normalise_name(name): name for name in names}
    return next((known[name] for name in _VALUE_USERS.split() if name in known), None)


def is_beir(names: Iterable[str]) -> bool:
    """True if columns have the names of BEIR's ground truth, whose `score` is the grade."""
    return {"query-id", "corpus-id", "score"} <= {*names}


def normalise_name(name: str) -> str:
    """Return the letters and digits of a name in lower case."""
    return re.sub(r"[\W_]", "", name).casefold()
