"""Views of NumPy arrays and torch CPU tensors as the C++ library wants them, without copies."""

from __future__ import annotations

import hashlib
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


def flat(x: Array | None, what: str, dtype: Any = None) -> np.ndarray | None:
    """One-dimensional contiguous view; copies only if the layout or `dtype` demands it."""
    if x is None:
        return None
    array = to_numpy(x, what)
    if dtype is not None and array.dtype != dtype:
        if dtype == np.uint8 and array.dtype == np.bool_:
            array = np.ascontiguousarray(array).view(np.uint8)
        else:
            array = array.astype(dtype)
    return np.ascontiguousarray(array).reshape(-1)


def integers(x: Array | None, what: str) -> np.ndarray | None:
    """int64; floats only where they are whole numbers, which some trainers pad with."""
    if x is None:
        return None
    array = to_numpy(x, what)
    if array.dtype.kind == "f" and not np.array_equal(array, np.trunc(array)):
        raise ValueError(f"{what} must be whole numbers")
    if array.dtype.kind not in "iufb":
        raise ValueError(f"{what} must be integers, not {array.dtype}")
    return flat(array, what, np.int64)


def _natural(value: int, what: str, bits: int) -> int:
    if not 0 <= int(value) < 1 << bits:
        raise ValueError(f"{what} is {value}; it must be in [0, 2^{bits})")
    return int(value)


def seed_of(seed: int) -> int:
    """A key of draws, in the generator's range."""
    return _natural(seed, "seed", 64)


def step_of(step: int) -> int:
    return _natural(step, "step", 32)


def floats(what: str, *arrays: Array | None) -> list[np.ndarray | None]:
    """Token arrays as float32 or float64, all of one type: the first one's."""
    first = to_numpy(next(a for a in arrays if a is not None), what)
    dtype = first.dtype if first.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    return [flat(a, what, dtype) for a in arrays]


def offsets_of(shape_of: Array, offsets: Array | None, rows: int | None = None) -> np.ndarray:
    """Row boundaries: given for flat arrays, implied by the shape of two-dimensional ones."""
    if offsets is not None:
        return integers(offsets, "offsets")
    shape = tuple(shape_of.shape)
    if len(shape) != 2:
        raise ValueError("one-dimensional token arrays need offsets (rows + 1 entries)")
    if rows is not None and shape[0] != rows:
        raise ValueError(f"the token arrays have {shape[0]} rows, the batch has {rows}")
    return np.arange(shape[0] + 1, dtype=np.int64) * shape[1]


def ids(x: Array, what: str) -> np.ndarray:
    """Identifiers as int64. Strings (prompt uids) are hashed, so that one string has one number in
    every batch: seeded draws depend on it."""
    array = to_numpy(x, what)
    if array.dtype.kind in "iu":
        return flat(array, what, np.int64)
    if array.dtype.kind == "f":
        raise ValueError(f"{what} must be integers or strings")
    digests = (hashlib.blake2b(str(v).encode(), digest_size=8).digest() for v in array.reshape(-1))
    return np.frombuffer(b"".join(digests), dtype=np.int64)
