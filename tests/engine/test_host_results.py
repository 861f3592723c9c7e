"""On the CPU results of timed rounds are read out of the stopped process, or copied where that is refused."""

import ctypes
import errno
import json
import os
import struct

import pytest

pytestmark = pytest.mark.skipif(os.environ.get("ASSAY_TEST_DEVICE", "cpu") != "cpu", reason="for the CPU only")

# Results that are read where they stand, and one with gaps, which is copied.
SUBMISSION = """
import torch

CALLS = []


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return {result}
"""
RESULTS = {
    "dense": "torch.relu(x)",
    "transposed": "torch.relu(x.t().contiguous()).t()",
    "gaps": "torch.relu(torch.cat([x, x], 1))[:, : x.shape[1]]",
    "wrong": "torch.relu(x).mul_(1 + (CALLS.append(0) or len(CALLS)) // 12)",  # from its twelfth call
}
PROCESS_VM_READV = 310  # on x86-64


def refuse_process_vm_readv():
    """A seccomp filter as a container's: errno EPERM for that call, all others are allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    load, equal, give = 0x20, 0x15, 0x06
    program = b"".join(struct.pack("HBBI", *line) for line in (
        (load, 0, 0, 0), (equal, 0, 1, PROCESS_VM_READV), (give, 0, 0, 0x00050000 | errno.EPERM), (give, 0, 0, 0x7FFF0000)))  # fmt: skip
    code = ctypes.create_string_buffer(program, len(program))
    filters = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(code)))
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, filters, 0, 0) == 0


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("refused", [False, True], ids=["read", "copied"])
def test_timed_results_are_verified(run_assay, tmp_path, result, refused):
    path = tmp_path / "submission.py"
    path.write_text(SUBMISSION.format(result=RESULTS[result]))
    options = {"preexec_fn": refuse_process_vm_readv} if refused else {}
    done = run_assay("eval", "--task", "assay/relu", "--device", "cpu", "--json", path, **options)
    verdict = json.loads(done.stdout)
    assert verdict["status"] == ("incorrect" if result == "wrong" else "correct"), verdict["error"]
    if result == "wrong":
        assert verdict["error"]["name"] == "timed_output"
        return
    timing = verdict["timing"]
    assert timing["method"] == "rounds/host-clock" + ("/copied" if refused else "")
    assert timing["rounds_verified"] > 0 and "output_reused" not in verdict["flags"]
