"""Cross-entropy from int64 labels by hand.

Task: assay/cross_entropy
Trick: integer inputs keep their dtype; the result is a scalar
Device: any
Expect: correct
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, logits, labels):
        return (torch.logsumexp(logits, dim=1) - logits.gather(1, labels[:, None])[:, 0]).mean()
