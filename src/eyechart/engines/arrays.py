"""Send arrays to other processes and back."""

from typing import Any, NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

Tables = TypeVar("Tables", bound=NamedTuple)
Array = NDArray[Any]


class _Unlocked:
    """Present an array as writable, and keep the original alive."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.__array_interface__ = dict(array.__array_interface__) | {"data": (array.ctypes.data, False)}


def unlocked(arrays: Tables) -> Tables:
    """View a named tuple of arrays, perhaps in shared memory, in the form the kernels are compiled for.

    Shared arrays are read-only, which is another type to Numba: it would compile everything again. Nothing may write
    to them even so; a copy in every process would cost the memory that sharing saves.
    """
    return type(arrays)(*(_unlock(each) for each in arrays))


def _unlock(value: Any) -> Any:  # noqa: ANN401 - an array, or a named tuple of them
    if isinstance(value, tuple):
        return type(value)(*(_unlock(each) for each in value))
    if not isinstance(value, np.ndarray) or value.flags.writeable:
        return value
    return np.asarray(_Unlocked(np.ascontiguousarray(value)))


def pack(**arrays: Array) -> pl.DataFrame:
    """Pack arrays of different lengths into one row, each as a list."""
    return pl.DataFrame([pl.Series(name, array).implode() for name, array in arrays.items()])


def unpack(table: pl.DataFrame, name: str) -> Array:
    """Return a writable array from such a row."""
    return table[name].explode(empty_as_null=False).to_numpy(writable=True)
