"""Nsight Compute and compute-sanitizer: the way to them with stand-ins for the programs, and, on a GPU,
the programs themselves."""

import json
import os
import re
import shutil
import subprocess
import textwrap

import pytest

from engine_harness import HERE, brief

RELU = HERE / "submissions/honest/torch_relu.py"
LIMIT = "4"

# What each program prints where all is well; the last four arguments are the replay of the submission.
REPLAY = 'n=$#; shift $((n - 4)); "$@" || exit 3\n'
TABLE = '''cat <<'END'
==PROF== Connected to process 3 (/usr/bin/python3)
"ID","Kernel Name","gpu__time_duration.sum","sm__throughput.avg.pct_of_peak_sustained_elapsed","launch__registers_per_thread"
"","","ns","%","register/thread"
"0","relu_kernel","33,120","12.5","42"
END
'''
REPORT = """cat <<'END'
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at relu_kernel+0x170 in /work/submission_0/submission.py:23
=========     by thread (32,0,0) in block (0,0,0)
=========     Access at 0x7f6c1ba00200 is out of bounds
=========
========= ERROR SUMMARY: 1 error
END
"""


@pytest.fixture
def tools(tmp_path, assay_bin):
    """tools(ncu=SCRIPT, sanitizer=SCRIPT, ...): judges with stand-ins; the verdict."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def judge(ncu=None, sanitizer=None, submission=RELU, arguments=(), timeout="60"):
        for name, script in (("ncu", ncu), ("compute-sanitizer", sanitizer)):
            if script is not None:
                (folder / name).write_text("#!/bin/bash\n" + textwrap.dedent(script))
                (folder / name).chmod(0o755)
        for part in (folder, *folder.parents[:3]):
            part.chmod(0o755)
        path = f"{folder}:/usr/local/bin:/usr/bin:/bin"
        done = subprocess.run(
            [assay_bin, "eval", "--device", "cpu", "--json", "--full", "--no-time", "--trials", "1", "--ncu", "--sanitize",
             "--tool-timeout", timeout, "--task", HERE / "tasks/relu.py", *arguments, submission],
            capture_output=True, text=True, timeout=400, check=False,
            env={**os.environ, "PATH": path, "ASSAY_TOOLS_ON_CPU": "1"})
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    return judge


def test_what_the_programs_say_is_in_the_verdict(tools):
    verdict = tools(ncu=REPLAY + TABLE, sanitizer=REPLAY + REPORT)
    assert verdict["status"] == "correct", brief(verdict)
    ncu, sanitizer = verdict["profile"]["ncu"], verdict["sanitizer"]
    assert ncu["note"] is None and sanitizer["note"] is None, (ncu, sanitizer)
    [kernel] = ncu["kernels"]
    assert (kernel["name"], kernel["us"], kernel["registers"]) == ("relu_kernel", 33.12, 42)
    [finding] = sanitizer["findings"]
    assert (finding["file"], finding["line"], finding["kind"]) == ("submission.py", 23, "out_of_bounds")
    assert "0x7f6c" not in json.dumps(verdict["sanitizer"])
    assert "Nsight Compute" in verdict["feedback"] and "line 23" in verdict["feedback"]
    assert {"ncu", "sanitize"} <= verdict["phases_ms"].keys()


def test_programs_that_hang_are_ended_with_all_they_started(tools):
    number = f"9{os.getpid()}"
    verdict = tools(ncu=f"(setsid sleep {number} &) ; sleep {number}", sanitizer=f"trap '' TERM\n{REPORT}\nsleep {number}",
                    timeout=LIMIT)
    assert verdict["status"] == "correct", brief(verdict)
    assert "stopped after 4 s" in verdict["profile"]["ncu"]["note"]
    # What it had found by then is kept.
    assert "stopped after 4 s" in verdict["sanitizer"]["note"] and verdict["sanitizer"]["findings"]
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert f"sleep {number}" not in listed
    assert verdict["phases_ms"]["ncu"] < 60_000


def test_programs_that_flood_and_crash(tools):
    crash = "echo '========= COMPUTE-SANITIZER'\nexec /usr/bin/python3 -c 'import ctypes; ctypes.string_at(0)'"
    verdict = tools(ncu="exec yes '=== flood', ==ERROR==", sanitizer=crash, timeout=LIMIT)
    assert verdict["status"] == "correct", brief(verdict)
    assert "stopped after 4 s" in verdict["profile"]["ncu"]["note"]
    assert "signal 11" in verdict["sanitizer"]["note"]
    assert len(json.dumps(verdict)) < 100_000


def test_programs_that_are_missing_or_refused(tools):
    toolkits = ":".join(f"{home}/bin" for home in (os.environ.get("CUDA_HOME", ""), "/usr/local/cuda") if home)
    if shutil.which("compute-sanitizer", path=f"/usr/local/bin:/usr/bin:/bin:{toolkits}"):
        pytest.skip("this machine has compute-sanitizer where it is always found")
    verdict = tools(ncu=REPLAY + "echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission'; exit 1")
    assert verdict["status"] == "correct", brief(verdict)
    assert "NVreg_RestrictProfilingToAdminUsers=0" in verdict["profile"]["ncu"]["note"]
    assert "neither on PATH" in verdict["sanitizer"]["note"] and "apt-get install" in verdict["sanitizer"]["note"]


LOOKS = """\
#!/usr/bin/python3
import os, pathlib, socket, tempfile
here = pathlib.Path(__file__).parent
said = [(here / "beside").read_text()]
pathlib.Path(os.environ["HOME"], "kept").write_text("x")
tempfile.NamedTemporaryFile(dir=os.environ["TMPDIR"])
listener = socket.create_server(("127.0.0.1", 0))
socket.create_connection(listener.getsockname())
said.append("loopback")
for path in (@SECRET@, "/root/.bashrc", "/proc/1/root/etc/shadow"):
    try:
        said.append(open(path).read() and f"reads {path}")
    except OSError:
        pass
for address in (("127.0.0.1", @PORT@), ("8.8.8.8", 53)):
    try:
        socket.create_connection(address, timeout=2)
        said.append(f"reaches {address}")
    except OSError:
        pass
print("========= COMPUTE-SANITIZER")
print("========= Error: Failed to pretend: " + ", ".join(said))
"""


def test_a_program_has_its_own_files_and_nothing_of_the_host(tools, tmp_path):
    import socket

    secret = tmp_path / "secret"
    secret.write_text("secret")
    secret.chmod(0o644)
    (tmp_path / "bin" / "beside").write_text("beside")
    with socket.create_server(("127.0.0.1", 0)) as host:
        port = host.getsockname()[1]
        looks = LOOKS.replace("@SECRET@", repr(str(secret))).replace("@PORT@", str(port))
        (tmp_path / "bin" / "looks.py").write_text(looks)
        (tmp_path / "bin" / "looks.py").chmod(0o755)
        verdict = tools(ncu="exit 0", sanitizer='exec "$(dirname "$0")/looks.py"')
    note = verdict["sanitizer"]["note"]
    if verdict["environment"]["sandbox"] not in ("isolated", "full"):
        pytest.skip(f"this machine's sandbox reaches {verdict['environment']['sandbox']}: {note}")
    assert note.endswith("Failed to pretend: beside, loopback"), note
    assert "did not run to its end under ncu" in verdict["profile"]["ncu"]["note"]


def test_a_wrong_submission_is_looked_at_too_and_stays_wrong(tools, tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text(RELU.read_text() + "\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n")
    verdict = tools(ncu=TABLE, sanitizer=REPLAY + REPORT, submission=wrong, arguments=("--sanitize=racecheck",))
    assert verdict["status"] == "incorrect" and "profile" not in verdict, brief(verdict)
    assert verdict["sanitizer"]["tool"] == "racecheck" and verdict["sanitizer"]["findings"]
    assert "line 23" in verdict["feedback"]


CLEAN = "echo '========= COMPUTE-SANITIZER'\necho '========= ERROR SUMMARY: 0 errors'\n"


def test_a_clean_report_of_a_run_that_failed_is_none(tools, tmp_path):
    fails = tmp_path / "fails.py"
    fails.write_text("import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n"
                     "        raise ValueError('no luck')\n")
    verdict = tools(sanitizer='n=$#; shift $((n - 4)); "$@"\ncode=$?\n' + CLEAN + "exit $code\n", submission=fails)
    assert verdict["status"] == "runtime_error", brief(verdict)
    sanitizer = verdict["sanitizer"]
    assert sanitizer["errors"] is None and "did not run to its end" in sanitizer["note"], sanitizer
    assert "ValueError: no luck" in sanitizer["note"] and "nothing found" not in verdict["feedback"]


def test_without_a_gpu_there_is_a_note(run_assay):
    done = run_assay("eval", "--device", "cpu", "--json", "--no-time", "--trials", "1", "--ncu", "--sanitize=synccheck", "--task",
                     HERE / "tasks/relu.py", RELU)
    verdict = json.loads(done.stdout)
    assert "needs a GPU" in verdict["profile"]["ncu"]["note"]
    assert verdict["sanitizer"]["tool"] == "synccheck" and "needs a GPU" in verdict["sanitizer"]["note"]


def test_an_unknown_tool_is_wrong_usage(run_assay):
    done = run_assay("eval", "--sanitize=leakcheck", "--task", HERE / "tasks/relu.py", RELU)
    assert done.returncode == 2 and "memcheck" in done.stderr, done


def test_doctor_names_both(run_assay):
    names = {check["name"]: check for check in json.loads(run_assay("doctor", "--json").stdout)["checks"]}
    for tool in ("ncu", "compute-sanitizer"):
        assert names[tool]["state"] == "ok" or "apt-get install" in names[tool]["fix"] or names[tool]["fix"], names[tool]


# What follows runs the programs themselves.

OUT_OF_BOUNDS = '''
import torch
import triton
import triton.language as tl


@triton.jit
def overrun_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, tl.maximum(x, 0.0), mask=at < n + 8)  # <- the line


class ModelNew(torch.nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        overrun_kernel[(triton.cdiv(x.numel() + 8, 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
'''


@pytest.mark.gpu
def test_nsight_compute_looks_at_own_kernels(run_assay):
    if not shutil.which("ncu"):
        pytest.skip("no ncu here")
    verdict = json.loads(run_assay("eval", "--device", "cuda", "--json", "--full", "--ncu", "--task", HERE / "tasks/relu.py",
                                   HERE / "submissions/profile/own_triton.py").stdout)
    assert verdict["status"] == "correct", brief(verdict)
    ncu = verdict["profile"]["ncu"]
    if ncu["note"] and "NVreg" in ncu["note"]:
        pytest.skip(ncu["note"])
    assert ncu["note"] is None, ncu
    own = {kernel["name"] for kernel in verdict["profile"]["kernels"] if kernel["own"]}
    assert {kernel["name"] for kernel in ncu["kernels"]} == own, ncu
    for kernel in ncu["kernels"]:
        for figure in ("us", "compute_pct", "memory_pct", "dram_pct", "occupancy_pct", "occupancy_most_pct", "registers"):
            assert kernel[figure] is not None and kernel[figure] >= 0, kernel
        assert kernel["stalls"], kernel


@pytest.mark.gpu
@pytest.mark.parametrize("tool", ["memcheck", "racecheck", "initcheck", "synccheck"])
def test_compute_sanitizer_has_nothing_against_a_sound_kernel(run_assay, tool):
    if not shutil.which("compute-sanitizer"):
        pytest.skip("no compute-sanitizer here")
    verdict = json.loads(run_assay("eval", "--device", "cuda", "--json", "--full", "--no-time", f"--sanitize={tool}", "--task",
                                   HERE / "tasks/relu.py", HERE / "submissions/profile/own_triton.py").stdout)
    report = verdict["sanitizer"]
    assert verdict["status"] == "correct" and report["note"] is None, (brief(verdict), report)
    assert report["findings"] == [] and report["errors"] == 0, report


@pytest.mark.gpu
def test_compute_sanitizer_names_the_line_of_an_overrun(run_assay, tmp_path):
    if not shutil.which("compute-sanitizer"):
        pytest.skip("no compute-sanitizer here")
    (tmp_path / "overrun.py").write_text(OUT_OF_BOUNDS)
    [line] = [i for i, text in enumerate(OUT_OF_BOUNDS.splitlines(), 1) if "<- the line" in text]
    verdict = json.loads(run_assay("eval", "--device", "cuda", "--json", "--full", "--no-time", "--sanitize", "--task",
                                   HERE / "tasks/relu.py", tmp_path / "overrun.py").stdout)
    report = verdict["sanitizer"]
    found = [f for f in report["findings"] if f["kind"] == "out_of_bounds" and f["kernel"] == "overrun_kernel"]
    assert found and found[0]["line"] == line and found[0]["file"] == "submission.py", report
    assert not re.search(r"0x[0-9a-f]{4}", json.dumps(report)), report
