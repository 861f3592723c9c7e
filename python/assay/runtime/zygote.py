"""The zygote: a process that has imported torch and Triton, has no CUDA context, and forks.

Start: ``python -c "from assay.runtime import zygote; zygote.main(FD, CONFIG)"``. It runs no task
and no submission, holds no secret, and stays single-threaded so that forking it is safe.

    zygote --fork--> stem: leaves the namespaces, forks, reports the number, ends
                       `--fork--> judge | reference | candidate, adopted by the worker
"""

import ctypes
import gc
import importlib.metadata
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from . import native
from .channel import Channel, Closed


def main(channel_fd: int, config_text: str) -> None:
    config = json.loads(config_text)
    native.load(config["native"])
    channel = Channel(channel_fd)
    try:
        hello = _prepare(config)
    except Exception:
        channel.send({"event": "failed", "error": traceback.format_exc()[-4000:]})
        return
    channel.send({"event": "ready", **hello})
    while True:
        try:
            request, fds = channel.receive()
        except Closed:
            return
        reply = _fork(channel, config, request, fds)
        for fd in fds:
            os.close(fd)
        channel.send(reply)


def _prepare(config: dict) -> dict:
    """Imports what candidates need, compiles the warm-up kernel, and says what this Python is."""
    import torch

    if config["device"] != "cpu":
        # The worker leaves one card visible. Counting through NVML, as torch does, costs each child its
        # driver's lock, and a child that inherits the library reads whatever its closed descriptors are now.
        torch.cuda._cached_device_count = 1
    import torch.utils.cpp_extension

    from . import candidate, judge, profiling, tool  # imported here so that every child has them

    triton_version = ""
    try:
        import triton
        import triton.compiler

        triton_version = triton.__version__
        if config["capability"]:
            from . import launcher_build, warm_kernel

            os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp(prefix="assay-triton-")
            try:
                launcher_build.install(config["tools"])
            except (OSError, subprocess.SubprocessError):
                pass  # Triton builds launchers as it always does, only slower
            warm_kernel.compile_ahead(config["capability"])
            config["triton_seed"] = _files_below(os.environ["TRITON_CACHE_DIR"])
            shutil.rmtree(os.environ.pop("TRITON_CACHE_DIR"), ignore_errors=True)
    except ImportError:
        pass
    try:
        import numpy.random  # noqa: F401  seeded with the others once it is there; a third of a second
    except ImportError:
        pass
    _choose_vector_code(torch)
    torch.set_num_threads(config["threads"])
    if torch.cuda.is_initialized():
        raise RuntimeError("importing torch initialised CUDA; a zygote must not")
    paths = [*_readable_paths(), config["tools"]]
    profiling.library_folders = paths
    gc.collect()
    gc.freeze()
    return {
        "torch": torch.__version__,
        "triton": triton_version,
        "cuda": torch.version.cuda or "",
        "python": sys.version.split()[0],
        "cuda_home": torch.utils.cpp_extension.CUDA_HOME or "",
        "paths": paths,
    }


def _readable_paths() -> list[str]:
    """Folders that this interpreter and its packages live in; a candidate may read them."""
    paths = {sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(os.path.realpath(sys.executable))}
    paths.update(path for path in sys.path if path and os.path.isdir(path))
    for entry in importlib.metadata.distributions():
        paths.add(str(entry.locate_file("")))
    return sorted({os.path.realpath(path) for path in paths} | {os.path.abspath(path) for path in paths})


def _fork(channel: Channel, config: dict, request: dict, fds: list[int]) -> dict:
    """Forks a stem that forks the wanted process; returns its number and the sandbox's report."""
    read_end, write_end = os.pipe()
    stem = os.fork()
    if stem == 0:
        status = 1
        try:
            channel.close()
            os.close(read_end)
            status = _stem(config, request, fds, write_end)
        except BaseException:
            os.write(write_end, json.dumps({"error": traceback.format_exc()[-3000:]}).encode())
        finally:
            os._exit(status)
    os.close(write_end)
    text = b""
    while part := os.read(read_end, 65536):
        text += part
    os.close(read_end)
    os.waitpid(stem, 0)
    try:
        return json.loads(text)
    except ValueError:
        return {"error": "the forked process ended before it could report"}


def _stem(config: dict, request: dict, fds: list[int], report_fd: int) -> int:
    sandbox = request.get("sandbox")
    report = native.sandbox_unshare(sandbox) if sandbox else {}
    stem = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.close(report_fd)
        status = 1
        try:
            _run(config, request, fds, report, stem)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.write(report_fd, json.dumps({"pid": pid}).encode())
    return 0


VECTOR_FUNCTIONS = (
    "acos", "asin", "atan", "cos", "cosh", "erf", "erfc", "erfinv", "exp", "expm1", "lgamma", "log", "log10", "log1p",
    "log2", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip


def _choose_vector_code(torch) -> None:
    """Calls each function of torch's library of vector mathematics once, in one thread. The library sets
    itself up in first calls; a process whose first ``tanh`` was made by two threads at once has been seen to
    compute it to 16 bits for the rest of its life. What is forked from here is set up."""
    for dtype in (torch.float32, torch.float64):
        x = torch.full((8,), 0.5, dtype=dtype)
        for name in VECTOR_FUNCTIONS:
            getattr(torch, name)(x)


def _run(config: dict, request: dict, fds: list[int], report: dict, stem: int) -> None:
    """Becomes the judge, the reference or a candidate. ``fds``: channel, control, stdout, stderr."""
    channel_fd, control_fd, out_fd, err_fd = fds
    null = os.open("/dev/null", os.O_RDONLY)
    for source, target in ((null, 0), (out_fd, 1), (err_fd, 2)):
        os.dup2(source, target)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ.update(request["env"])
    import torch

    if request.get("sandbox"):
        report = native.sandbox_confine(request["sandbox"], [0, 1, 2, channel_fd, control_fd], report)
        work_dir = report["work_dir"]
        os.environ["HOME"] = work_dir
    else:
        os.setsid()
        _die_with_worker(stem)
        _close_all_but({0, 1, 2, channel_fd, control_fd})
        work_dir = tempfile.mkdtemp(prefix="assay-")
    for name, folder in (("TMPDIR", "tmp"), ("TORCH_EXTENSIONS_DIR", "extensions"), ("TRITON_CACHE_DIR", "triton")):
        os.environ[name] = os.path.join(work_dir, folder)
        os.makedirs(os.environ[name], exist_ok=True)
    for path, content in config.get("triton_seed", {}).items():
        target = os.path.join(os.environ["TRITON_CACHE_DIR"], path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(content)

    tempfile.tempdir = None  # chosen again from TMPDIR
    torch.set_num_threads(config["threads"])
    # A folder of the host (there is no private root) is the worker's to remove.
    hello = {"sandbox": report, "remove": "" if report.get("private_root") else work_dir}
    if request["role"] == "judge":
        from . import judge

        judge.main(channel_fd, control_fd, config["device"], work_dir)
    elif request["role"] == "tool":
        from . import tool

        os.close(control_fd)
        tool.main(channel_fd, config["device"], work_dir, hello)
    else:
        from . import candidate

        candidate.main(channel_fd, control_fd, config["device"], work_dir, hello)


def _die_with_worker(stem: int) -> None:
    """A trusted process may stand stopped when the worker dies: the kernel must end it. The order
    holds for the process that is the parent now, so it waits until the stem has gone."""
    while os.getppid() == stem:
        time.sleep(0.001)
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _files_below(folder: str) -> dict[str, bytes]:
    """What a child's own Triton cache starts with; held in memory, for the sandbox hides the folder."""
    found = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found


def _close_all_but(kept: set[int]) -> None:
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            try:
                os.close(int(name))
            except OSError:
                pass  # the descriptor that listed the folder
