"""Where a result may stand to be read there."""

import types

import pytest
import torch
from assay.runtime import lane, native
from assay.runtime.results import DeviceResults, HostResults
from assay.runtime.rounds import Rounds, Slots

PLAN = {"results_at": 0, "results_bytes": 0}


def memory_over(buffer: torch.Tensor) -> DeviceResults:
    return DeviceResults(buffer, PLAN, wanted=True)


def test_a_plain_tensor_in_the_memory_is_read_there():
    buffer = torch.zeros(4096, dtype=torch.uint8)
    assert memory_over(buffer).place(buffer[512:1024].view(torch.float32)) == 512


def test_what_stands_elsewhere_or_reads_otherwise_goes_into_its_slot():
    buffer = torch.zeros(4096, dtype=torch.uint8)
    memory = memory_over(buffer)
    floats = buffer[:1024].view(torch.float32).view(16, 16)
    assert memory.place(torch.zeros(16)) == native.IN_SLOT
    assert memory.place(floats.view(2, 2, 2, 2, 2, 2, 2, 2, 1)) == native.IN_SLOT, "too many dimensions"
    assert memory.place(floats.view(-1)[1:]) == native.IN_SLOT, "not aligned"
    pair = buffer[:1024].view(torch.complex64)
    assert memory.place(pair) == 0
    assert memory.place(pair.conj()) == native.IN_SLOT, "memory holds the other imaginary part"
    assert memory.place(torch._neg_view(floats)) == native.IN_SLOT, "memory holds the other sign"


def test_a_strided_view_is_read_with_its_strides():
    buffer = torch.zeros(4096, dtype=torch.uint8)
    memory = memory_over(buffer)
    floats = buffer[:1024].view(torch.float32).view(16, 16)
    assert memory.place(floats.t()) == 0
    assert memory.place(floats[:, 4::2]) == 16
    assert memory.place(buffer[3584:].view(torch.float32).view(2, 64).t()) == 3584
    assert memory.place(torch.as_strided(floats, (4,), (200,), 0)) == 0
    last = buffer[4092:].view(torch.float32)
    assert memory.place(last.expand(5)) == native.IN_SLOT


def test_nothing_beyond_the_end():
    buffer = torch.zeros(4096, dtype=torch.uint8)
    memory = memory_over(buffer[:1024])
    assert memory.place(buffer[512:1536].view(torch.float32)) == native.IN_SLOT


def test_on_the_host_dense_results_are_read_at_their_address():
    memory = HostResults()
    values = torch.zeros(4, 6)
    for dense in (values, values.t(), values[1:3], values[2:, :].t(), torch.tensor(3.0), values.view(1, 24).expand(1, 24)):
        assert memory.place(dense) == dense.data_ptr()
    for other in (values[:, :5], values[::2], torch.zeros(1).expand(5), torch.zeros(0), torch._neg_view(values),
                  torch.zeros(4, dtype=torch.complex64).conj(), values.to_sparse(), values.view(2, 2, 2, 3, *[1] * 5)):  # fmt: skip
        assert memory.place(other) == native.IN_SLOT


class Page:
    """What a process writes into its control page."""

    def places(self, offsets, strides):
        self.offsets, self.strides = offsets, strides


def handed_over(values: list, buffer: torch.Tensor) -> tuple[Page, list]:
    """What the harness says of ``values``, the results of as many calls, whose memory is ``buffer``."""
    shape = list(values[0].shape)
    place = {"dtype": "float32", "shape": shape, "stride": list(torch.empty(shape).stride()), "offset": 0}
    size = 4 * values[0].numel()
    plan = {"slots": len(values), "inputs_at": 0, "input_bytes": 0, "input_places": [], "input_tree": {"k": "list", "v": []},
            "output_bytes": size, "output_places": [place], "output_tree": {"k": "tensor", "i": 0},
            "writes_inputs": False}  # fmt: skip
    outputs = torch.zeros(size * len(values), dtype=torch.uint8)
    slots = Slots("cpu", torch.zeros(64, dtype=torch.uint8), outputs, plan)
    page = Page()
    Rounds("cpu", page, slots, 1, False, memory_over(buffer))._hand_over(values, 0)
    return page, [slots.results[i][0] for i in range(len(values))]


def test_results_of_one_layout_stay_where_they_are():
    buffer = torch.zeros(4096, dtype=torch.uint8)
    values = [buffer[at : at + 1024].view(torch.float32).view(16, 16).t() for at in (0, 1024)]
    page, slots = handed_over(values, buffer)
    assert page.offsets == [0, 1024] and page.strides == [(1, 16)]
    assert not any(slot.any() for slot in slots)


def test_a_result_of_another_layout_or_elsewhere_is_taken_into_its_slot():
    buffer = torch.zeros(4096, dtype=torch.uint8)
    inside = buffer[:1024].view(torch.float32).view(16, 16)
    values = [inside.fill_(1), inside.t(), torch.full((16, 16), 2.0)]
    page, slots = handed_over(values, buffer)
    assert page.offsets == [0, native.IN_SLOT, native.IN_SLOT] and page.strides == [(16, 1)]
    assert [float(slot.mean()) for slot in slots] == [0.0, 1.0, 2.0]


def rounds_over(memory, page) -> tuple[Rounds, Slots]:
    """Rounds whose three calls return 2 x 3 floats."""
    place = {"dtype": "float32", "shape": [2, 3], "stride": [3, 1], "offset": 0}
    plan = {"slots": 3, "inputs_at": 0, "input_bytes": 0, "input_places": [], "input_tree": {"k": "list", "v": []},
            "output_bytes": 24, "output_places": [place], "output_tree": {"k": "tensor", "i": 0},
            "writes_inputs": False}  # fmt: skip
    slots = Slots("cpu", torch.zeros(64, dtype=torch.uint8), torch.zeros(72, dtype=torch.uint8), plan)
    return Rounds("cpu", page, slots, 1, False, memory), slots


def test_on_the_host_results_are_said_or_copied():
    values = [torch.full((2, 3), 1.0), torch.full((2, 6), 2.0)[:, ::2], torch.full((2, 3), 3.0)]
    page = Page()
    served, slots = rounds_over(HostResults(), page)
    served._hand_over(values, 0)
    assert page.offsets == [values[0].data_ptr(), native.IN_SLOT, values[2].data_ptr()]
    assert [float(result[0].mean()) for result in slots.results] == [0.0, 2.0, 0.0]
    served, slots = rounds_over(None, None)  # nothing is said
    served._hand_over(values, 0)
    assert [float(result[0].mean()) for result in slots.results] == [1.0, 2.0, 3.0]


def judged(strides: list[int], at: int = 0):
    """What the judge reads, of a 2 x 3 float32 output that is said to stand at ``at``."""
    memory = torch.arange(64, dtype=torch.float32).view(torch.uint8)
    share = lane.Lane.__new__(lane.Lane)
    place = {"dtype": "float32", "shape": [2, 3], "stride": [3, 1], "offset": 0}
    share.task = types.SimpleNamespace(output_places=[place], output_bytes=512)
    share.outputs = types.SimpleNamespace(memory=memory, size=memory.numel())
    return share.results(0, [at], strides + [0] * (native.MAX_DIMS - len(strides)))[0].tolist()


def test_the_judge_reads_with_the_strides_it_is_told():
    assert judged([3, 1]) == [[0, 1, 2], [3, 4, 5]]
    assert judged([1, 2], at=16) == [[4, 6, 8], [5, 7, 9]]


@pytest.mark.parametrize("strides, at", [([-1, 1], 0), ([60, 2], 0), ([3, 1], 240), ([3, 1], 4), ([2**40, 1], 0)])
def test_the_judge_reads_nothing_outside(strides, at):
    with pytest.raises(lane.OutsideError):
        judged(strides, at)
