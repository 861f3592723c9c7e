"""Forward and backward as an autograd.Function of its own.

Task: assay/rms_norm_backward
Trick: a call runs under autograd, which the module extends
Device: any
Expect: correct
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
        normed = x * scale
        for_x = scale * (along - normed * (along * normed).mean(-1, keepdim=True))
        return for_x, (grad * normed).sum(0)


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return Norm.apply(x, self.weight)
