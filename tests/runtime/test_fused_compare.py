"""The fused kernels of the numeric rule measure what the tensor operations measure.

They run in Triton's interpreter, in a process of their own: it must be chosen before Triton loads.
"""

import os
import subprocess
import sys

import pytest

pytest.importorskip("triton")

PROGRAM = """
import sys
import torch
from assay.runtime import compare, fused_compare

torch.manual_seed(0)
for n in (5, 33_000):
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        exact = torch.randn(n).double()
        eager = exact.to(dtype)
        y = (eager.float() * (1 + 1e-3 * torch.rand(n))).to(dtype)
        if n > 1000:
            y[7] = float("nan")             # wrong
            eager[9] = y[9] = float("inf")  # overflow, in both
            exact[11] = eager[11] = y[11] = float("nan")
        fused = fused_compare.errors(y, eager, exact, 1e-4, 1e-4)
        plain = compare._errors(y, eager, exact, 1e-4, 1e-4)
        for a, b in zip(fused, plain):
            assert abs(a - b) <= 1e-6 * abs(b), (n, dtype, fused, plain)
        count, total, square = fused_compare.moments(exact)
        finite = exact[torch.isfinite(exact)]
        assert count == finite.numel()
        assert abs(total - float(finite.sum())) < 1e-6 and abs(square - float(finite.square().sum())) < 1e-6 * square
# At the edge of the tolerance, element for element, as torch.allclose takes them one by one.
for tol in (1e-4, 1e-2):
    e = torch.randn(3000) * 10 ** (4 * torch.rand(3000) - 2)
    y = e + (tol + tol * e.abs()) * torch.where(torch.rand(3000) < 0.5, -1, 1) * (1 + 1e-7 * torch.randn(3000))
    special = torch.tensor([0.0, -0.0, float("inf"), float("-inf"), float("nan"), 3e38])
    ys, es = torch.meshgrid(special, special, indexing="ij")
    y, e = torch.cat([y, ys.reshape(-1)]), torch.cat([e, es.reshape(-1)])
    far = sum(not torch.allclose(y[i : i + 1], e[i : i + 1], rtol=tol, atol=tol) for i in range(len(y)))
    assert 500 < far < 2600 and fused_compare.beyond(y, e, tol) == far, (tol, far, fused_compare.beyond(y, e, tol))
print("same")
"""


def test_both_ways_measure_the_same(root):
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(root / "python")}
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=300
    )
    assert result.stdout == "same\n", result.stderr[-3000:]
