"""Judge documents as an assessor would.

`python judge.py next.csv` fills in the column `grade` of a file that `concord judge --out next.csv`
wrote; without a file, all relevant documents are printed as qrels.
"""

import csv
import sys
from pathlib import Path

from help_centre import SEED, grade, write_help_centre
from numpy.random import default_rng

documents, queries = write_help_centre(default_rng(SEED))
grades = {
    (query.id, document.id): grade(query, document) for query in queries for document in documents
}
if len(sys.argv) > 1:
    path = Path(sys.argv[1])
    with path.open(encoding="utf-8", newline="") as file:
        rows = [{**row, "grade": grades[row["user"], row["item"]]} for row in csv.DictReader(file)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
else:
    print("query-id", "corpus-id", "score", sep="\t")
    for (query_id, document_id), value in grades.items():
        if value > 0:
            print(query_id, document_id, value, sep="\t")
