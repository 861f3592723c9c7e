"""Views of NumPy arrays and torch CPU tensors as the C++ library wants them, without copies."""

from __future__ import annotations

import hashlib
import operator
import sys
from typing import Any

import numpy as np

Array = Any  # numpy.ndarray | torch.Tensor | a sequence of numbers


def is_tensor(x: Array) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def to_numpy(x: Array, what: str) -> np.ndarray:
    """The memory of `x` as a NumPy array. Tensors must be on the CPU: a transfer from a GPU costs
    more than any function here and is therefore the caller's, in the open."""
    if x is None:
        raise ValueError(f"{what} is None; give an array")
    if is_tensor(x):
        x = x.detach()
        if x.device.type != "cpu":
            raise ValueError(f"{what} is on {x.device}; move it with .cpu() first")
        if str(x.dtype) == "torch.bfloat16":
            raise ValueError(f"{what} is bfloat16; convert it with .float() first")
        return x.numpy()
    return np.asarray(x)


def like(array: np.ndarray, reference: Array) -> Array:
    """`array` as a tensor if `reference` is one; the memory stays where it is."""
    if is_tensor(reference):
        return sys.modules["torch"].from_numpy(array)
    return array


def shape_of(x: Array) -> tuple[int, ...]:
    """Of an array, a tensor or nested sequences."""
    return tuple(np.shape(x))


def flat(x: Array | None, what: str, dtype: Any) -> Any:
    """None, or a one-dimensional contiguous view; copies only if the layout or `dtype` demands it. Numbers become
    floating point; a whole-numbered `dtype` takes no value that it cannot hold."""
    if x is None:
        return None
    array = to_numpy(x, what)
    dtype = np.dtype(dtype)
    if array.dtype != dtype:
        if dtype.kind == "f":
            array = _real(array, what).astype(dtype)
        elif dtype == np.uint8 and array.dtype == np.bool_:
            array = np.ascontiguousarray(array).view(np.uint8)
        else:
            array = whole(array, what, dtype)
    return np.ascontiguousarray(array).reshape(-1)


def _real(array: np.ndarray, what: str) -> np.ndarray:
    if array.dtype.kind == "O":
        array = array.astype(np.float64)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{what} must be real numbers, not {array.dtype}")
    return array


def whole(array: np.ndarray, what: str, dtype: Any) -> np.ndarray:
    """A copy of the integer type `dtype`; floats only where they are whole numbers, which some trainers
    pad with."""
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{what} must be integers, not {array.dtype}")
    with np.errstate(invalid="ignore"):
        out = array.astype(dtype, order="C")
    if array.dtype not in (np.dtype(dtype), np.bool_) and not np.array_equal(out, array):
        first = array[np.not_equal(out, array)].flat[0]
        limits = np.iinfo(dtype)
        raise ValueError(f"{what} holds {first}; it must be whole numbers in [{limits.min}, {limits.max}]")
    return out


def integers(x: Array | None, what: str) -> Any:
    """None, or int64."""
    return flat(x, what, np.int64)


def flags(x: Array | None, what: str) -> Any:
    """None, or uint8, 1 where `x` is not 0."""
    if x is None:
        return None
    array = _real(to_numpy(x, what), what)
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise ValueError(f"{what} holds NaN, which is neither true nor false; use 0 and 1")
    return flat(array != 0, what, np.uint8)


def _natural(value: int, what: str, bits: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is {value!r}; it must be an integer") from None
    if not 0 <= number < 1 << bits:
        raise ValueError(f"{what} is {value}; it must be in [0, 2^{bits})")
    return number


def seed_of(seed: int) -> int:
    """A key of draws, in the generator's range."""
    return _natural(seed, "seed", 64)


def step_of(step: int) -> int:
    return _natural(step, "step", 32)


def bits_of(bits: int, what: str) -> int:
    """Reasons of a state."""
    return _natural(bits, what, 8)


def floats(what: str, *arrays: Array | None) -> list[Any]:
    """Token arrays as float32 or float64, all of one type: the first one's. The first that is given is
    called `what` in errors."""
    first = to_numpy(next((a for a in arrays if a is not None), None), what)
    dtype = first.dtype if first.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    return [flat(a, what, dtype) for a in arrays]


def result_type(dtype: Any) -> np.dtype:
    """Of token arrays that are made from no other: float32 or float64."""
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype is {dtype}; use float32 or float64")
    return dtype


def offsets_of(
    tokens: Array, offsets: Array | None, rows: int | None = None, **others: Array | None
) -> np.ndarray:
    """Row boundaries: given for flat arrays, implied by the shape of two-dimensional ones. `others` are
    token arrays beside it, by their names: a transposed one has as many entries."""
    shape = shape_of(tokens)
    for name, other in others.items():
        if other is not None and len(theirs := shape_of(other)) > 1 and len(shape) > 1 and theirs != shape:
            raise ValueError(f"{name} has shape {theirs}, the other token arrays have {shape}")
    if offsets is not None:
        return integers(offsets, "offsets")
    if len(shape) != 2:
        raise ValueError(
            f"token arrays are (rows, width), and one-dimensional ones need offsets (rows + 1 entries); "
            f"these have shape {shape}"
        )
    if rows is not None and shape[0] != rows:
        raise ValueError(f"the token arrays have {shape[0]} rows, the batch has {rows}")
    return np.arange(shape[0] + 1, dtype=np.int64) * shape[1]


def ids(x: Array, what: str) -> np.ndarray:
    """Identifiers as int64. Strings (prompt uids) are hashed, so that one string has one number in
    every batch: seeded draws depend on it."""
    array = to_numpy(x, what)
    if array.size == 0:  # an empty list has no type
        return np.zeros(0, np.int64)
    if array.dtype.kind in "iu":
        return np.ascontiguousarray(array).astype(np.int64, copy=False).reshape(-1)
    if array.dtype.kind == "f":
        raise ValueError(f"{what} must be integers or strings")
    digests = (hashlib.blake2b(str(v).encode(), digest_size=8).digest() for v in array.reshape(-1))
    return np.frombuffer(b"".join(digests), dtype=np.int64)
