"""Keeps a table that depends on the input's shape alone.

Task: assay/cumsum_rows
Trick: a dictionary keyed on shapes that remembers no results
Device: any
Expect: correct
"""

import torch

TABLES = {}


class ModelNew(torch.nn.Module):
    def forward(self, x):
        key = (tuple(x.shape), x.device)
        if key not in TABLES:
            TABLES[key] = torch.triu(torch.ones(x.shape[1], x.shape[1], device=x.device))
        return x @ TABLES[key]
