"""Random outputs and smaller shapes on a GPU, by the judge's own code: the same rules, and what they cost."""

import time

import pytest
import torch

from assay.runtime import chance, stochastic, task

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")]

DROPOUT = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.dropout(x, 0.2, True)


def get_inputs():
    return [torch.randn(16384, 4096)]


def get_init_inputs():
    return []
"""


def test_a_large_dropout_in_less_than_a_second(tmp_path):
    loaded = task.Task(DROPOUT, "Model", "gpu", "cuda", str(tmp_path))
    assert loaded.random == {0}
    lane = chance.Chance(loaded)
    for trial, own in enumerate((lambda x: torch.where(torch.rand_like(x) < 0.2, 0.0, x * 1.25), lambda x: x.clone())):
        loaded.build(trial)
        inputs = loaded.draw(100 + trial)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        lane.begin(inputs, 100 + trial)
        for _ in range(stochastic.draw_counts(loaded.random_elements, loaded.reference_us)[2]):
            lane.add([own(inputs[0])])
        refused = lane.finish()
        seconds = time.perf_counter() - begin
        print(f"trial {trial}: {seconds:.3f} s, {refused}")
        assert (refused is None) == (trial == 0)
        assert seconds < 1.0 or trial == 0, "the first one loads kernels"


def test_a_wild_index_is_not_tried(tmp_path):
    """A table of indices in the model would end the judge's context."""
    source = DROPOUT.replace("def forward(self, x):", (
        'def __init__(self):\n        super().__init__()\n'
        '        self.register_buffer("order", torch.randperm(4096))\n\n    def forward(self, x):'
    )).replace("nn.functional.dropout(x, 0.2, True)", "x[:, self.order]")
    loaded = task.Task(source, "Model", "gpu", "cuda", str(tmp_path))
    assert loaded.jittered() is None
    torch.cuda.synchronize()
