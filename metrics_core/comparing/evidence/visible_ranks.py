"""Where an item stands in a list as users see it."""


def closed_up(lists: str) -> str:
    """SQL of `lists` (user, item, rank …) with `place`, the rank among the items that are shown.

    Later copies of an item may stand as null: the places of the others close up, as in `evaluate`.
    """
    return f"""
        (SELECT *, row_number() OVER (PARTITION BY user ORDER BY rank) AS place
         FROM {lists} WHERE item IS NOT NULL)"""
