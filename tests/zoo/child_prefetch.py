"""A child process computes results into shared memory while the parent is stopped.

Task: assay/gelu_tanh
Trick: a stop of the main process does not stop its children
Source: own invention, against the start of a round; KernelGYM 7.2 number 21
Device: cpu
Expect: correct|incorrect|rejected_cheat|runtime_error
Twin: twin_gelu
"""

import gc
import os
import sys
import time

import torch


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def slots():
    for thing in gc.get_objects():
        if isinstance(thing, sys.modules["assay.runtime.rounds"].Slots):
            return [values[0] for values in thing.args]


def serve(inputs, results, seen):
    torch.set_num_threads(1)
    with torch.no_grad():
        while True:
            for index, x in enumerate(inputs):
                now = x.view(-1)[-8:].double().sum() + x[0, 0]
                if float(seen[index]) != float(now):
                    results[index].copy_(gelu(x))
                    seen[index] = now
            time.sleep(1e-4)


class ModelNew(torch.nn.Module):
    child = None

    def forward(self, x):
        if ModelNew.child is None:
            ModelNew.inputs = slots()
            ModelNew.places = {y.data_ptr(): i for i, y in enumerate(ModelNew.inputs)}
            ModelNew.results = [torch.empty_like(y).share_memory_() for y in ModelNew.inputs]
            ModelNew.seen = torch.zeros(len(ModelNew.inputs), dtype=torch.float64).share_memory_()
            ModelNew.child = os.fork()
            if ModelNew.child == 0:
                os.closerange(3, 1024)
                serve(ModelNew.inputs, ModelNew.results, ModelNew.seen)
        index = ModelNew.places[x.data_ptr()]
        if float(ModelNew.seen[index]) == float(x.view(-1)[-8:].double().sum() + x[0, 0]):
            return ModelNew.results[index]
        return gelu(x)
