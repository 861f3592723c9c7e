"""Turns denormals and determinism off and one thread on, globally.

Task: assay/relu
Trick: settings that would slow a reference in the same process
Source: KernelBench 9 A14; KernelGYM 7.2 number 31
Device: any
Expect: correct
Twin: twin_relu_one_thread
"""

import torch

torch.set_flush_denormal(True)
torch.set_num_threads(1)
torch.backends.cudnn.enabled = False
torch.backends.cudnn.benchmark = False
torch.use_deterministic_algorithms(True)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
