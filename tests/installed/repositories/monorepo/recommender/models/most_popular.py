import collections
import csv

with open("data/clicks_train.tsv") as file:
    clicks = [tuple(line.split("\t")) for line in file.read().splitlines()[1:]]
count = collections.Counter(article for _, article in clicks)
read = collections.defaultdict(set)
for visitor, article in clicks:
    read[visitor].add(article)
with open("predictions/most_popular.tsv", "w", newline="") as file:
    out = csv.writer(file, delimiter="\t")
    out.writerow(["visitor_id", "article_id", "rank"])
    for visitor in sorted(read):
        left = [
            a
            for a, _ in sorted(count.items(), key=lambda c: (-c[1], c[0]))
            if a not in read[visitor]
        ]
        out.writerows([visitor, article, n] for n, article in enumerate(left[:10], 1))
