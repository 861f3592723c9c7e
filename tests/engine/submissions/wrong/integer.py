"""One integer off by one: integers are exact.

status: incorrect
error: mismatch values
task: structures
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, ids, empty, scale, mask):
        ids = ids.clone()
        ids[49] += 1
        return {
            "sum": (x * scale).sum(),
            "parts": [x.t(), (ids + 1, ids > 3)],
            "nothing": mask,
            "empty": empty * 2,
            "count": 17,
            "ratio": 0.5,
            "expanded": x[:, :1].expand(x.shape),
        }
