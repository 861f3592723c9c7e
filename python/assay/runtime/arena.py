"""Memory that judge and candidate share: inputs that the candidate can only read, outputs it writes.

On a GPU a segment is driver memory mapped into both processes (``cuMemCreate``), on the CPU a
sealed memfd. The owner maps it for reading and writing, the importer as it is told.
"""

import ctypes
import os

import torch

from . import native


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
