"""Ratings of 240 people, each of whom likes one genre."""

import csv
import random

draw = random.Random(20)
with open("data/ratings.csv", "w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(["userId", "movieId", "rating", "timestamp"])
    for user in range(1, 241):
        genre = draw.randrange(4)
        for when, movie in enumerate(draw.sample(range(1, 101), 30)):
            likes = movie % 4 == genre
            rows.writerow(
                [
                    user,
                    movie,
                    draw.choice([4, 4.5, 5]) if likes else draw.choice([1, 2, 3]),
                    1_000 + when,
                ]
            )
