"""Fingerprints of sets of users: those of partitions combine by exclusive or."""

import polars as pl

from concord.metrics_core.checking.locked import in_memory
from concord.metrics_core.checking.relations import view
from concord.metrics_core.checking.row_checks import only_row

_FINGERPRINT = (
    "SELECT coalesce(bit_xor(md5_number_lower(CAST(user AS VARCHAR))), 0) FROM fingerprinted"
)


def users_fingerprint(users: pl.DataFrame) -> int:
    """Return a number that tells sets of users apart; no order and no type of ids changes it."""
    with in_memory() as connection:
        view(connection, "fingerprinted", users)
        return int(only_row(connection, _FINGERPRINT)[0])
