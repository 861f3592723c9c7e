"""Enters the sandbox from Python with torch imported, as a zygote's child does.

Needs the built `libassay_sandbox_c.so`: its build folder in ASSAY_BUILD_DIR, or any under build/.
"""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def sandbox_library() -> pathlib.Path:
    builds = [pathlib.Path(os.environ["ASSAY_BUILD_DIR"])] if "ASSAY_BUILD_DIR" in os.environ \
        else sorted((ROOT / "build").glob("*"))
    found = [path for build in builds for path in build.glob("lib/libassay_sandbox_c.so")]
    if not found:
        pytest.skip("libassay_sandbox_c.so is not built: ninja -C build/<dir> assay_sandbox_c")
    return max(found, key=lambda path: path.stat().st_mtime)


# Runs as the worker and the zygote in one: imports torch, forks the stem, adopts the candidate.
HARNESS = textwrap.dedent(
    '''
    import ctypes, json, os, sys, time, traceback
    sandbox = ctypes.CDLL(sys.argv[1])
    spec = sys.argv[2].encode()
    body = sys.argv[3]
    import torch
    torch.ones(64, 64) @ torch.ones(64, 64)   # the parent has its thread pool
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)   # PR_SET_CHILD_SUBREAPER
    results_in, results_out = os.pipe()
    if os.fork() == 0:
        report = ctypes.create_string_buffer(16384)
        started = time.perf_counter()
        assert sandbox.assay_sandbox_unshare(spec, report, len(report)) == 0, report.value
        unshare_ms = 1e3 * (time.perf_counter() - started)
        if os.fork() == 0:
            try:
                keep = (ctypes.c_int * 4)(0, 1, 2, results_out)
                # The stem's end is not part of what Confine() costs.
                time.sleep(0.05)
                started = time.perf_counter()
                code = sandbox.assay_sandbox_confine(spec, keep, 4, report, len(report))
                confine_ms = 1e3 * (time.perf_counter() - started)
                assert code == 0, report.value
                answer = {"report": json.loads(report.value), "unshare_ms": unshare_ms,
                          "confine_ms": confine_ms}
                scope = {"torch": torch, "answer": answer}
                try:
                    exec(body, scope)
                except BaseException:
                    answer["error"] = traceback.format_exc()
                os.write(results_out, json.dumps(answer).encode())
            finally:
                os._exit(0)
        os._exit(0)
    os.close(results_out)
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    print(os.read(results_in, 1 << 20).decode())
    '''
)


def spec(**changes) -> dict:
    paths = ["/usr", "/lib", "/lib64", "/bin", "/etc/alternatives", sys.prefix, sys.base_prefix]
    paths += changes.pop("more_paths", [])
    return {"read_only": paths, "uid": 64321, **changes}


@pytest.fixture
def run_inside(sandbox_library):
    """run_inside(body, **spec changes): what `body` put into `answer`, and the sandbox's report."""

    def run(body: str, **changes) -> dict:
        done = subprocess.run(
            [sys.executable, "-c", HARNESS, str(sandbox_library), json.dumps(spec(**changes)),
             textwrap.dedent(body)],
            capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0 and done.stdout.strip(), done.stderr
        answer = json.loads(done.stdout)
        assert "error" not in answer, answer["error"]
        return answer

    return run
