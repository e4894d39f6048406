"""Is a parquet or Arrow file what its name says, and whole? Cut and joined files would be read in part."""

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from concord.metrics_core.checking.problems import InputError, Problem, refuse
from concord.metrics_core.reading.columns.input_table import InputTable

MAGIC = {"parquet": b"PAR1", "arrow": b"ARROW1"}
_STREAM = b"\xff\xff\xff\xff"  # each message of a stream begins with it
_END = _STREAM + bytes(4)  # and its end is a message of no bytes
_JOINT = b"PAR1PAR1"  # where one parquet file ends and another begins
_KNOWN = {
    b"FEA1": (
        "is Feather version 1, which holds no whole Arrow",
        "write it as parquet, or with `pyarrow.feather.write_feather`, whose version is 2",
    ),
    b"PARE": ("is encrypted parquet", "write it without encryption: no keys are taken"),
}
_AGAIN = "write or copy the file again"


def is_stream(path: Path) -> bool:
    """Is it Arrow's stream, not its file format?"""
    with path.open("rb") as opened:
        return opened.read(4) == _STREAM


def refuse_other_content(path: Path, file: InputTable) -> None:
    """Refuse a file that does not begin as its format does."""
    with path.open("rb") as opened:
        begins = opened.read(60)
    if not begins:
        raise refuse(str(path), "is empty (0 bytes)", "check what wrote the file")
    if begins.startswith(MAGIC[file.format]) or (
        file.format == "arrow" and begins.startswith(_STREAM)
    ):
        return
    if begins[:4] in _KNOWN:
        raise refuse(str(path), *_KNOWN[begins[:4]])
    line = begins.split(b"\n")[0].decode("utf-8", errors="replace")
    what = f"is no {file.format} file; it begins with {line!r}"
    raise refuse(str(path), what, f"name it by its format, or set {file.settings.format()}")


def refuse_part_of_it(path: Path, form: str) -> None:
    """Refuse a stream without its end, two files in one, and one with a hole."""
    if form == "arrow" and is_stream(path):
        _refuse_open_stream(path)
        return
    with path.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as held:
        if form == "arrow":
            _refuse_other_end(path, held)
        elif _joint(path, held):
            raise _joined(path)


def _refuse_open_stream(path: Path) -> None:
    with pa.memory_map(str(path)) as source:
        reader = pyarrow.ipc.MessageReader.open_stream(source)
        for _ in reader:
            pass
        end, size = source.tell(), source.size()
        source.seek(max(end - len(_END), 0))
        closed = source.read(len(_END)) == _END
    if not closed:
        what = "is an Arrow stream without its end: what follows is lost"
        raise refuse(str(path), what, f"close the writer when all is written; {_AGAIN}")
    if end < size:
        raise _joined(path)


def _refuse_other_end(path: Path, held: mmap.mmap) -> None:
    """Between the last block of an Arrow file and its footer stands the end of a stream, and nothing else."""
    tail = len(MAGIC["arrow"]) + 4
    footer = len(held) - tail - int.from_bytes(held[-tail : 4 - tail], "little")
    blocks = sorted(_blocks(held[footer:]))
    if not blocks:
        return
    last, end = blocks[-1]
    mark = _END if held[last : last + 4] == _STREAM else _END[4:]  # before 2019
    found = held[end:footer]
    if len(found) > len(mark):
        raise _joined(path)
    if found != mark:
        what = "is damaged or not complete (its last block does not end where its footer says)"
        raise refuse(str(path), what, _AGAIN)


def _blocks(footer: bytes) -> Iterator[tuple[int, int]]:
    """Where each block of the file begins and ends.

    The footer is a flatbuffer: a table of version, schema, dictionaries, record batches; a block is its offset, the
    length of its description and that of its content.
    """

    def number(form: str, at: int) -> int:
        (found,) = struct.unpack_from(f"<{form}", footer, at)
        return int(found)

    table = number("I", 0)
    fields = table - number("i", table)
    for slot in range(8, min(number("H", fields), 12), 2):  # dictionaries and record batches
        if field := number("H", fields + slot):
            vector = table + field + number("I", table + field)
            for nth in range(number("I", vector)):
                begins, described, content = struct.unpack_from(
                    "<qi4xq", footer, vector + 4 + 24 * nth
                )
                yield begins, begins + described + content


def _joint(path: Path, held: mmap.mmap) -> bool:
    """Does a whole parquet file end before the end of this one?"""
    at = held.find(_JOINT)
    while at >= 0:
        if _is_whole(path, at + len(MAGIC["parquet"])):
            return True
        at = held.find(_JOINT, at + 1)
    return False


def _is_whole(path: Path, size: int) -> bool:
    with pa.memory_map(str(path)) as source:
        beginning = source.read_buffer(size)
        try:
            pq.read_metadata(pa.BufferReader(beginning))
        except (pa.ArrowException, OSError):
            return False
    return True


def _joined(path: Path) -> InputError:
    what = "goes on after its end: it is several files in one, of which one would be read"
    return refuse(
        str(path), what, "write the files as one table, or give them as a folder of parts"
    )


def damaged(path: Path | str, error: Exception) -> Problem:
    """What to say of a file that cannot be read."""
    message = " ".join(str(error).split())[:300]
    if "decrypt" in message.lower() or "encrypt" in message.lower():
        what, fix = _KNOWN[b"PARE"]
        return Problem(str(path), what.replace("is ", "holds ", 1), fix)
    if "all lists to be of size" in message:
        what = "holds lists of a fixed size of which some are missing, which Arrow does not read from parquet"
        fix = "write lists of any size (in polars `cast(pl.List(…))`), or leave the column out"
        return Problem(str(path), what, fix)
    return Problem(str(path), f"is damaged or not complete ({message})", _AGAIN)
