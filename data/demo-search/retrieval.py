"""Search engines: from texts to a (queries, documents) table of scores, rounded.

Rounding keeps the last bits of a machine's algebra out of the files.
"""

import re
from collections.abc import Sequence

import bm25s  # of the development environment: `make demo` and the tests alone need it
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

Floats = NDArray[np.float64]

DIGITS = 4
DIMENSIONS = 60  # of the latent space
MOST_RERANKED = 20


def bm25(documents: Sequence[str], queries: Sequence[str]) -> Floats:
    """Score by BM25 as Lucene computes it, without stemming."""
    vocabulary = {"stopwords": "en", "return_ids": False, "show_progress": False}
    index = bm25s.BM25(method="lucene", backend="numpy")
    index.index(bm25s.tokenize(list(documents), **vocabulary), show_progress=False)
    tokens = bm25s.tokenize(list(queries), **vocabulary)
    scores = np.array([index.get_scores(query) for query in tokens])
    return np.round(scores.astype(np.float64), DIGITS)


def latent_semantic(documents: Sequence[str], queries: Sequence[str]) -> Floats:
    """Score by cosine in the space of latent semantic analysis (Deerwester et al. 1990).

    Words that occur in similar documents are close in this space, as in the vectors of a neural
    retriever.
    """
    words = sorted({word for text in documents for word in _words(text)})
    column = {word: n for n, word in enumerate(words)}
    counts = _counts(documents, column)
    idf = np.log(len(documents) / np.bincount(counts.indices, minlength=len(words)))
    weighted = counts.log1p() * idf
    start = np.ones(min(weighted.shape))  # or the last bits would differ between runs
    _, _, axes = svds(csr_array(weighted), k=DIMENSIONS, v0=start)
    documents_at, queries_at = (
        _unit((matrix.log1p() * idf) @ axes.T) for matrix in (counts, _counts(queries, column))
    )
    return np.round(queries_at @ documents_at.T, DIGITS)


def rerank(first: Floats, second: Floats) -> Floats:
    """Order the top of the first engine by both scores; keep its order below."""
    scores = np.zeros_like(first)
    for query, row in enumerate(first):
        order = best(row, len(row))
        scores[query, order] = -np.arange(len(row), dtype=np.float64)
        top = order[:MOST_RERANKED]
        scores[query, top] = 1 + np.round(row[top] / row.max() + second[query, top], DIGITS)
    return scores


def best(scores: Floats, depth: int) -> NDArray[np.int64]:
    """Return the documents with the highest scores; ties in the order of the documents."""
    return np.argsort(-scores, kind="stable")[:depth]


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]{2,}", text.lower())


def _counts(texts: Sequence[str], column: dict[str, int]) -> csr_array:
    found = [
        (row, column[word])
        for row, text in enumerate(texts)
        for word in _words(text)
        if word in column
    ]
    rows, columns = zip(*found, strict=True)
    counts = csr_array((np.ones(len(found)), (rows, columns)), shape=(len(texts), len(column)))
    counts.sum_duplicates()
    return counts


def _unit(vectors: Floats) -> Floats:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
