"""Where a result may stand for the judge to read it."""

import torch
from assay.runtime import native
from assay.runtime.results import ResultMemory

PLAN = {"results_at": 0, "results_bytes": 0}


def memory_over(buffer: torch.Tensor) -> ResultMemory:
    memory = ResultMemory("cpu", buffer, PLAN, wanted=True)
    memory.begin, memory.end = buffer.data_ptr(), buffer.data_ptr() + buffer.numel()  # as on a GPU
    return memory


def test_a_plain_tensor_in_the_memory_is_read_there():
    buffer = torch.zeros(4096, dtype=torch.uint8)
    assert memory_over(buffer).place(buffer[512:1024].view(torch.float32)) == 512


def test_what_stands_elsewhere_or_reads_otherwise_goes_into_its_slot():
    buffer = torch.zeros(4096, dtype=torch.uint8)
    memory = memory_over(buffer)
    floats = buffer[:1024].view(torch.float32).view(16, 16)
    assert memory.place(torch.zeros(16)) == native.IN_SLOT
    assert memory.place(floats.t()) == native.IN_SLOT
    pair = buffer[:1024].view(torch.complex64)
    assert memory.place(pair) == 0
    assert memory.place(pair.conj()) == native.IN_SLOT, "memory holds the other imaginary part"
    assert memory.place(torch._neg_view(floats)) == native.IN_SLOT, "memory holds the other sign"


def test_nothing_beyond_the_end():
    buffer = torch.zeros(4096, dtype=torch.uint8)
    memory = memory_over(buffer[:1024])
    assert memory.place(buffer[512:1536].view(torch.float32)) == native.IN_SLOT
