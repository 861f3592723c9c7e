"""Where the results of timed rounds stand, so that the judge can read them and nothing is copied.

A copy inside the round could be left out by a submission that writes into the arena itself, so
what copying costs must not be taken off its time; a copy after the round would let it compute late.
Instead, while a round runs, torch's allocator of the device takes memory from a region of the
outputs' arena, which the judge maps too, and reads with the strides that the result has. A result
that stands elsewhere (in a buffer of the module's own, in a CUDA graph's memory) is copied into its
slot, and the copy is paid for like any other work of the round.
"""

import contextlib

import torch

from . import native, tree

ALIGNMENT = 16  # bytes; the judge asks for as much


class ResultMemory:
    """The region of one arena. ``wanted``: False leaves the allocator alone (CUDA graphs keep memory
    that must come from their own pool)."""

    def __init__(self, device: str, outputs: torch.Tensor, plan: dict, wanted: bool):
        self.begin = outputs.data_ptr() if device != "cpu" else 0
        self.end = self.begin + outputs.numel() if device != "cpu" else 0
        self.pool = None
        if device == "cpu" or not wanted or not plan["results_bytes"] or not hasattr(torch.cuda, "use_mem_pool"):
            return
        native.results_region(self.begin + plan["results_at"], plan["results_bytes"])
        allocator = torch.cuda.memory.CUDAPluggableAllocator(
            native.library_path, "assay_results_alloc", "assay_results_free"
        )
        self.allocator = allocator  # the pool needs it as long as it lives
        self.pool = torch.cuda.MemPool(allocator.allocator())

    def using(self):
        """A context in which this thread's tensors come from the region while it lasts."""
        return torch.cuda.use_mem_pool(self.pool) if self.pool is not None else contextlib.nullcontext()

    def place(self, tensor: torch.Tensor) -> int:
        """Offset of a tensor in the outputs' memory, IN_SLOT when the judge cannot read it there."""
        address = tensor.data_ptr()
        # A view may stand for the negated or conjugated values of what is in memory.
        readable = not tensor.is_neg() and not tensor.is_conj() and tensor.dim() <= native.MAX_DIMS
        size = tree.extent(tensor.shape, tensor.stride()) * tensor.element_size()
        if readable and address % ALIGNMENT == 0 and self.begin <= address and address + size <= self.end:
            return address - self.begin
        return native.IN_SLOT

    def close(self) -> None:
        """No tensor in the region may be used afterwards."""
        self.pool = None
        if self.begin:
            torch.cuda.empty_cache()
            native.results_region(0, 0)
