"""Print what an assessor would judge relevant: `python data/demo-search/judge.py > all.tsv`."""

from help_centre import SEED, grade, write_help_centre
from numpy.random import default_rng

documents, queries = write_help_centre(default_rng(SEED))
print("query-id", "corpus-id", "score", sep="\t")
for query in queries:
    for document in documents:
        if grade(query, document) > 0:
            print(query.id, document.id, grade(query, document), sep="\t")
