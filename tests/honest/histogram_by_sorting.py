"""Counts by sorting and searching.

Task: assay/histogram
Trick: integer outputs are exact
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, bins):
        super().__init__()
        self.bins = bins

    def forward(self, values):
        ordered = values.sort().values
        edges = torch.searchsorted(ordered, torch.arange(self.bins + 1, device=values.device))
        return edges[1:] - edges[:-1]
