"""Postponed annotations, a dataclass and type hints.

Task: assay/relu
Trick: dataclasses look their module up in sys.modules
Device: any
Expect: correct
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch


@dataclass(frozen=True)
class Config:
    floor: float = 0.0
    notes: list[str] = field(default_factory=list)


class ModelNew(torch.nn.Module):
    def __init__(self, config: Config | None = None) -> None:
        super().__init__()
        self.config = config or Config()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.clamp_min(x, self.config.floor)
