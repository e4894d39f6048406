"""Judge documents as an assessor would, as lines of qrels.

`python judge.py next.csv >> qrels/test.tsv` judges the queries and documents (columns `user` and
`item`) that `concord judge --out next.csv` wrote; without a file, all relevant documents.
"""

import csv
import sys
from itertools import product
from pathlib import Path

from help_centre import SEED, grade, write_help_centre
from numpy.random import default_rng

documents, queries = write_help_centre(default_rng(SEED))
if len(sys.argv) > 1:
    with Path(sys.argv[1]).open(encoding="utf-8", newline="") as file:
        listed = {(row["user"], row["item"]) for row in csv.DictReader(file)}
    pairs = [(q, d) for q, d in product(queries, documents) if (q.id, d.id) in listed]
else:
    pairs = [(q, d) for q, d in product(queries, documents) if grade(q, d) > 0]
    print("query-id", "corpus-id", "score", sep="\t")
for query, document in pairs:
    print(query.id, document.id, grade(query, document), sep="\t")
