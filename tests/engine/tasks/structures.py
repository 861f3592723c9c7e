"""Everything that may come out of a forward, and a non-contiguous and an empty tensor that go in."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, ids, empty, scale, mask=None):
        return {
            "sum": (x * scale).sum(),
            "parts": [x.t(), (ids + 1, ids > 3)],
            "nothing": mask,
            "empty": empty * 2,
            "count": 17,
            "ratio": 0.5,
            "expanded": x[:, :1].expand(x.shape),
        }


def get_inputs():
    return [torch.randn(9, 33).t(), torch.randint(0, 8, (50,)), torch.randn(0, 4), 1.5, None]


def get_init_inputs():
    return []
