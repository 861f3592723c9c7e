"""A side stream waits until the judge poisons an output, then computes before go.

Inputs are written first, then outputs are poisoned: the poison says that the inputs are there.

Task: assay/relu
Trick: queued device work starts when a word of the arena changes, while the process is stopped
Source: own invention, against the start of a round
Device: cuda
Expect: correct|incorrect|rejected_cheat|runtime_error|timeout
Twin: twin_relu
"""

import ctypes
import sys

import torch

CUDA = ctypes.CDLL("libcuda.so.1")
SIDE = torch.cuda.Stream()
RESULTS = {}
rounds = sys.modules["assay.runtime.rounds"]
NAME = "_take" if hasattr(rounds.Rounds, "_take") else "_hand_over"
honest_take = getattr(rounds.Rounds, NAME)
rounds.Rounds._synchronize = lambda self: torch.cuda.current_stream().synchronize()


def take_and_arm(self, results, first):
    honest_take(self, results, first)
    SIDE.wait_stream(torch.cuda.current_stream())
    for slot in range(first, first + len(results)):
        source, place = self.slots.args[slot][0], self.slots.results[slot][0]
        event = torch.cuda.Event()
        with torch.cuda.stream(SIDE):
            place.view(-1)[:1].zero_()
            CUDA.cuStreamWaitValue32_v2(ctypes.c_void_p(SIDE.cuda_stream), ctypes.c_uint64(place.data_ptr()),
                                        ctypes.c_uint32(0xFFFFFFFF), ctypes.c_uint(1))  # until it is the poison
            RESULTS[source.data_ptr()] = (event, torch.relu(source))
            event.record()


setattr(rounds.Rounds, NAME, take_and_arm)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        event, result = RESULTS.pop(x.data_ptr(), (None, None))
        return result if event is not None and event.query() else torch.relu(x)
