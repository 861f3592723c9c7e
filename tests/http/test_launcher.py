"""kernel_env.server.app's `main`, for launchers that want Python: safe unless told otherwise."""

import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from serving import eventually


@pytest.fixture
def launch(assay_bin, root, tmp_path):
    """launch("--option", ..., NAME="value") starts the module as `server` does; the process and a free port."""
    processes = []

    def start(*arguments, code="", **variables):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        app = root / "kernel_env/server/app.py"
        command = ["-c", f"import sys; sys.path.insert(0, {str(app.parent)!r}); import app; {code}"] if code else [app]
        processes.append(subprocess.Popen(
            [sys.executable, *command, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "ASSAY_BIN": str(assay_bin), "XDG_STATE_HOME": str(tmp_path), "PORT": str(port),
                 "KERNEL_ENV_GPUS": "", "KERNEL_ENV_URL": "http://127.0.0.1:1", "KERNEL_ENV_API_KEY": "a client's",
                 **variables}))
        return processes[-1], port

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def answers(port, address="127.0.0.1", path="/healthz"):
    try:
        with urllib.request.urlopen(f"http://{address}:{port}{path}", timeout=5) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


# All of 127/8 is this machine: who listens on 127.0.0.1 alone does not hear the second.
OTHER = "127.0.0.2"


def test_this_machine_alone(launch):
    _, port = launch()
    assert eventually(lambda: answers(port) == 200)
    assert answers(port, OTHER) is None


@pytest.mark.parametrize("how", [{"code": "app.main(host='0.0.0.0')"}, {}])
def test_another_address_is_refused_without_keys(launch, how):
    process, _ = launch(*([] if how else ["--host", "0.0.0.0"]), **how)
    _, log = process.communicate(timeout=30)
    assert process.returncode == 2 and "assay keys new" in log and "--insecure" in log


def test_another_address_by_choice(launch):
    _, port = launch("--host", "0.0.0.0", "--insecure")
    assert eventually(lambda: answers(port, OTHER) == 200)


def test_another_address_with_keys(launch, new_key):
    new_key("me", "submit")
    _, port = launch("--host", "0.0.0.0", KERNEL_ENV_API_KEY_FILE=str(new_key.path))
    assert eventually(lambda: answers(port, OTHER) == 200)
    assert answers(port, OTHER, "/v1/queue") == 401
