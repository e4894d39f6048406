"""Make the search demo again, bit for bit: `python data/demo-search/make_demo.py [FOLDER]`."""

import gzip
import json
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import polars as pl
from help_centre import SEED, Document, Query, grade, write_help_centre
from retrieval import Floats, best, bm25, latent_semantic, rerank

DEPTH = 100
POOL_DEPTH = 10


def main(folder: Path) -> None:
    """Write the help centre, search it by three engines, judge a pool and write all files."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    documents, queries = write_help_centre(np.random.default_rng(SEED))
    texts = [f"{document.title} {document.text}" for document in documents]
    asked = [query.text for query in queries]
    lexical = bm25(texts, asked)
    dense = latent_semantic(texts, asked)
    titles = bm25([document.title for document in documents], asked)  # the engine before bm25
    _write_texts(folder, documents, queries)
    _write_qrels(folder / "qrels" / "test.tsv", documents, queries, pooled=[lexical, titles])
    _write_bm25(folder / "bm25.run.json", documents, queries, lexical)
    _write_dense(folder / "dense.run.gz", documents, queries, dense)
    _write_reranked(folder / "reranked.parquet", documents, queries, rerank(lexical, dense))


def _write_texts(folder: Path, documents: list[Document], queries: list[Query]) -> None:
    """Write documents and queries as BEIR does."""
    corpus = ({"_id": d.id, "title": d.title, "text": d.text} for d in documents)
    _write_gzip(folder / "corpus.jsonl.gz", map(json.dumps, corpus))
    _write(folder / "queries.jsonl", (json.dumps({"_id": q.id, "text": q.text}) for q in queries))


def _write_qrels(
    path: Path, documents: list[Document], queries: list[Query], pooled: list[Floats]
) -> None:
    """Write BEIR's qrels: grades of the best documents of each pooled engine only."""
    lines = ["query-id\tcorpus-id\tscore"]
    for n, query in enumerate(queries):
        pool = {int(d) for scores in pooled for d in best(scores[n], POOL_DEPTH)}
        judged = (documents[d] for d in sorted(pool))
        lines += [f"{query.id}\t{d.id}\t{grade(query, d)}" for d in judged]
    _write(path, lines)


def _write_bm25(
    path: Path, documents: list[Document], queries: list[Query], scores: Floats
) -> None:
    """Write {query: {document: score}}, the form of pytrec_eval, ranx and BEIR."""
    run = {
        query.id: {documents[d].id: float(row[d]) for d in best(row, DEPTH)}
        for query, row in zip(queries, scores, strict=True)
    }
    _write(path, [json.dumps(run)])


def _write_dense(
    path: Path, documents: list[Document], queries: list[Query], scores: Floats
) -> None:
    """Write a TREC run."""
    lines = (
        f"{query.id} Q0 {documents[d].id} {rank} {row[d]:.4f} dense"
        for query, row in zip(queries, scores, strict=True)
        for rank, d in enumerate(best(row, DEPTH), 1)
    )
    _write_gzip(path, lines)


def _write_reranked(
    path: Path, documents: list[Document], queries: list[Query], scores: Floats
) -> None:
    """Write a table with ranks and no scores."""
    rows = [
        (query.id, documents[d].id, rank)
        for query, row in zip(queries, scores, strict=True)
        for rank, d in enumerate(best(row, DEPTH), 1)
    ]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "rank"], orient="row")
    frame.write_parquet(path)


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def _write_gzip(path: Path, lines: Iterable[str]) -> None:
    """Write gzip without the time, which would change the bytes."""
    text = "".join(f"{line}\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
