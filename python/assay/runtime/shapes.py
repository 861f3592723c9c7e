"""Smaller inputs: does a submission compute on what it is given, or on the sizes it was written for?

A task fixes the shapes of its inputs, so a kernel made for them is right. Whether it is also right for
others is worth knowing: masks that are missing, strides and sizes that are written down. ``find`` looks
for smaller inputs that the reference accepts, by trying: the leading dimension that all inputs share, then
every other size that occurs, in all dimensions of that size at once. Each goes down to an odd number about
a quarter below it. What was accepted alone is tried together; a reference that accepts nothing has no such
inputs. They are parts of the task's own draws and never larger, so they fit into its arena.

An integer input may point into another input, and a GPU punishes a wild index with the end of the process
that used it. So a size that some integer comes near is left alone.
"""

from dataclasses import dataclass

import torch

from . import tree

JITTERED = "jittered"  # as a family of inputs
MOST_SIZES = 4  # that are tried
WHOLE = 1e-3  # share of an output that may stop being finite


@dataclass(frozen=True)
class Shapes:
    """Smaller shapes of all inputs, and what the reference returns for them."""

    shapes: list[list[int]]  # of the input tensors
    input_places: list[dict]  # within a slot, as tree.layout gives them
    output_places: list[dict]

    def narrowed(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        """The corner of each tensor that has these shapes, in memory of its own."""
        return [_corner(t, shape) for t, shape in zip(tensors, self.shapes)]


def smaller(size: int) -> int:
    """An odd size about a quarter below ``size``; 1 stays."""
    return size if size < 2 else max(1, (size - max(1, size // 4)) - 1 | 1)


def steps(shapes: list[list[int]]) -> list[list[list[int]]]:
    """Ways to make shapes smaller, one idea each: [way][tensor] -> shape."""
    ways = []
    leading = {shape[0] for shape in shapes if shape}
    if len(leading) == 1 and (size := leading.pop()) > 1:
        ways.append([[smaller(size), *shape[1:]] if shape else shape for shape in shapes])
    sizes = sorted({size for shape in shapes for size in shape if size > 1}, reverse=True)
    for size in sizes[:MOST_SIZES]:
        way = [[smaller(s) if s == size else s for s in shape] for shape in shapes]
        if way not in ways:
            ways.append(way)
    return ways


def find(task) -> Shapes | None:
    """Of a loaded task (see task.Task) with weights built; None where the reference accepts nothing else."""
    if task.random or task.backward:
        return None  # what a draw, or a gradient, of another shape is takes more than a smaller input
    if task.device != "cpu" and any(not t.is_floating_point() and t.numel() > 1 for t in task.state()[1]):
        return None  # a table of indices, maybe
    spec, tensors = tree.flatten(task.draw(2))
    native = [list(t.shape) for t in tensors]
    found, best = None, native
    for way in steps(native):
        together = [[min(a, b) for a, b in zip(x, y)] for x, y in zip(best, way)]
        if together == best:
            continue
        tried = _try(task, spec, tensors, together)
        if tried is not None:
            found, best = tried, together
    return found


def _try(task, spec: dict, tensors: list[torch.Tensor], shapes: list[list[int]]) -> Shapes | None:
    if _may_point(tensors, shapes):
        return None
    inputs = [_corner(t, shape) for t, shape in zip(tensors, shapes)]
    input_places, input_bytes = tree.layout(inputs, 0, keep_strides=False)
    try:
        output = task.run(task.model, tree.unflatten(spec, inputs, task.device), 11)
    except Exception:  # a reference refuses as it likes
        return None
    output_tree, outputs = tree.flatten(output)
    output_places, output_bytes = tree.layout(outputs, 0, keep_strides=False)
    fits = input_bytes <= task.input_bytes and output_bytes <= task.output_bytes
    if not fits or output_tree != task.output_tree or [t.dtype for t in outputs] != task.output_dtypes:
        return None
    for t in outputs:
        if t.numel() == 0 or (t.is_floating_point() and float(torch.isfinite(t.float()).float().mean()) < 1 - WHOLE):
            return None
    return Shapes(shapes, input_places, output_places)


def _may_point(tensors: list[torch.Tensor], shapes: list[list[int]]) -> bool:
    """Whether some integer could point beyond a dimension that became smaller."""
    least = min((b for t, shape in zip(tensors, shapes) for a, b in zip(t.shape, shape) if b < a), default=0)
    integers = [t for t in tensors if not t.is_floating_point() and not t.is_complex() and t.dtype != torch.bool]
    return any(t.numel() > 0 and 2 * int(t.max()) >= least for t in integers)


def _corner(tensor: torch.Tensor, shape: list[int]) -> torch.Tensor:
    for dim, size in enumerate(shape):
        tensor = tensor.narrow(dim, 0, size)
    return tensor.clone(memory_format=torch.contiguous_format)
