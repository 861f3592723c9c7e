"""A few words of every input that come last, when a round begins.

Before a round its inputs stand in memory that the candidate can read, and while the judge holds the
device some engines of it still run (a copy engine, say): whatever a submission does before *go* would
cost it nothing. So the inputs are not complete then. In each of them a few words at secret places
hold other values of the same tensor, and the hold puts the true ones in at its very end. What was
computed before is wrong, and finding the words again takes as long as reading everything.
"""

import math
import os

import torch

from . import tree

WORDS = 16  # of each tensor of each input
WORD = 8  # bytes; no element is cut in two


class LateWords:
    """The late words of one lane's inputs. ``places``: the tensors of one input, see tree.layout."""

    def __init__(self, memory: torch.Tensor, places: list[dict], inputs_at: int, input_bytes: int):
        device = memory.device
        self.memory = memory
        self.words = memory[: memory.numel() // WORD * WORD].view(torch.int64)
        begins, counts = [], []
        for place in places:
            size = tree.extent(place["shape"], place["stride"]) * getattr(torch, place["dtype"]).itemsize
            if size >= 2 * WORD:
                begins.append((inputs_at + place["offset"]) // WORD)
                counts.append(size // WORD)
        self.stride = input_bytes // WORD
        self.begins = torch.tensor(begins, dtype=torch.int64, device=device)[:, None]
        self.counts = torch.tensor(counts, dtype=torch.float64, device=device)[:, None]
        self.random = torch.Generator(device).manual_seed(int.from_bytes(os.urandom(7), "little"))

    def swap(self, first: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Puts other words into the inputs of ``count`` slots; (addresses, true words) to restore them
        with, of equal length, on the device."""
        slots = torch.arange(first, first + count, device=self.memory.device)[:, None, None] * self.stride
        shape = (2, count, len(self.begins), WORDS)
        drawn = torch.rand(shape, dtype=torch.float64, generator=self.random, device=self.memory.device)
        index, other = ((drawn * self.counts).long() + self.begins + slots).view(2, math.prod(shape[1:]))
        true, false = self.words[index], self.words[other]
        self.words[index] = false
        return self.memory.data_ptr() + index * WORD, true
