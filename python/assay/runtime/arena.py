"""Memory that judge and candidate share: inputs that the candidate can only read, outputs it writes.

On a GPU a segment is driver memory mapped into both processes (``cuMemCreate``), on the CPU a
sealed memfd. The owner maps it for reading and writing, the importer as it is told.
"""

import ctypes
import gc
import os

import torch

from . import native


GPU_PAGE = 2 << 20  # bytes that the driver maps at once


class Arena:
    """One shared segment as a flat uint8 tensor ``memory``. Released with ``close``."""

    def __init__(self, memory: torch.Tensor, fd: int, size: int, release):
        self.memory = memory
        self.fd = fd
        self.size = size
        self._release = release

    @staticmethod
    def create(device: str, size: int, sealed: bool) -> "Arena":
        """Memory of at least ``size`` bytes owned by this process. On the CPU ``sealed`` memory can
        be mapped by others only for reading; on a GPU the importer's mapping decides."""
        size = max(size, 1 << 16)
        if device == "cpu":
            address, fd = native.host_create(size, sealed)
            return Arena(_host_tensor(address, size), fd, size, lambda: native.host_unmap(address, size))
        segment = native.gpu_create(size)
        return Arena(_gpu_tensor(segment), segment.fd, segment.bytes, lambda: native.gpu_release(segment))

    @staticmethod
    def attach(device: str, fd: int, size: int, writable: bool) -> "Arena":
        """Maps what another process created; closes ``fd``."""
        if device == "cpu":
            address = native.host_map(fd, size, writable)
            os.close(fd)
            return Arena(_host_tensor(address, size), -1, size, lambda: native.host_unmap(address, size))
        segment = native.gpu_import(fd, size, writable)
        os.close(fd)
        return Arena(_gpu_tensor(segment), -1, size, lambda: native.gpu_release(segment))

    def close(self) -> None:
        """No tensor over the memory may be used afterwards."""
        self.memory = None
        if self.fd >= 0:
            os.close(self.fd)
        self._release()


class ArenaStore:
    """A judge's shared memory, of which some is kept for the next lanes.

    Making and releasing device memory waits for a lock of the driver that the making of contexts holds
    for tens of milliseconds. Memory is kept by ``kind``: what a candidate could map never becomes
    memory for expected outputs. What is taken anew is zero, whoever wrote it. Not thread-safe."""

    SHARE = 32  # of the device's memory: what is kept whatever the lanes need
    MOST = 0.6  # of it, whatever they leave: submissions and references take more than is foreseen

    def __init__(self, device: str):
        self.device = device
        total = torch.cuda.get_device_properties(0).total_memory if device != "cpu" else 0
        self.least, self.limit = total // self.SHARE, int(self.MOST * total)
        self.most = self.least  # bytes that are kept at most
        self.kept: list[tuple[str, Arena]] = []  # the oldest first

    def allow(self, free: int) -> None:
        """``free``: bytes of the device that no open lane needs."""
        self.most = max(self.least, min(free, self.limit))

    def expect(self, wanted: list[tuple[str, int]]) -> None:
        """A lane will take these kinds and sizes: of the others no more is kept than is allowed now."""
        mine = []
        for kind, size in wanted:
            found = next((each for each in self.kept if each[0] == kind and each[1].size == self._class(size)), None)
            if found:
                self.kept.remove(found)
                mine.append(found)
        self._trim()
        self.kept += mine

    def take(self, kind: str, size: int, sealed: bool = False) -> Arena:
        """Memory of at least ``size`` bytes. Raises native.NativeError where there is none."""
        size = self._class(size)
        for index, (of, arena) in enumerate(self.kept):
            if of == kind and arena.size == size:
                del self.kept[index]
                arena.memory.zero_()
                torch.cuda.synchronize()  # before anyone else can look
                return arena
        try:
            return Arena.create(self.device, size, sealed)
        except native.NativeError:
            if self.device == "cpu":
                raise
        # What is kept here, and what torch keeps of an examination's large tensors, makes room.
        self.clear()
        gc.collect()
        torch.cuda.empty_cache()
        return Arena.create(self.device, size, sealed)

    def give(self, kind: str, arena: Arena) -> None:
        """Takes back what nobody else maps any more."""
        self.kept.append((kind, arena))
        self._trim()

    def clear(self) -> None:
        while self.kept:
            self.kept.pop()[1].close()

    def _trim(self) -> None:
        while sum(arena.size for _, arena in self.kept) > self.most:
            self.kept.pop(0)[1].close()

    def _class(self, size: int) -> int:
        if size > self.least:
            return -(-size // GPU_PAGE) * GPU_PAGE if self.device != "cpu" else size
        return size_class(size)


def size_class(size: int) -> int:
    """The next of sizes that lie an eighth apart, in multiples of what the driver maps."""
    step = max(GPU_PAGE, 1 << max((size - 1).bit_length() - 4, 0))
    return -(-size // step) * step


def _host_tensor(address: int, size: int) -> torch.Tensor:
    buffer = (ctypes.c_uint8 * size).from_address(address)
    return torch.frombuffer(buffer, dtype=torch.uint8)


class _GpuMemory:
    def __init__(self, segment: native.Segment):
        self.__cuda_array_interface__ = {
            "shape": (segment.bytes,),
            "typestr": "|u1",
            "data": (segment.address, False),
            "strides": None,
            "version": 3,
        }


def _gpu_tensor(segment: native.Segment) -> torch.Tensor:
    return torch.as_tensor(_GpuMemory(segment), device="cuda")
