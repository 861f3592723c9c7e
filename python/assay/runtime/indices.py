"""Outputs that are indices: right is what the index points at, not the index.

Where several elements are equal the largest of them has several places, and a reference that takes the
first is no better than a kernel that takes another. ``find`` recognises, from one run of the reference,
integer outputs that point into an input along a dimension (argmax, argmin, the indices of max, topk,
sort, pooling over one dimension); ``Rule.settled`` then puts the reference's index wherever the
candidate's points at an equal value.
"""

from dataclasses import dataclass

import torch

LARGEST = 1 << 28  # elements of an input that are looked at


@dataclass(frozen=True)
class Rule:
    """Output values are places along ``dim`` of input number ``source``."""

    source: int
    dim: int
    keepdim: bool

    def settled(self, y: torch.Tensor, eager: torch.Tensor, inputs: list[torch.Tensor]) -> torch.Tensor:
        """``y`` with eager's index wherever both point at the same value. Each place may be named once:
        of several that a sort or a topk gives, all must be different."""
        x = inputs[self.source]
        if y.shape != eager.shape or torch.equal(y, eager):
            return y
        own, wanted = (t if self.keepdim else t.unsqueeze(self.dim) for t in (y, eager))
        inside = (own >= 0) & (own < x.shape[self.dim])
        own = torch.where(inside, own, 0)
        same = (x.gather(self.dim, own) == x.gather(self.dim, wanted)) & inside
        if own.shape[self.dim] > 1:
            ordered = own.sort(self.dim).values
            size = ordered.shape[self.dim]
            twice = ordered.narrow(self.dim, 1, size - 1) == ordered.narrow(self.dim, 0, size - 1)
            same = same & ~twice.any(self.dim, keepdim=True)
        if not self.keepdim:
            same = same.squeeze(self.dim)
        return torch.where(same, eager, y)


def find(inputs: list[torch.Tensor], outputs: list[torch.Tensor]) -> dict[int, Rule]:
    """The rules of a reference's outputs, by output number."""
    rules = {}
    for number, output in enumerate(outputs):
        if output.dtype != torch.int64 or output.numel() == 0:
            continue
        for source, x in enumerate(inputs):
            rule = _rule(source, x, output, outputs)
            if rule is not None:
                rules[number] = rule
                break
    return rules


def _rule(source: int, x: torch.Tensor, index: torch.Tensor, outputs: list[torch.Tensor]) -> Rule | None:
    if not x.is_floating_point() or x.dtype.itemsize < 2 or not 0 < x.numel() <= LARGEST:
        return None
    for dim in range(x.dim()):
        shape = list(x.shape)
        without = shape[:dim] + shape[dim + 1 :]
        keepdim = index.dim() == x.dim() and list(index.shape)[:dim] + list(index.shape)[dim + 1 :] == without
        if not keepdim and list(index.shape) != without:
            continue
        places = index if keepdim else index.unsqueeze(dim)
        if int(places.min()) < 0 or int(places.max()) >= shape[dim]:
            continue
        pointed = x.gather(dim, places)
        if _is_extreme(x, pointed, dim) or any(_same(pointed, o, dim, keepdim) for o in outputs):
            return Rule(source, dim, keepdim)
    return None


def _is_extreme(x: torch.Tensor, pointed: torch.Tensor, dim: int) -> bool:
    if pointed.shape[dim] != 1:
        return False
    return torch.equal(pointed, x.amax(dim, keepdim=True)) or torch.equal(pointed, x.amin(dim, keepdim=True))


def _same(pointed: torch.Tensor, output: torch.Tensor, dim: int, keepdim: bool) -> bool:
    """Whether another output holds the values that are pointed at, as max, topk and sort give them."""
    if not output.is_floating_point():
        return False
    value = pointed if keepdim else pointed.squeeze(dim)
    return output.shape == value.shape and torch.equal(output, value)
