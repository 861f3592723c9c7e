"""CUDA inside the sandbox, at the level that the machine reaches. Needs a GPU."""

import glob

import pytest

DEVICES = [path for path in glob.glob("/dev/nvidia*") if not path.endswith("nvidia-caps")]
DEVICES += glob.glob("/dev/nvidia-caps/*")

pytestmark = pytest.mark.skipif(not glob.glob("/dev/nvidia[0-9]*"), reason="no NVIDIA GPU here")


SPEC = {"devices": DEVICES, "more_paths": ["/sys", "/opt"], "max_processes": 4096}


def test_matmul_on_the_gpu(run_inside):
    answer = run_inside(
        """
        import time
        started = time.perf_counter()
        a = torch.ones(512, 512, device="cuda")
        answer["sum"] = (a @ a).sum().item()
        answer["seconds"] = time.perf_counter() - started
        """,
        **SPEC,
    )
    print(answer)
    assert answer["sum"] == 512.0**3


def test_a_triton_kernel_compiles_and_runs(run_inside):
    answer = run_inside(
        """
        import importlib.util, os
        os.environ.update(HOME=os.getcwd(), TMPDIR="/tmp", TRITON_CACHE_DIR="/tmp/triton")
        open("kernel.py", "w").write('''
        import torch, triton, triton.language as tl

        @triton.jit
        def double(x, y, n, block: tl.constexpr):
            at = tl.program_id(0) * block + tl.arange(0, block)
            tl.store(y + at, 2 * tl.load(x + at, at < n), at < n)

        def run(x):
            y = torch.empty_like(x)
            double[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), 256)
            return y
        ''')
        spec = importlib.util.spec_from_file_location("kernel", "kernel.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        answer["sum"] = module.run(torch.ones(1000, device="cuda")).sum().item()
        """,
        **SPEC,
    )
    print(answer)
    assert answer["sum"] == 2000.0
