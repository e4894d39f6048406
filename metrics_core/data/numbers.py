"""Whole numbers between NumPy and Arrow. `pa.array`, `to_numpy` and `empty_table` import pandas, where it is installed: 0.4 s."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def as_arrow(numbers: NDArray[Any]) -> pa.Array:
    """Whole numbers as int64."""
    whole = np.ascontiguousarray(numbers, dtype=np.int64)
    return pa.Array.from_buffers(pa.int64(), len(whole), [None, pa.py_buffer(whole)])


def as_numpy(array: pa.Array) -> NDArray[Any]:
    """Numbers, or true and false, none of which is null."""
    if pa.types.is_boolean(array.type):
        return np.from_dlpack(array.cast(pa.uint8())).view(np.bool_)
    return np.from_dlpack(array)
