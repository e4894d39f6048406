import random

draw = random.Random(11)
articles = [f"{topic}{n}" for topic in "ABCD" for n in range(25)]
parts = {"train": [], "test": []}
for visitor in range(150):
    topic = draw.choice("ABCD")
    seen = draw.sample([a for a in articles if a[0] == topic], 9) + draw.sample(articles, 4)
    seen = list(dict.fromkeys(seen))
    draw.shuffle(seen)
    parts["train"] += [(f"v{visitor}", article) for article in seen[3:]]
    parts["test"] += [(f"v{visitor}", article) for article in seen[:3]]
for name, rows in parts.items():
    with open(f"data/clicks_{name}.tsv", "w") as file:
        file.write("visitor_id\tarticle_id\n" + "".join(f"{v}\t{a}\n" for v, a in rows))
