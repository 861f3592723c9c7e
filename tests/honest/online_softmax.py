"""Softmax over blocks of columns with a running maximum.

Task: assay/softmax_rows
Trick: infinities in intermediate results
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        top = torch.full((x.shape[0], 1), float("-inf"), device=x.device)
        total = torch.zeros(x.shape[0], 1, device=x.device)
        for part in x.split(300, dim=1):
            new = torch.maximum(top, part.amax(dim=1, keepdim=True))
            total = total * torch.exp(top - new) + torch.exp(part - new).sum(dim=1, keepdim=True)
            top = new
        return torch.exp(x - top) / total
