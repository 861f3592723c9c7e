"""What a process says of its own kernels: whose Triton functions are, and why there is no profile."""

import os
import subprocess
import sys
import types

import pytest
from assay.runtime import ghost, native, profiling


def triton_function(file: str, module: str = "submission_1"):
    code = compile("def kernel(): pass", file, "exec")
    scope = {"__name__": module}
    exec(code, scope)
    return types.SimpleNamespace(fn=scope["kernel"], __module__=module)


@pytest.fixture
def folders(monkeypatch):
    monkeypatch.setattr(profiling, "library_folders", ["/opt/venv/lib/python3.12/site-packages/"])
    monkeypatch.setattr(profiling, "own_folder", "/usr/work")


@pytest.mark.parametrize(
    ("file", "module", "library"),
    [
        ("/work/submission_0/submission.py", "submission_1", False),
        ("/work/submission_0/submission.py", "torch_like", False),
        ("/usr/work/submission_0/submission.py", "submission_1", False),
        ("<string>", "submission_1", False),
        ("/opt/venv/lib/python3.12/site-packages/liger_kernel/ops/rms_norm.py", "liger_kernel.ops.rms_norm", True),
        ("/usr/lib/python3/dist-packages/x.py", "x", True),
        ("/work/tmp/torchinductor_root/ab/cab.py", "torch._inductor.runtime.compile_tasks.cab", True),
    ],
)
def test_a_triton_function_belongs_to_where_it_is_written(folders, file, module, library):
    assert profiling.of_library(triton_function(file, module)) is library


def test_what_is_no_triton_function_is_no_librarys(folders):
    for odd in (None, 1, types.SimpleNamespace(fn=None), types.SimpleNamespace(fn=len)):
        assert profiling.of_library(odd) is False


def test_handles_are_found_of_kernels_that_were_launched(folders, monkeypatch):
    class CompiledKernel:
        def __init__(self, function, file, module="submission_1"):
            self.function = function
            self.src = types.SimpleNamespace(fn=triton_function(file, module))

    compiler = types.SimpleNamespace(CompiledKernel=CompiledKernel)
    monkeypatch.setitem(sys.modules, "triton.compiler.compiler", compiler)
    kept = [
        CompiledKernel(11, "/work/submission_0/submission.py"),
        CompiledKernel(None, "/work/submission_0/submission.py"),
        CompiledKernel("text", "/work/submission_0/submission.py"),
        CompiledKernel(21, "/x.py", "torch._inductor.runtime.compile_tasks.c"),
    ]
    own, library = profiling.triton_functions()
    assert (own, library) == ([11], [21])
    del kept
    monkeypatch.setitem(sys.modules, "triton.compiler.compiler", None)
    assert profiling.triton_functions() == ([], [])


def test_a_ghost_skips_own_functions_only(folders, monkeypatch):
    class JITFunction:
        def __init__(self, file):
            self.fn = triton_function(file).fn

        def run(self, *args, grid, warmup):
            return "ran"

    monkeypatch.setitem(sys.modules, "triton.runtime.jit", types.SimpleNamespace(JITFunction=JITFunction))
    monkeypatch.setitem(sys.modules, "triton.runtime.interpreter", None)
    monkeypatch.setattr(ghost, "skipped", 0)
    ghost.install()
    own = JITFunction("/work/submission_0/submission.py")
    assert own.run(1, grid=(1,), warmup=False) is None and ghost.skipped == 1
    assert own.run(1, grid=(1,), warmup=True) is None and ghost.skipped == 1
    assert JITFunction("/usr/lib/x.py").run(grid=(1,), warmup=False) == "ran" and ghost.skipped == 1


@pytest.fixture
def recorded(monkeypatch):
    """What the native side and the module are asked to do, in order."""
    log = []
    monkeypatch.setattr(profiling.torch.cuda, "synchronize", lambda: log.append("sync"))
    monkeypatch.setattr(native, "profile_start", lambda window: log.append(f"start {window}"))
    monkeypatch.setattr(native, "profile_stop", lambda: log.append("stop"))
    monkeypatch.setattr(native, "profile_report", lambda own, library, calls: {"calls": calls})
    return log


def test_nothing_but_the_modules_calls_stands_in_a_window(recorded):
    report = profiling.trace(lambda index: recorded.append(index), 2)
    assert report == {"calls": 2}
    window = ["sync", "start {}", 0, 1, "sync", "stop"]
    attributed, free = ([str(step).format(number) for step in window] for number in (0, 1))
    assert [str(step) for step in recorded] == ["0"] * profiling.WARM_CALLS + attributed + free


def test_a_module_that_fails_ends_its_window(recorded):
    def call(_index):
        if recorded and recorded[-1] == "start 0":
            raise ValueError("in the window")

    with pytest.raises(ValueError):
        profiling.trace(call, 1)
    assert recorded == ["sync", "start 0", "stop"]


PROGRAM = """
import os, sys
sys.path.insert(0, {package!r})
from assay.runtime import native, profiling
native.load({library!r})
profiling.library_folders = {folders!r}
try:
    profiling.attach()
except native.NativeError as error:
    print("refused:", error)
else:
    print("attached")
for call in (lambda: native.profile_start(0), native.profile_stop, lambda: native.profile_report([], [], 1)):
    try:
        call()
    except native.NativeError as error:
        print("then:", error)
"""


def test_without_a_driver_the_reason_is_cuptis_own(root, native_library):
    """The real library, where there is no GPU: it is opened and says why it cannot work."""
    found = [path for path in sys.path if path.endswith("site-packages")]
    program = PROGRAM.format(package=str(root / "python"), library=str(native_library), folders=found)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    if lines[0] == "attached":
        pytest.skip("this machine has a driver")
    assert "libcupti" in lines[0] or "cupti" in lines[0].lower(), lines
    assert all("assay_profile_attach was not called" in line for line in lines[1:]) and len(lines) == 4, lines
