"""A torch.autograd.Function with forward and backward.

Task: assay/relu
Trick: autograd machinery under no_grad
Device: any
Expect: correct
"""

import torch


class Rectify(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp_min(0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x > 0)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return Rectify.apply(x)
