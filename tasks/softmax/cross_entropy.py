"""Mean cross-entropy of logits against int64 labels: one number."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"rows": 256, "classes": 1000},
    "gpu": {"rows": 8192, "classes": 8192},
}
rows, classes = SIZES["gpu"].values()


class Model(nn.Module):
    def forward(self, logits, labels):
        return nn.functional.cross_entropy(logits, labels)


def get_inputs():
    logits = torch.randn(rows, classes) * (1 + 2 * torch.rand(()))
    return [logits, torch.randint(classes, (rows,))]


def get_init_inputs():
    return []
