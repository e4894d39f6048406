"""Convert numbers between NumPy and Arrow without pandas.

`pa.array` and `to_numpy` import pandas if it is installed, which takes 0.4 s.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def as_arrow(numbers: NDArray[Any]) -> pa.Array:
    """Return integers as an int64 array."""
    integers = np.ascontiguousarray(numbers, dtype=np.int64)
    return pa.Array.from_buffers(pa.int64(), len(integers), [None, pa.py_buffer(integers)])


def as_numpy(array: pa.Array) -> NDArray[Any]:
    """Return numbers or booleans without nulls as a NumPy array."""
    if pa.types.is_boolean(array.type):
        return np.from_dlpack(array.cast(pa.uint8())).view(np.bool_)
    return np.from_dlpack(array)
