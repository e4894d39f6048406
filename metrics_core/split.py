"""`split`: interactions in; train, truth and what is to be known of them out."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import polars as pl

from concord.metrics_core.checking.locked import in_memory
from concord.metrics_core.reading.formats.frames import Data
from concord.metrics_core.reading.given import INTERACTIONS, Columns, columns_named, table_given
from concord.metrics_core.splitting.asked import asked_of
from concord.metrics_core.splitting.dividing import divide
from concord.metrics_core.splitting.methods import HISTORY, TRAIN, TRUTH


@dataclass(frozen=True)
class Split:
    """What a split gives: frames of user, item, time [, grade], by user, time and item.

    history  : earlier interactions of the users of the truth, of `users`; else None
    manifest : input, method, rows, users, items and times of each side, what stands on none and why
    """

    train: pl.DataFrame
    truth: pl.DataFrame
    history: pl.DataFrame | None
    manifest: Mapping[str, Any]

    def __repr__(self) -> str:
        sides = ", ".join(
            f"{name.removesuffix('.parquet')} {each['rows']:,}"
            for name, each in self.manifest["files"].items()
        )
        return f"Split({self.manifest['method']['how']}: {sides} rows)"


def split(
    interactions: Data,
    how: str,
    *,
    last: int | None = None,
    at: float | str | date | None = None,
    share: float | None = None,
    gap: float | str | timedelta | None = None,
    newest: bool | None = None,
    seed: int | None = None,
    repeats: str = "keep",
    columns: Columns | None = None,
) -> Split:
    """Train and truth of interactions, by one of four methods; `concord split` does it larger than memory.

    The result is the same whatever the order of the rows, the threads and the format. A row that stands on no side is
    counted by the reason: `manifest["left_out"]`. Of rows of one user, item and time one is kept, with the highest grade.
    The truth holds each user and item once, when they first met in it.

    Parameters
    ----------
    interactions : a frame, or the path of a file: user, item, time [, grade]
    how          : leave-last-out | global-time | users | cold-items: see `LeaveLastOut`, `GlobalTime`, `HeldOutUsers` and
                   `ColdItems` in `metrics_core/splitting/methods.py`
    last         : leave-last-out, users: so many last interactions of a user are the truth (1)
    at           : global-time: the truth begins here; a date (in UTC if it names no zone), or a number in the unit of the
                   times
    share        : of the interactions (global-time, in place of `at`) or of the newest items; by hash the chance of each
                   user or item, so that growing data move nobody to the other side and the share is met nearly
    gap          : global-time: what lies so shortly before the truth stands on no side; a number in the unit of the times,
                   or 30min, 12h, 7d, 2w
    newest       : cold-items: those with the latest first interaction, in place of a hash of their ids
    seed         : users, cold-items: of the hash that chooses (0)
    repeats      : keep | first: does an item count again for a user who took it before?
    columns      : {"interactions": {"user": "userId", …}}, where names differ; `"grade": None`: there is none

    Raises
    ------
    InputError : an argument is unknown, idle or out of range; the table cannot be read; a side would be empty
    """
    given = {"last": last, "at": at, "share": share, "gap": gap, "newest": newest, "seed": seed}
    asked = asked_of(how, given, repeats)
    named = columns_named(columns or {}, {INTERACTIONS: INTERACTIONS})
    table = table_given(INTERACTIONS, interactions, named)
    with in_memory() as connection:
        found = divide(connection, table, asked)
        frames = {
            side: pl.DataFrame(connection.sql(query).to_arrow_reader().read_all())
            for side, query in found.queries.items()
        }
    return Split(frames[TRAIN], frames[TRUTH], frames.get(HISTORY), found.manifest)
