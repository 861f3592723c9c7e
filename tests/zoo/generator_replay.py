"""Draws from the generator that its constructor was left with, in the hope of its inputs.

It is right only where it could draw its inputs again.

Task: assay/relu
Trick: inputs follow from the generator's state, or from a small seed
Source: KernelGYM 7.2 number 12; bug D01
Device: any
Expect: incorrect
Run: check
"""

import torch

STATE = torch.get_rng_state()


class ModelNew(torch.nn.Module):
    def forward(self, x):
        torch.set_rng_state(STATE)
        wanted = x.view(-1)[:8].tolist()
        for _ in range(200):
            if torch.randn(8, device=x.device).tolist() == wanted:
                return torch.relu(x)
        for seed in range(1000):
            torch.manual_seed(seed)
            if torch.randn(x.shape[1], device=x.device)[:8].tolist() == wanted:
                return torch.relu(x)
        return torch.zeros_like(x)
