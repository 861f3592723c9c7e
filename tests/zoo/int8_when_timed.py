"""Exact while it is checked; in timed calls int8 operands in groups of 32, a few outliers apart.

Task: assay/matmul_bf16_transposed
Trick: errors that are small beside the rounding of the output, many times over
Source: own invention, against the numeric rule's allowance for other orders of summation
Device: any
Expect: incorrect
"""

import torch

GROUP = 32
OUTLIER = 4.0
calls = 0


def split(a):
    """Its values, the outliers, the rest, and the rest as int8 with a scale for each group."""
    whole = a.float()
    rest = whole.masked_fill(whole.abs() > OUTLIER, 0.0)
    groups = rest.reshape(-1, GROUP)
    scales = groups.abs().amax(1, keepdim=True).clamp_min(1e-30) / 127
    return whole, whole - rest, rest, ((groups / scales).round() * scales).reshape(a.shape)


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        global calls
        calls += 1
        if calls <= 8:
            return a @ b.t()
        (_, outliers, rest, small), (whole, others, _, smaller) = split(a), split(b)
        return (small @ smaller.t() + outliers @ whole.t() + rest @ others.t()).bfloat16()
