"""A trace function rewrites the locals of the loop of rounds: one call instead of many.

Task: assay/relu
Trick: sys.settrace reaches every frame, and lists are changed in place
Source: own invention, against the loop of rounds
Device: any
Expect: correct|incorrect|rejected_cheat|runtime_error
Twin: twin_relu
"""

import sys

import torch

def tracer(frame, event, argument):
    if frame.f_code.co_name == "_one" and event == "line":
        values = frame.f_locals
        if isinstance(values.get("args"), list) and len(values["args"]) > 1:
            del values["args"][1:]
    return tracer


sys.settrace(tracer)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
