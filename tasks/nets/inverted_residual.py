"""Widen by 1 x 1 convolution, filter each channel, squeeze-and-excite, narrow again, add the
input."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"batch": 4, "channels": 8, "expansion": 4, "size": 28},
    "gpu": {"batch": 32, "channels": 32, "expansion": 6, "size": 56},
}
batch, channels, expansion, size = SIZES["gpu"].values()


class Model(nn.Module):
    def __init__(self, channels, expansion):
        super().__init__()
        wide = channels * expansion
        self.widen = nn.Conv2d(channels, wide, 1)
        self.filter = nn.Conv2d(wide, wide, 3, padding=1, groups=wide)
        self.squeeze = nn.Linear(wide, channels)
        self.excite = nn.Linear(channels, wide)
        self.narrow = nn.Conv2d(wide, channels, 1)

    def forward(self, x):
        y = nn.functional.silu(self.widen(x))
        y = nn.functional.silu(self.filter(y))
        weights = self.excite(torch.relu(self.squeeze(y.mean(dim=(2, 3)))))
        return x + self.narrow(y * torch.sigmoid(weights)[:, :, None, None])


def get_inputs():
    return [2 * torch.randn(batch, channels, size, size)]


def get_init_inputs():
    return [channels, expansion]
