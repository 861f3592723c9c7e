"""Batch normalisation that updates its running statistics as the reference does.

Task: assay/batch_norm_2d
Trick: state that changes with every call
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = torch.nn.BatchNorm2d(channels)
        torch.nn.init.normal_(self.norm.weight, 1.0, 0.2)
        torch.nn.init.normal_(self.norm.bias, 0.0, 0.2)

    def forward(self, x):
        var, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0)
        n = x.numel() / x.shape[1]
        norm = self.norm
        norm.running_mean.lerp_(mean, norm.momentum)
        norm.running_var.lerp_(var * n / (n - 1), norm.momentum)
        norm.num_batches_tracked += 1
        scale = norm.weight * torch.rsqrt(var + norm.eps)
        return x * scale[:, None, None] + (norm.bias - mean * scale)[:, None, None]
