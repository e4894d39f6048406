"""Display words that the ground truth suggests."""

from collections.abc import Mapping

from concord.metrics_core.conventions.display_words import changed_words
from concord.metrics_core.data.column_names import normalise_name
from concord.metrics_core.data.input_table import InputTable

_QUERY = ("query", "queryid", "qid", "topic", "topicid")  # names of columns in search
_DOCUMENT = ("doc", "docid", "docno", "document", "documentid", "corpusid")
SEARCH_WORDS: Mapping[str, str] = {"user": "query", "item": "document"}
_SEARCH: Mapping[str, Mapping[str, str]] = {
    "user": dict.fromkeys(_QUERY, "query"),
    "item": dict.fromkeys(_DOCUMENT, "document")
    | dict.fromkeys(["passage", "passageid"], "passage"),
}


def words_of_table(truth: InputTable) -> dict[str, str] | None:
    """Return the words that are set, or else those that format and columns suggest."""
    if truth.words:
        return changed_words(truth.words)
    if truth.format == "trec":
        return dict(SEARCH_WORDS)
    names = {key: normalise_name(truth.original_name(key)) for key in _SEARCH}
    words = {key: _SEARCH[key][name] for key, name in names.items() if name in _SEARCH[key]}
    return words if "user" in words else None
