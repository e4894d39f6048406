"""Titles of the items in the shop."""

import numpy as np

_MATERIAL = (
    "Old-Town",
    "Nordic",
    "Harbour",
    "Meadow",
    "Lantern",
    "Copper",
    "Quiet",
    "Juniper",
    "Atlas",
    "Marble",
)
_KIND = (
    "Everyday",
    "Classic",
    "Pocket",
    "Weekend",
    "Studio",
    "Little",
    "Grand",
    "Travel",
    "Winter",
    "Heritage",
)
_THING = {
    "coffee": ("Moka Pot", "Hand Grinder", "Espresso Beans", "Pour-Over Set", "Milk Jug"),
    "tea": ("Oolong", "Teapot", "Infuser", "Rooibos Blend", "Matcha Whisk"),
    "baking": ("Loaf Tin", "Rye Starter", "Dough Scraper", "Proofing Basket", "Rolling Pin"),
    "garden": ("Secateurs", "Herb Seeds", "Watering Can", "Plant Labels", "Hand Fork"),
    "lighting": ("Desk Lamp", "Paper Lantern", "Candle Holder", "Reading Light", "Fairy Lights"),
    "stationery": ("Notebook", "Fountain Pen", "Ink Bottle", "Wax Seal", "Letter Paper"),
    "hiking": ("Trail Map", "Wool Socks", "Water Flask", "Rain Cape", "Camp Stove"),
    "cycling": ("Bell", "Pannier", "Repair Kit", "Gloves", "Track Pump"),
    "music": ("Tuning Fork", "Ukulele", "Songbook", "Metronome", "Kalimba"),
    "board games": ("Chess Set", "Card Deck", "Dice Tower", "Puzzle", "Dominoes"),
    "kitchen": ("Paring Knife", "Skillet", "Spice Jars", "Chopping Board", "Salt Mill"),
    "textiles": ("Linen Towel", "Wool Throw", "Cushion", "Apron", "Table Runner"),
}  # fmt: skip


def titles(categories: list[str], rng: np.random.Generator) -> list[str]:
    """Return one title per item; a number distinguishes equal titles."""
    counts: dict[str, int] = {}
    result = []
    for category in categories:
        words = (rng.choice(_MATERIAL), rng.choice(_KIND), rng.choice(_THING[category]))
        title = " ".join(map(str, words))
        counts[title] = counts.get(title, 0) + 1
        result.append(title if counts[title] == 1 else f"{title} No. {counts[title]}")
    return result
