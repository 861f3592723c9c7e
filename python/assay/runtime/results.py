"""Where the results of timed rounds stand, so that they can be read there and nothing is copied.

A copy inside the round could be left out by a submission that writes into the arena itself, so
what copying costs must not be taken off its time; a copy after the round would let it compute late.
Instead, while a round runs, torch's allocator of the device takes memory from a region of the
outputs' arena, which the judge maps too, and reads with the strides that the result has. On the CPU
the worker reads the memory of the process once that is stopped. A result that stands elsewhere (on a
GPU in a buffer of the module's own or in a CUDA graph's memory; on the CPU one with gaps between its
elements) is copied into its slot, and the copy is paid for like any other work of the round.
"""

import contextlib

import torch

from . import native, tree

ALIGNMENT = 16  # bytes; the judge asks for as much


class HostResults:
    """All memory of this process, which the worker can read (process_vm_readv)."""

    def using(self):
        return contextlib.nullcontext()

    def place(self, tensor: torch.Tensor) -> int:
        """Address of a tensor, IN_SLOT where its bytes are not just those of its elements."""
        if tensor.layout is not torch.strided or not _plain(tensor):
            return native.IN_SLOT
        dense = tensor.is_contiguous() or tree.extent(tensor.shape, tensor.stride()) == tensor.numel()
        return tensor.data_ptr() if dense and tensor.numel() > 0 else native.IN_SLOT

    def close(self) -> None:
        pass


class DeviceResults:
    """The region of one arena. ``wanted``: False leaves the allocator alone (CUDA graphs keep memory
    that must come from their own pool)."""

    def __init__(self, outputs: torch.Tensor, plan: dict, wanted: bool):
        self.begin = outputs.data_ptr()
        self.end = self.begin + outputs.numel()
        self.pool = None
        if not wanted or not plan["results_bytes"] or not hasattr(torch.cuda, "use_mem_pool"):
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
        size = tree.extent(tensor.shape, tensor.stride()) * tensor.element_size()
        if _plain(tensor) and address % ALIGNMENT == 0 and self.begin <= address and address + size <= self.end:
            return address - self.begin
        return native.IN_SLOT

    def close(self) -> None:
        """No tensor in the region may be used afterwards."""
        self.pool = None
        torch.cuda.empty_cache()
        native.results_region(0, 0)


def _plain(tensor: torch.Tensor) -> bool:
    """Whether strides say all: a view may stand for the negated or conjugated values of what is in memory."""
    return not tensor.is_neg() and not tensor.is_conj() and tensor.dim() <= native.MAX_DIMS


def result_memory(device: str, outputs: torch.Tensor, plan: dict, wanted: bool) -> HostResults | DeviceResults | None:
    """None: all results are copied. ``wanted``: whether they may stay where they are."""
    if device != "cpu":
        return DeviceResults(outputs, plan, wanted)
    return HostResults() if wanted else None
