"""Guards a lazy initialisation by a lock; starts no thread.

Task: assay/relu
Trick: imports threading
Device: any
Expect: correct
"""

import threading

import torch

LOCK = threading.Lock()
TABLE = None


class ModelNew(torch.nn.Module):
    def forward(self, x):
        global TABLE
        with LOCK:
            if TABLE is None:
                TABLE = torch.zeros((), device=x.device)
        return torch.maximum(x, TABLE)
