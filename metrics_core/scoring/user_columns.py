"""Columns of a partition's values that count each user's rows; no label starts with `#`."""

KNOWN = "#known"  # is the user in the truth, or named?
LISTED = "#listed"  # length of the list
RELEVANT = "#relevant"  # relevant items
FOUND = "#found"  # those of them in the list
