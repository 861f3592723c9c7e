"""Says done before the last calls of a round and computes them until it is stopped.

Task: assay/matvec
Trick: the round is over for the worker, and the results are computed in the time that stopping takes
Source: own invention, against the end of a round's clock on the CPU
Device: cpu
Expect: correct|incorrect|rejected_cheat|runtime_error
Twin: twin_matvec
"""

import sys

import torch

native = sys.modules["assay.runtime.native"]
rounds = sys.modules["assay.runtime.rounds"]
honest_done, honest_calls = native.Control.done, native.Control.calls
LATE = 2  # calls of a round
work, results = [], []
many, count = False, 0


def calls(control):
    global many, count
    count = honest_calls(control)
    many = count > 1
    work.clear()
    return count


def done(control, number, failed):
    honest_done(control, number, failed)
    if many:
        for values, result in work[-LATE:]:
            torch.mv(*values, out=result)


native.Control.calls, native.Control.done = calls, done


class ModelNew(torch.nn.Module):
    def forward(self, a, x):
        if not many:
            return torch.mv(a, x)
        if len(results) == len(work):
            results.append(torch.empty(a.shape[0]))
        work.append(((a, x), results[len(work)]))
        if len(work) <= count - LATE:
            torch.mv(a, x, out=results[len(work) - 1])
        return results[len(work) - 1]
