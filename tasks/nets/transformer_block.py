"""Pre-norm transformer block: causal self-attention and a GELU feed-forward layer, both
residual."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"batch": 2, "length": 64, "dim": 128, "heads": 4},
    "gpu": {"batch": 8, "length": 512, "dim": 768, "heads": 12},
}
batch, length, dim, heads = SIZES["gpu"].values()


class Model(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.norm2 = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)

    def attend(self, x):
        batch_size, steps, width = x.shape
        q, k, v = (
            part.view(batch_size, steps, self.heads, -1).transpose(1, 2)
            for part in self.qkv(x).chunk(3, dim=-1)
        )
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch_size, steps, width))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


def get_inputs():
    return [torch.randn(batch, length, dim)]


def get_init_inputs():
    return [dim, heads]
