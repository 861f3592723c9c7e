"""The probes that found nothing inside the sandbox do find it outside, and nothing reached the host.

What a probe must not find is in `submissions/isolation`; that its verdict is `correct` is tested with
all other submissions. A probe that could find nothing anywhere would prove nothing: here each one
runs as an ordinary process, beside what it looks for.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine_harness import DEVICE, submissions

PROBES = [s for s in submissions().values() if s.get("outside") == "finds"]

HARNESS = r"""
import importlib.util, json, sys
import torch
results = {}
for path in sys.argv[1:]:
    spec = importlib.util.spec_from_file_location("probe", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    x = torch.arange(-100, 961, dtype=torch.float32)
    results[path] = module.look(x) if module.look.__code__.co_argcount else module.look()
print(json.dumps(results))
"""

# A process that has the key in its environment and in its memory, and the expected output in a file.
NEIGHBOUR = "import os, sys; key = os.environ['KEY'] * 2; print('up', flush=True); sys.stdin.read()"


@pytest.fixture(scope="module")
def found_outside(planted, tmp_path_factory):
    """What each probe finds when it runs as a process of this user."""
    import torch

    folder = tmp_path_factory.mktemp("outside")
    shared = folder / "shared"
    shared.mkdir()
    (shared / "mark").write_text(planted.neighbour)
    x = torch.arange(-100, 961, dtype=torch.float32)
    (shared / "expected").write_bytes(torch.relu(x).numpy().tobytes())
    paths = []
    for probe in PROBES:
        text = probe.source
        for name, value in planted.substitutions.items():
            text = text.replace(f"@{name}@", value)
        paths.append(folder / f"{probe.name}.py")
        paths[-1].write_text(text)
    neighbour = subprocess.Popen([sys.executable, "-c", NEIGHBOUR], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 env={"KEY": planted.key})
    assert neighbour.stdout.readline() == b"up\n"
    try:
        environment = {**os.environ, "PROBE_PIDS": str(neighbour.pid), "PROBE_FOLDERS": str(shared)}
        done = subprocess.run([os.environ["ASSAY_PYTHON"], "-c", HARNESS, *map(str, paths)], env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return {Path(path).stem: found for path, found in json.loads(done.stdout.splitlines()[-1]).items()}
    finally:
        neighbour.kill()
        neighbour.wait()


@pytest.mark.parametrize("name", [probe.name for probe in PROBES])
def test_the_probe_finds_it_outside(name, found_outside, planted):
    found = found_outside[name]
    assert found
    if name == "secret":
        assert any("environ" in entry for entry in found)
        assert any("memory" in entry for entry in found)
    if name == "network":
        assert any(str(planted.server.socket.getsockname()[1]) in entry for entry in found)
        assert any(planted.unique in entry for entry in found)
    if name == "host_files":
        assert str(planted.host_file) in found


@pytest.fixture
def judged(batches):
    names = {s.name for s in batches.wanted}
    if "network" not in names or "writes_system" not in names:
        pytest.skip("the probes were not selected")
    return batches


def test_nobody_called(judged, planted, request):
    before = planted.server.visitors, planted.abstract.visitors
    # The probe outside calls once, whichever test runs first.
    request.getfixturevalue("found_outside")
    called = planted.server.visitors, planted.abstract.visitors
    judged.verdicts("checks")
    assert (planted.server.visitors, planted.abstract.visitors) <= (1, 1), (before, called)
    assert called == (1, 1), "the probe outside did not reach the listeners"


def test_nothing_was_written_to_the_host(judged, planted, root):
    judged.verdicts("checks")
    for folder in (Path("/"), Path("/usr"), Path("/usr/bin"), Path("/etc"), root / "python/assay/runtime"):
        assert not list(folder.glob(f"*{planted.unique}*")), folder
    assert planted.host_file.read_text() == planted.neighbour
    for folder in (Path("/tmp"), Path("/dev/shm"), Path("/var/tmp")):
        for path in folder.glob("*"):
            if path.name in ("mark", "mark.txt", "submission.py") or path.name.startswith("fill-"):
                assert planted.neighbour not in path.read_text(errors="replace"), path


def test_the_level_is_named(judged):
    levels = {v["environment"]["sandbox"] for v in judged.verdicts("checks").values() if "sandbox" in v["environment"]}
    assert levels and levels <= {"none", "limits", "filtered", "isolated", "full"}
    for verdict in judged.verdicts("checks").values():
        if verdict["environment"].get("sandbox") in ("none", "limits", "filtered"):
            assert "sandbox_degraded" in verdict["flags"]


def test_a_level_that_is_not_reached_is_refused(run_assay, tmp_path, judged):
    """With `--require-sandbox full` either it is full, or nothing is judged: never a quiet less."""
    done = run_assay("eval", "--device", DEVICE, "--task", Path(__file__).parent / "tasks/relu.py", "--no-time", "--json",
                     "--require-sandbox", "full", submissions()["torch_relu"].path)
    verdict = json.loads(done.stdout)
    if verdict["environment"]["sandbox"] == "full":
        assert done.returncode == 0 and verdict["status"] == "correct"
    else:
        assert done.returncode == 3 and verdict["status"] == "infra_error"
        assert "sandbox" in verdict["error"]["message"]
