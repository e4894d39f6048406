"""Run a retriever on queries, and collect its lists and the time of each query."""

import inspect
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Integral, Real
from typing import Any

import polars as pl

from concord.metrics_core.data.frames import table_from_frame
from concord.metrics_core.errors import refuse
from concord.metrics_core.results.retrieval import RetrievalRun

_METHODS = ("invoke", "retrieve")  # of LangChain and LlamaIndex
_QUERY_IDS = ("user", "qid", "query_id", "query-id", "_id", "id")
_QUERY_TEXTS = ("query", "text", "question")
_ID_FIX = "name a key or attribute, such as id='source' or id='metadata.id', or give a function"
_LISTS = {"user": pl.String, "item": pl.String, "rank": pl.Int64, "score": pl.Float64}


def collect(
    retriever: Any, queries: Any, k: int = 10, *, id: str | Callable[[Any], Any] = "id"
) -> RetrievalRun:
    """Run a retriever on each query, and return its lists with the time of each query.

    Parameters
    ----------
    retriever : callable or object
        A function of one query, or an object with the method `invoke` (LangChain) or `retrieve`
        (LlamaIndex). It returns documents, best first: ids, dicts or objects, each alone or in a
        pair with its score, in which case their order is kept; or {id: score}, which is sorted by
        descending score.
    queries : dict, list or frame
        {id: query}; queries that are their own ids; or a frame with an id (`qid`, `query_id`,
        `_id` …) and a text (`query`, `text` or `question`).
    k : int, default=10
        Number of results of a query that are kept. Each chunk of a document counts.
    id : str or callable, default="id"
        Key or attribute of a result that holds the id of the judged document, or a path such as
        "metadata.id". It is searched in the result, then in its `metadata`, then in its `node`:
        name "metadata.id" if `id` is the id of a chunk. Or a function of a result.

    Returns
    -------
    RetrievalRun
        Recommendations (user, item, rank [, score]) and latencies (user, seconds). `evaluate` and
        `compare` take it as the lists of a model. There are scores if each document has one.
        Several chunks of one document are kept: the convention `duplicates` decides how they
        count, and by default they are an error. With `drop` lists may hold fewer than k documents:
        choose a larger k.

    Raises
    ------
    InputError
        If the retriever fails on a query, or a document has no id that is text or an integer.

    Examples
    --------
    >>> import concord as cc
    >>> def search(query):
    ...     return [{"id": "d2", "score": 1.5}, {"id": "d1", "score": 0.5}]
    >>> run = cc.collect(search, {"q1": "reset my password"})
    >>> run.recommendations.rows()
    [('q1', 'd2', 1, 1.5), ('q1', 'd1', 2, 0.5)]
    >>> cc.evaluate(run, {"q1": ["d1"]}, metrics=["RR@10"])["RR@10"]
    0.5
    """
    search = _search_function(retriever)
    if type(k) is not int or k < 1:
        raise refuse("k", f"is {k!r}", "write a whole number, 1 or more")
    if not callable(id) and not (isinstance(id, str) and id):
        raise refuse("id", f"is {id!r}", _ID_FIX)
    rows: list[tuple[str, str, int, float | None]] = []
    latencies: list[tuple[str, float]] = []
    for query_id, query in _queries(queries).items():
        location = f"query {query_id!r}"
        start = time.perf_counter()
        try:
            result = search(query)
            result = list(result) if isinstance(result, Iterator) else result
        except Exception as error:
            message = f"the retriever raised {type(error).__name__}: {error}"
            raise refuse(location, message, "correct it, or leave the query out") from error
        latencies.append((query_id, time.perf_counter() - start))
        for rank, document in enumerate(_documents(result, location)[:k], start=1):
            item, score = _with_score(document)
            item_id = _document_id(item, id, f"{location}: result {rank}")
            rows.append((query_id, item_id, rank, score))
    lists = pl.DataFrame(rows, schema=_LISTS, orient="row")
    if lists["score"].null_count():
        lists = lists.drop("score")
    schema = {"user": pl.String, "seconds": pl.Float64}
    return RetrievalRun(lists, pl.DataFrame(latencies, schema=schema, orient="row"))


def _search_function(retriever: Any) -> Callable[[Any], Any]:
    methods = (getattr(retriever, name, None) for name in _METHODS)
    search = next((method for method in methods if callable(method)), retriever)
    if not callable(search):
        message = f"{type(retriever).__name__} has no method {' or '.join(_METHODS)}"
        raise refuse("retriever", message, "give a function that returns documents of a query")
    return search


def _queries(queries: Any) -> dict[str, Any]:
    """Return id -> content of each query."""
    if isinstance(queries, Mapping):
        pairs = [*queries.items()]
    elif isinstance(queries, list | tuple):
        if queries and isinstance(queries[0], Mapping):
            problem = f"is a list of dicts with the keys {', '.join(_keys(queries[0]))}"
            fix = "give {id: query}, such as {row['id']: row['question'] for row in rows}"
            raise refuse("queries", problem, fix)
        pairs = [(query, query) for query in queries]
    else:
        table = table_from_frame(queries, "queries")
        ids, texts = (
            table.column(_only_column(table.column_names, names)).to_pylist()
            for names in (_QUERY_IDS, _QUERY_TEXTS)
        )
        pairs = [*zip(ids, texts, strict=True)]
    by_id: dict[str, Any] = {}
    for row, (key, query) in enumerate(pairs, start=1):
        is_float = isinstance(key, float)
        if key is None or (is_float and math.isnan(key)):
            fix = "give every query an id, or drop the row"
            raise refuse(f"queries: row {row}", "has no id", fix)
        # pandas makes floats of whole numbers in a column with a gap
        query_id = str(int(key) if is_float and key.is_integer() else key)
        if query_id in by_id:
            problem = f"{query_id!r} occurs more than once"
            raise refuse("queries", problem, "give each query its own id")
        by_id[query_id] = query
    return by_id


def _only_column(columns: Iterable[str], names: tuple[str, ...]) -> str:
    found = [name for name in columns if name in names]
    if len(found) != 1:
        message = f"has {len(found)} of the columns {', '.join(names)}: {', '.join(columns)}"
        raise refuse("queries", message, "keep one, or give a dict {id: query}")
    return found[0]


def _documents(result: Any, location: str) -> list[Any]:
    """Return the documents as a list; {id: score} becomes pairs, the highest score first."""
    is_frame = hasattr(result, "columns")
    if isinstance(result, Mapping) and all(map(_is_number, result.values())):
        return sorted(result.items(), key=lambda pair: pair[1], reverse=True)
    if isinstance(result, Iterable) and not (is_frame or isinstance(result, str | bytes | Mapping)):
        return list(result)
    kind = type(result).__name__
    fix = "return a list of documents, best first, or {id: score}"
    if is_frame:
        fix = "return its rows as dicts, such as frame.to_dict('records'), and name their `id`"
    if isinstance(result, Mapping):
        kind = f"a dict with {', '.join(_keys(result))}"
        fix = "return its documents alone, such as lambda query: chain.invoke(query)['context']"
    if inspect.iscoroutine(result):
        result.close()  # Python would warn that nobody awaits it
        fix = "give a function that waits, such as lambda query: asyncio.run(search(query))"
    raise refuse(location, f"the retriever returned {kind}, not a list of documents", fix)


def _with_score(document: Any) -> tuple[Any, float | None]:
    """Return a document and its score, from a pair or from the document; None for no number."""
    score: Any = next(_values(document, "score"), None)
    if isinstance(document, tuple) and len(document) == 2 and isinstance(document[1], Real | None):  # noqa: PLR2004
        document, score = document
    return document, float(score) if _is_number(score) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value)


def _document_id(document: Any, name: str | Callable[[Any], Any], location: str) -> str:
    if callable(name):
        try:
            value = name(document)
        except Exception as error:
            problem = f"the function `id` raised {type(error).__name__}: {error}"
            raise refuse(location, problem, "correct the function for this result") from error
        return _id_text(value, "what the function `id` returned", location)
    if isinstance(document, str | Integral):
        return _id_text(document, "it", location)
    holders = [
        inner
        for holder in (document, *_values(document, "node"))
        for inner in (holder, *_values(holder, "metadata"))
    ]
    for holder in holders:
        for value in _values(holder, name):
            return _id_text(value, f"its {name!r}", location)
    keys = ", ".join(dict.fromkeys(key for holder in holders for key in _keys(holder)))
    message = f"{type(document).__name__} has no {name!r}; it has {keys or 'no keys'}"
    raise refuse(location, message, _ID_FIX)


def _id_text(value: Any, name: str, location: str) -> str:
    if not isinstance(value, str | Integral) or isinstance(value, bool):
        raise refuse(location, f"{name} is {type(value).__name__}, not text or an integer", _ID_FIX)
    return str(value)


def _values(holder: Any, path: str) -> Iterator[Any]:
    """Yield the value of a key, an attribute or a path of them, if there is one."""
    value = holder.get(path) if isinstance(holder, Mapping) else getattr(holder, path, None)
    first, _, rest = path.partition(".")
    if value is not None:
        yield value
    elif rest:
        for inner in _values(holder, first):
            yield from _values(inner, rest)


def _keys(holder: Any) -> Iterable[str]:
    return map(str, holder if isinstance(holder, Mapping) else getattr(holder, "__dict__", ()))
