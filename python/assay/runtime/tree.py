"""Nested values as JSON plus a flat list of tensors.

Inputs and outputs may be tensors, numbers, strings, None, dtypes, devices and nested lists, tuples
and dicts of them. The judge and the candidate exchange the structure as JSON and the tensors
through shared memory; no pickle ever crosses a process.
"""

import math

import torch

ALIGNMENT = 512  # bytes; what CUDA allocators give, and what vectorised loads expect
MAX_DEPTH = 16


class Unsupported(TypeError):
    """A value that cannot cross between processes."""


def flatten(value, depth: int = 0) -> tuple[dict, list[torch.Tensor]]:
    """(structure, tensors) of a nested value. Raises Unsupported."""
    tensors: list[torch.Tensor] = []
    return _describe(value, tensors, depth), tensors


def _describe(value, tensors: list, depth: int) -> dict:
    if depth > MAX_DEPTH:
        raise Unsupported(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return {"k": "tensor", "i": len(tensors) - 1}
    if value is None:
        return {"k": "none"}
    if isinstance(value, (bool, str)):
        return {"k": "value", "v": value}
    if isinstance(value, int):
        return {"k": "int", "v": str(value)}
    if isinstance(value, float):
        return {"k": "float", "v": repr(value)}
    if isinstance(value, torch.dtype):
        return {"k": "dtype", "v": dtype_name(value)}
    if isinstance(value, torch.device):
        return {"k": "device"}
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        return {"k": kind, "v": [_describe(item, tensors, depth + 1) for item in value]}
    if isinstance(value, dict):
        items = []
        for key, item in value.items():
            if not isinstance(key, (str, int)):
                raise Unsupported(f"a dict with a key of type {type(key).__name__}")
            items.append([key, _describe(item, tensors, depth + 1)])
        return {"k": "dict", "v": items}
    raise Unsupported(f"a value of type {type(value).__name__}")


def unflatten(spec: dict, tensors: list[torch.Tensor], device: str):
    """The inverse of flatten."""
    kind = spec["k"]
    if kind == "tensor":
        return tensors[spec["i"]]
    if kind == "none":
        return None
    if kind == "value":
        return spec["v"]
    if kind == "int":
        return int(spec["v"])
    if kind == "float":
        return float(spec["v"])
    if kind == "dtype":
        return getattr(torch, spec["v"])
    if kind == "device":
        return torch.device(device)
    if kind == "dict":
        return {key: unflatten(item, tensors, device) for key, item in spec["v"]}
    items = [unflatten(item, tensors, device) for item in spec["v"]]
    return items if kind == "list" else tuple(items)


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def extent(shape: list[int], stride: list[int]) -> int:
    """Elements from the first to the last one that a strided tensor touches."""
    if any(size == 0 for size in shape):
        return 0
    return 1 + sum((size - 1) * step for size, step in zip(shape, stride))


def layout(tensors: list[torch.Tensor], start: int, keep_strides: bool) -> tuple[list[dict], int]:
    """Places tensors one after the other from byte ``start``; (descriptions, end).

    With ``keep_strides`` a non-contiguous tensor keeps its strides (a transposed input reaches the
    candidate transposed); otherwise all are contiguous.
    """
    places = []
    for tensor in tensors:
        shape = list(tensor.shape)
        stride = list(tensor.stride()) if keep_strides else _contiguous(shape)
        size = extent(shape, stride) * tensor.element_size()
        start = math.ceil(start / ALIGNMENT) * ALIGNMENT
        places.append({"dtype": dtype_name(tensor.dtype), "shape": shape, "stride": stride, "offset": start})
        start += size
    return places, math.ceil(start / ALIGNMENT) * ALIGNMENT


def _contiguous(shape: list[int]) -> list[int]:
    stride, step = [], 1
    for size in reversed(shape):
        stride.append(step)
        step *= max(size, 1)
    return stride[::-1]


def view(memory: torch.Tensor, place: dict, base: int = 0) -> torch.Tensor:
    """The tensor that ``place`` describes inside ``memory`` (bytes), shifted by ``base`` bytes."""
    dtype = getattr(torch, place["dtype"])
    count = extent(place["shape"], place["stride"])
    first = base + place["offset"]
    flat = memory[first : first + count * dtype.itemsize].view(dtype)
    return flat.as_strided(place["shape"], place["stride"])


def store(target: torch.Tensor, source: torch.Tensor) -> None:
    """Copies values; expanded (stride 0) dimensions are written once."""
    for dim, step in enumerate(target.stride()):
        if step == 0 and target.shape[dim] > 1:
            target, source = target.narrow(dim, 0, 1), source.narrow(dim, 0, 1)
    target.copy_(source)
