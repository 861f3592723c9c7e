"""Whose gradient is asked for must be known by name.

status: runtime_error
error: exception MissingParameter
says: none named weight
task: rms_backward
"""

import torch


class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
        ctx.save_for_backward(x, weight, scale)
        return x * scale * weight

    @staticmethod
    def backward(ctx, grad):
        x, weight, scale = ctx.saved_tensors
        along = grad * weight
        for_x = scale * (along - x * scale * (along * x * scale).mean(-1, keepdim=True))
        return for_x, (grad * x * scale).sum(0)


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return Norm.apply(x, self.gain)
