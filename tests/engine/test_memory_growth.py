"""Memory that grows with every new input is reported, and what honest modules keep is not."""

import json
import os

import pytest

DEVICE = os.environ.get("ASSAY_TEST_DEVICE", "cpu")

# On a processor too small for threads, so that a round has many calls on a busy machine too.
TASK = '''
import torch

SIZES = {"cpu": {"n": 160}, "gpu": {"n": 2048}}
n = 160


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(n, n)]


def get_init_inputs():
    return []
'''
HEAD = """
import torch
"""
MEMO = HEAD + """
MEMO = {}


class ModelNew(torch.nn.Module):
    def forward(self, x):
        key = x[0, :64].cpu().numpy().tobytes()
        if key not in MEMO:
            MEMO[key] = torch.relu(x)
        return MEMO[key].view(x.shape)
"""
PLAIN = HEAD + """
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
"""
# A few results in turn, and a log that grows by little.
KEEPS_FEW = HEAD + """
class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.kept, self.log = [], []

    def forward(self, x):
        self.log.append("x" * 1000)
        self.kept = [*self.kept[-7:], torch.relu(x)]
        return self.kept[-1]
"""


@pytest.mark.parametrize("source, grows", [(MEMO, True), (PLAIN, False), (KEEPS_FEW, False)],
                         ids=["memo", "plain", "keeps_few"])
def test_memory_that_grows_is_reported(run_assay, tmp_path, source, grows):
    (tmp_path / "task.py").write_text(TASK)
    (tmp_path / "submission.py").write_text(source)
    done = run_assay("eval", "--device", DEVICE, "--json", "--task", tmp_path / "task.py", tmp_path / "submission.py")
    verdict = json.loads(done.stdout)
    assert verdict["status"] == "correct", verdict["feedback"]
    assert ("memory_grows" in verdict["flags"]) is grows, (verdict["flags"], verdict["timing"])
    growth = verdict["timing"].get("memory_growth_bytes", 0)
    size = 4 * (160 if DEVICE == "cpu" else 2048) ** 2
    assert (0.8 * size <= growth <= 2 * size) if grows else growth == 0, verdict["timing"]
    assert ("Memory grows" in verdict["feedback"]) is grows
