import collections
import csv

WEIGHT = 3

with open("data/clicks_train.tsv") as file:
    clicks = [tuple(line.split("\t")) for line in file.read().splitlines()[1:]]
count = collections.Counter(article for _, article in clicks)
read = collections.defaultdict(set)
for visitor, article in clicks:
    read[visitor].add(article)
with open("predictions/same_topic.tsv", "w", newline="") as file:
    out = csv.writer(file, delimiter="\t")
    out.writerow(["visitor_id", "article_id", "rank"])
    for visitor in sorted(read):
        topics = collections.Counter(article[0] for article in read[visitor])
        score = {a: count[a] + WEIGHT * topics[a[0]] for a in count if a not in read[visitor]}
        left = sorted(score, key=lambda a: (-score[a], a))
        out.writerows([visitor, article, n] for n, article in enumerate(left[:10], 1))
