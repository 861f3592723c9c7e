"""`openenv validate`, which decides whether a server counts as an OpenEnv environment."""

import json
import shutil
import subprocess

import pytest


def validate(python, *arguments):
    return subprocess.run([python.parent / "openenv", "validate", *map(str, arguments)], capture_output=True,
                          text=True, timeout=120)


@pytest.mark.parametrize("mode", ["simulation", "production"])
def test_running_server(openenv_python, serve, mode):
    server = serve("--runner", "echo", KERNEL_ENV_MODE=mode)
    done = validate(openenv_python, "--url", server.url, *json_flag(openenv_python))
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout[done.stdout.index("{"):])
    assert report["passed"] and report["mode"] == mode, report
    assert all(criterion["passed"] for criterion in report["criteria"])


def json_flag(python):
    """Newer releases print text unless asked."""
    return ["--json"] if "--json" in validate(python, "--help").stdout else []


def test_package(openenv_python, tmp_path, root):
    """The package's files are what the validator wants of an environment's folder."""
    if "0.3.0" not in str(openenv_python):
        pytest.skip("newer releases build a container for this, and no container engine runs here")
    copy = tmp_path / "kernel_env"
    shutil.copytree(root / "kernel_env", copy, ignore=shutil.ignore_patterns("__pycache__"))
    done = validate(openenv_python, copy)
    assert done.returncode == 0, done.stdout + done.stderr
