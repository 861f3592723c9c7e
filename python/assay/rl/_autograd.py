"""The one place of assay.rl that needs torch."""

from __future__ import annotations

import torch


class _Known(torch.autograd.Function):
    """A scalar whose gradient is already known."""

    @staticmethod
    def forward(ctx, logp, value, gradient):  # noqa: D102
        ctx.save_for_backward(gradient)
        return logp.new_tensor(value)

    @staticmethod
    def backward(ctx, upstream):  # noqa: D102
        (gradient,) = ctx.saved_tensors
        return upstream * gradient, None, None


def attach(logp: torch.Tensor, value: float, gradient: torch.Tensor) -> torch.Tensor:
    return _Known.apply(logp, value, gradient.to(logp.dtype))
