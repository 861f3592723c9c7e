"""The one place of assay.rl that needs torch."""

from __future__ import annotations

import torch


class _Known(torch.autograd.Function):
    """A scalar whose gradients are already known: inputs, then their gradients."""

    @staticmethod
    def forward(ctx, value, n, *tensors):  # noqa: D102
        ctx.save_for_backward(*tensors[n:])
        return tensors[0].new_tensor(value)

    @staticmethod
    def backward(ctx, upstream):  # noqa: D102
        gradients = tuple(upstream * g for g in ctx.saved_tensors)
        return None, None, *gradients, *(None for _ in gradients)


def attach(value: float, known: list[tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor:
    """`value` as a tensor that backpropagates the given gradient into each input."""
    inputs = [x for x, _ in known]
    return _Known.apply(value, len(known), *inputs, *(g.to(x.dtype) for x, g in known))
