"""Is a parquet or Arrow file what its name says, and whole? Cut and joined files would be read in part."""

import struct
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from concord.metrics_core.checking.problems import InputError, Problem, refuse
from concord.metrics_core.reading.columns.input_table import InputTable
from concord.metrics_core.reading.stores.failures import failure, is_failure
from concord.metrics_core.reading.stores.places import Place, beginning, by_ranges

MAGIC = {"parquet": b"PAR1", "arrow": b"ARROW1"}
_STREAM = b"\xff\xff\xff\xff"  # each message of a stream begins with it
_END = _STREAM + bytes(4)  # and its end is a message of no bytes
_JOINT = b"PAR1PAR1"  # where one parquet file ends and another begins
_AGAIN = "write or copy the file again"


def is_stream(path: Place) -> bool:
    """Is it Arrow's stream, not its file format?"""
    return beginning(path, len(_STREAM)) == _STREAM


def refuse_other_content(path: Place, file: InputTable) -> None:
    """Refuse a file that does not begin as its format does."""
    begins = beginning(path, 60)
    if not begins:
        raise refuse(str(path), "is empty (0 bytes)", "check what wrote the file")
    if begins.startswith(MAGIC[file.format]) or (
        file.format == "arrow" and begins.startswith(_STREAM)
    ):
        return
    line = begins.split(b"\n")[0].decode("utf-8", errors="replace")
    what = f"is no {file.format} file; it begins with {line!r}"
    raise refuse(str(path), what, f"name it by its format, or set {file.settings.format()}")


def refuse_part_of_arrow(path: Place) -> None:
    """Refuse a stream without its end, two files in one, and one with a hole."""
    if is_stream(path):
        _refuse_open_stream(path)
        return
    with by_ranges(path) as held:
        _refuse_other_end(path, held)


def refuse_joined(path: Place, metadata: pq.FileMetaData) -> None:
    """Refuse parquet files in one, of which pyarrow and DuckDB may read the first alone.

    The last of them counts its places from its own beginning. So what the others take is not more
    than what lies between the end of its last column, as it says, and its footer.
    """
    with by_ranges(path) as held:
        if int.from_bytes(held.read_at(4, held.size() - 8), "little") != metadata.serialized_size:
            return  # columns are encrypted, and pyarrow aborts where it is asked for their places
        others = held.size() - 8 - metadata.serialized_size - _end_of_columns(metadata)
        if others > 0 and _JOINT in held.read_at(others + len(MAGIC["parquet"]), 0):
            raise _joined(path)


def _end_of_columns(metadata: pq.FileMetaData) -> int:
    """Where the columns of the last group of rows end."""
    if not metadata.num_row_groups:
        return 0
    group = metadata.row_group(metadata.num_row_groups - 1)
    columns = [group.column(number) for number in range(group.num_columns)]
    return max(
        (
            (column.dictionary_page_offset or column.data_page_offset)
            + column.total_compressed_size
            for column in columns
        ),
        default=0,
    )


def _refuse_open_stream(path: Place) -> None:
    with by_ranges(path) as source:
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


def _refuse_other_end(path: Place, held: pa.NativeFile) -> None:
    """Between the last block of an Arrow file and its footer stands the end of a stream, and nothing else."""
    tail = held.size() - len(MAGIC["arrow"]) - 4
    footer = tail - int.from_bytes(held.read_at(4, tail), "little")
    blocks = sorted(_blocks(held.read_at(held.size() - footer, footer)))
    if not blocks:
        return
    last, end = blocks[-1]
    mark = _END if held.read_at(len(_STREAM), last) == _STREAM else _END[4:]  # before 2019
    found = held.read_at(min(footer - end, len(mark) + 1), end) if footer > end else b""
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


def _joined(path: Place) -> InputError:
    what = "goes on after its end: it is several files in one, of which one would be read"
    return refuse(
        str(path), what, "write the files as one table, or give them as a folder of parts"
    )


def damaged(path: Place | str, error: Exception) -> Problem:
    """What to say of a file that cannot be read."""
    if is_failure(str(path), error):
        return failure(str(path), error)
    message = " ".join(str(error).split())[:300]
    if "all lists to be of size" in message:
        what = "holds lists of a fixed size of which some are missing, which Arrow does not read from parquet"
        fix = "write lists of any size (in polars `cast(pl.List(…))`), or leave the column out"
        return Problem(str(path), what, fix)
    return Problem(str(path), f"is damaged or not complete ({message})", _AGAIN)
