"""What train and truth say of each other."""

from collections.abc import Iterator
from pathlib import Path

from pipeline.comparing.phrases import counted, percent
from pipeline.comparing.warning import MATTERS, NOTICE, SERIOUS, Row, warning
from pipeline.params.model import Params
from pipeline.running.connections import reading

_TWICE = """
SELECT count(*), count(DISTINCT CAST(user AS VARCHAR)) FROM truth
SEMI JOIN train ON CAST(truth.user AS VARCHAR) = CAST(train.user AS VARCHAR)
               AND CAST(truth.item AS VARCHAR) = CAST(train.item AS VARCHAR)
"""
_SHARED = """
SELECT count(*) FROM (SELECT CAST(user AS VARCHAR) AS user FROM truth
                      SEMI JOIN train ON CAST(truth.user AS VARCHAR) = CAST(train.user AS VARCHAR) LIMIT 1)
"""
_OVERLAPPING = """
SELECT count(*) FROM (SELECT CAST(user AS VARCHAR) AS user, min(time) AS began FROM truth GROUP BY ALL)
JOIN (SELECT CAST(user AS VARCHAR) AS user, max(last) AS ended FROM train GROUP BY ALL) USING (user)
WHERE began < ended
"""


def data_warnings(params: Params) -> Iterator[Row]:
    """What train and truth say of each other."""
    if "train" not in params.background:
        return
    files = {name: Path(params.results.data) / f"{name}.parquet" for name in ("train", "truth")}
    with reading(files.values()) as connection:
        for name, path in files.items():
            connection.read_parquet(str(path)).create_view(name)
        rows, users = connection.execute(_TWICE).fetchall()[0]
        (total,) = connection.execute("SELECT count(*) FROM truth").fetchall()[0]
        timed = all("time" in connection.view(name).columns for name in ("train", "truth"))
        (shared,) = connection.execute(_SHARED).fetchall()[0]
        overlapping = connection.execute(_OVERLAPPING).fetchall()[0][0] if timed else 0
    if not shared:
        yield warning(
            "unrelated_train",
            SERIOUS,
            [],
            "No user of the truth stands in the train: is it what these models learned from?",
            "name your own files under `background:`, or write `background: {}`",
        )
    if rows:
        yield warning(
            "truth_in_train",
            SERIOUS if rows / total >= MATTERS else NOTICE,
            [],
            f"{counted(rows, 'row')} of the truth ({percent(rows / total)}) of {counted(users, 'user')} stand in the "
            "train too: models that leave out what users know cannot find them, others have learned the answer.",
            "split so that a pair of user and item is in one of the two",
        )
    if overlapping:
        yield warning(
            "truth_before_train",
            NOTICE,
            [],
            f"The truth of {counted(overlapping, 'user')} begins before their train ends: the split is not by time.",
            "split by time where the model will meet the future",
        )
