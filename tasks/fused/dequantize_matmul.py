"""Product with a matrix stored as int8, with one scale for each of its rows."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"rows": 64, "dim_in": 512, "dim_out": 256},
    "gpu": {"rows": 1024, "dim_in": 4096, "dim_out": 4096},
}
rows, dim_in, dim_out = SIZES["gpu"].values()


class Model(nn.Module):
    def forward(self, x, quantized, scales):
        weight = quantized.to(x.dtype) * scales.unsqueeze(1)
        return x @ weight.t()


def get_inputs():
    quantized = torch.randint(-127, 128, (dim_out, dim_in), dtype=torch.int8)
    return [torch.randn(rows, dim_in), quantized, 0.01 * (1 + torch.rand(dim_out))]


def get_init_inputs():
    return []
