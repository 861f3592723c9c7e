"""The official OpenEnv clients, unmodified, and kernel_env over them, against a real server."""

import json
import subprocess
import threading

import pytest

PROTOCOL = ["generic_sync", "generic_async", "errors", "concurrent", "urls", "tool_client", "kernel_env", "harness",
            "trl_tools", "auto_env", "extraction", "models", "provider", "wire"]


@pytest.mark.parametrize("check", PROTOCOL)
def test_protocol(openenv_python, echo_server, check, run_client):
    run_client(openenv_python, check, echo_server.url)


@pytest.mark.parametrize("check", ["pong", "tickets", "timeout", "reconnect", "cut", "too_many"])
def test_slow_judgements(openenv_python, serve, check, run_client):
    server = serve("--runner", "echo", "--echo-delay-ms", "1500", KERNEL_ENV_REPLY_DEADLINE_S="0.6")
    run_client(openenv_python, check, server.url)


def test_many_submissions_are_judged_side_by_side(openenv_python, serve, run_client):
    server = serve("--runner", "echo", "--echo-delay-ms", "1000", "--jobs", "8")
    took = float(run_client(openenv_python, "many", server.url, "8").split()[0])
    assert took < 5, "eight times one second, one after another, would be eight seconds"


def test_a_blocked_event_loop_does_not_lose_the_session(openenv_python, echo_server, run_client):
    run_client(openenv_python, "blocked", echo_server.url, "45")


def test_capacity(openenv_python, serve, run_client):
    server = serve("--runner", "echo", "--max-sessions", "1", KERNEL_ENV_CAPACITY_WAIT_S="1")
    run_client(openenv_python, "capacity", server.url)


def test_a_key_in_the_url(openenv_python, serve, run_client, run_assay, tmp_path):
    keys = tmp_path / "keys"
    key = run_assay("keys", "new", "--name", "me", "--scope", "submit", "--file", keys).stdout.strip()
    server = serve("--runner", "echo", "--api-key-file", str(keys))
    host = f"127.0.0.1:{server.port}"
    run_client(openenv_python, "keyed", f"http://any:{key}@{host}", f"http://any:ak_wrong@{host}")
    assert key not in server.log


def test_telemetry(openenv_python, serve, run_client):
    token = "0123456789abcdef" * 3
    server = serve("--runner", "echo", OPENENV_VALIDATION_TOKEN=token)
    run_client(openenv_python, "telemetry", server.url, token)
    assert token not in server.log


def test_a_killed_server_goes_on_with_its_episodes(openenv_python, serve, run_client, run_assay):
    """Kill -9 in the middle of 64 episodes; after the restart each has exactly its three verdicts."""
    server = serve("--runner", "echo", "--echo-delay-ms", "300", "--jobs", "16")
    killed = server.process

    def revive() -> None:
        killed.wait()
        server.start()

    reviver = threading.Thread(target=revive)
    reviver.start()
    try:
        run_client(openenv_python, "restart", server.url, str(killed.pid), "64", timeout=240)
    except BaseException:
        killed.kill()
        raise
    finally:
        reviver.join()
    assert killed.returncode == -subprocess.signal.SIGKILL
    exported = run_assay("export", "--store", server.store, "--all")
    rows = [json.loads(line) for line in exported.stdout.splitlines()]
    assert len(rows) == len({row["source"] for row in rows}) == 64 * 3
    assert all(row["verdict"] is not None for row in rows)
