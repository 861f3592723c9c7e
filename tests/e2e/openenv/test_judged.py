"""Real judgements, on the CPU: verdicts count, times do not."""

import subprocess
import sys
import json
import urllib.request

import pytest


def step(url, **action):
    request = urllib.request.Request(url + "/step", json.dumps({"action": action}).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as response:
        return json.load(response)


def test_smoke_example(openenv_python, cpu_server, root):
    done = subprocess.run([openenv_python, root / "examples/client_smoke.py", "--url", cpu_server.url],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "relu.py is correct" in done.stdout and "All checks passed" in done.stdout


def test_smoke_example_fails_where_it_must(openenv_python, root):
    done = subprocess.run([openenv_python, root / "examples/client_smoke.py", "--url", "http://127.0.0.1:9"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "does not answer" in done.stdout


WRONG = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, x, mask=offsets < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 65536),)](x, y, x.numel(), BLOCK=65536)
        return y
"""


def test_a_wrong_kernel_is_an_observation(cpu_server):
    reply = step(cpu_server.url, task_id="assay/relu", code=WRONG)
    seen = reply["observation"]
    assert seen["status"] == "incorrect" and reply["reward"] == 0 and not seen["masked"]
    assert seen["correctness"]["trials"] > 0 and "Incorrect" in seen["feedback"]


@pytest.mark.parametrize("mode, paid", [("correctness", 1.0), ("tiers", None)])
def test_another_reward_mode(serve, mode, paid, root):
    server = serve("--device", "cpu", KERNEL_ENV_REWARD=mode, KERNEL_ENV_REWARD_PARAMETERS='{}')
    reply = step(server.url, task_id="assay/relu", code=(root / "examples/relu.py").read_text())
    assert reply["observation"]["correct"]
    if paid is None:  # its times mean nothing here, so there is no reward by time
        assert reply["observation"]["masked"] and reply["reward"] == 0
    else:
        assert reply["reward"] == paid and not reply["observation"]["masked"]


def test_unknown_variables_stop_the_start(assay_bin):
    done = subprocess.run([assay_bin, "serve", "--port", "0"], capture_output=True, text=True, timeout=60,
                          env={"PATH": "/usr/bin:/bin", "HOME": "/tmp", "KERNEL_ENV_MAX_TRUNS": "3"})
    assert done.returncode != 0 and "KERNEL_ENV_MAX_TURNS" in done.stderr
