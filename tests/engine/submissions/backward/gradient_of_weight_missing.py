"""The forward pass is right, the weight's gradient is not.

status: incorrect
error: mismatch values
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
        return for_x, torch.zeros_like(weight)


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return Norm.apply(x, self.weight)
