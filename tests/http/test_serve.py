"""`assay serve` from outside: start, status, drain, limits on the wire."""

import json
import os
import re
import subprocess
import sys
import threading
import time

import pytest

from serving import SUBMISSION, TERM, Client, close_code, eventually


def test_ready_line_and_status(serve):
    server = serve("--kernelgym-port", 0)
    assert server.ready["ready"] is True and server.ready["workers"] == ["echo"]
    assert server.request("GET", "/healthz")[0] == 200
    assert server.request("GET", "/readyz")[0] == 200
    assert json.loads(server.request("GET", "/health")[2])["status"] == "healthy"
    status, fields, text = server.request("GET", "/metrics")
    assert status == 200 and fields["content-type"].startswith("text/plain; version=0.0.4")
    assert "assay_http_connections" in text
    with Client(server.ready["kernelgym_port"]) as client:
        assert client.request("GET", "/health")[0] == 200


def test_every_route_that_can_be_read_answers(serve):
    """Those that a document lists, and the pages that none does."""
    server = serve()
    paths = ["/", "/docs", "/redoc", "/web/"]
    for document in ("/openapi.json", "/v1/openapi.json"):
        listed = json.loads(server.request("GET", document)[2])["paths"]
        paths += [path for path, item in listed.items() if "get" in item]
    assert len(paths) > 20
    for path in paths:
        if path.endswith(("/events", "/mcp")):  # streams
            continue
        assert server.request("GET", re.sub(r"{[^}]*}", "x", path))[0] < 500, path
    assert server.request("GET", "/healthz")[0] == 200


@pytest.mark.parametrize("arguments, words", [
    (["--host", "0.0.0.0"], ["assay keys new", "--insecure"]),
    (["--tls-cert", "x.pem"], ["--tls-key"]),
    (["--api-key-file", "/nonexistent"], ["/nonexistent"]),
    (["--api-key-file", "/dev/null"], ["assay keys new"]),
    (["--tasks", "/nonexistent"], ["/nonexistent"]),
    (["--host", "not a host"], ["not a host"]),
])
def test_wrong_use_says_what_to_do(run_assay, tmp_path, arguments, words):
    result = run_assay("serve", "--port", 0, "--runner", "echo", "--store", tmp_path / "s.db", *arguments)
    assert result.returncode == 2, result.stderr
    for word in words:
        assert word in result.stderr


def test_unknown_environment_variables_stop_the_start(run_assay, tmp_path):
    result = run_assay("serve", "--port", 0, "--runner", "echo", "--store", tmp_path / "s.db",
                       env={**os.environ, "KERNEL_ENV_MAX_TURN": "3"})
    assert result.returncode == 2
    assert "KERNEL_ENV_MAX_TURNS" in result.stderr


def test_a_split_that_is_not_served_stops_the_start(run_assay, serve, tmp_path):
    result = run_assay("serve", "--port", 0, "--runner", "echo", "--store", tmp_path / "s.db",
                       env={**os.environ, "KERNEL_ENV_SPLIT": "foo"}, timeout=20)
    assert result.returncode == 2
    assert "KERNEL_ENV_SPLIT: no split 'foo'; there is: train, assay" in result.stderr
    assert serve(env={"KERNEL_ENV_SPLIT": "assay"}).request("POST", "/reset", {"seed": 1})[0] == 200


def test_kernelgym_is_at_one_place(serve, run_assay):
    """--help says where it is once it has a port of its own."""
    server = serve("--kernelgym-port", 0)
    assert server.request("GET", "/kernelgym/health")[0] == 404
    assert "/kernelgym unless --kernelgym-port" in " ".join(run_assay("serve", "--help").stdout.split())


def test_the_interpreter_is_the_one_that_was_named(run_assay, tmp_path):
    for arguments, env in ([], {"ASSAY_PYTHON": "/nonexistent/python"}), (["--python", "/nonexistent/python"], {}):
        result = run_assay("serve", "--port", 0, "--device", "cpu", "--store", tmp_path / "s.db", *arguments,
                           env={**os.environ, **env})
        assert result.returncode == 2 and "/nonexistent/python" in result.stderr


def test_one_id_names_a_request_in_every_line(serve):
    server = serve("--log-json", "--jobs", 1)
    status, _, _ = server.request("POST", "/v1/submissions?wait=10", SUBMISSION,
                                  {"X-Request-ID": "the-request"})
    assert status == 200
    assert server.request("POST", "/step", {"action": {"task_id": "assay/relu", "code": "x = 1"}},
                          {"X-Request-ID": "another"})[0] == 200

    def said(request):
        lines = [json.loads(line) for line in server.log().splitlines()]
        return [line["message"] for line in lines if line.get("request") == request]

    for request, path in [("the-request", "/v1/submissions"), ("another", "/step")]:
        assert eventually(lambda request=request: len(said(request)) == 4)
        text = "\n".join(said(request))
        assert f'path="{path}"' in text and "request=" not in text
        for word in ("accepted", "delivered", "done"):
            assert f" {word} " in text


def test_the_command_line_goes_before_the_environment(serve):
    server = serve("--jobs", 5, env={"KERNEL_ENV_COMPILE_WORKERS": "2"})
    assert json.loads(server.request("GET", "/v1/workers")[2])["workers"][0]["jobs"] == 5


def test_a_port_in_use(serve, run_assay, tmp_path):
    server = serve()
    result = run_assay("serve", "--port", server.port, "--runner", "echo", "--store", tmp_path / "2.db")
    assert result.returncode == 3
    assert "in use" in result.stderr


def test_two_servers_on_one_store(serve, run_assay, tmp_path):
    serve()
    result = run_assay("serve", "--port", 0, "--runner", "echo", "--store", tmp_path / "store.db")
    assert result.returncode == 3, result.stderr


def test_drain_finishes_what_has_begun(serve):
    server = serve("--echo-delay-ms", 1500)
    answers = []

    def submit():
        answers.append(server.request("POST", "/v1/submissions?wait=20", SUBMISSION))

    idle = Client(server.port)
    assert idle.request("GET", "/healthz")[0] == 200
    socket = Client(server.port)
    assert socket.upgrade() == 101
    thread = threading.Thread(target=submit)
    thread.start()
    assert eventually(lambda: json.loads(server.request("GET", "/v1/queue")[2])["running"] == 1)
    server.signal(TERM)
    opcode, payload = socket.read_frame()
    assert (opcode, close_code(payload)) == (8, 1012)
    socket.frame(8, payload[:2])
    assert idle.rest() == b""
    with pytest.raises(OSError):
        for _ in range(100):
            Client(server.port, timeout=1).sock.close()
            time.sleep(0.02)
    thread.join()
    assert answers[0][0] == 200
    assert server.wait() == 0


def test_drain_answers_the_step_in_work_before_it_closes(serve):
    server = serve("--echo-delay-ms", 1500)
    socket = Client(server.port)
    assert socket.upgrade() == 101
    socket.ask({"type": "reset", "data": {"task_id": "assay/relu"}})
    socket.frame(1, json.dumps({"type": "step", "data": {"code": "class ModelNew: pass"}}).encode())
    assert eventually(lambda: json.loads(server.request("GET", "/v1/queue")[2])["running"] == 1)
    server.signal(TERM)
    opcode, payload = socket.read_frame()
    assert opcode == 1, f"closed with {close_code(payload)} before the answer"
    assert json.loads(payload)["data"]["observation"]["turn"] == 1
    opcode, payload = socket.read_frame()
    assert (opcode, close_code(payload)) == (8, 1012)


def test_drain_gives_a_ticket_for_the_step_that_waits(serve):
    server = serve("--echo-delay-ms", 4000, "--jobs", 1)
    sockets = [Client(server.port), Client(server.port)]
    for running, socket in enumerate(sockets):
        assert socket.upgrade() == 101
        socket.ask({"type": "reset", "data": {"task_id": "assay/relu"}})
        code = f"class ModelNew: pass  # {running}"
        socket.frame(1, json.dumps({"type": "step", "data": {"code": code}}).encode())
        depth = {"running": 1, "queued": running}
        assert eventually(lambda: depth.items() <= json.loads(server.request("GET", "/v1/queue")[2]).items())
    started = time.monotonic()
    server.signal(TERM)
    waits = json.loads(sockets[1].read_frame()[1])["data"]["observation"]
    assert waits["status"] == "queued" and waits["ticket"] and "restart" in waits["feedback"]
    assert time.monotonic() - started < 3.5, "before the other one was judged"
    assert json.loads(sockets[0].read_frame()[1])["data"]["observation"]["status"] != "queued"
    for socket in sockets:
        opcode, payload = socket.read_frame()
        assert (opcode, close_code(payload)) == (8, 1012)
        socket.frame(8, payload[:2])
    assert server.wait() == 0 and time.monotonic() - started < 15


def test_a_second_signal_stops_at_once_and_loses_nothing(serve, tmp_path):
    store = tmp_path / "kept.db"
    server = serve("--echo-delay-ms", 60_000, store=store)
    status, _, text = server.request("POST", "/v1/submissions", SUBMISSION)
    assert status == 202
    job = json.loads(text)["id"]
    assert eventually(lambda: json.loads(server.request("GET", "/v1/queue")[2])["running"] == 1)
    server.signal(TERM)
    time.sleep(0.5)
    assert server.process.poll() is None
    server.signal(TERM)
    assert server.wait(10) == 0
    again = serve(store=store)
    status, _, text = again.request("GET", f"/v1/submissions/{job}?wait=20")
    assert status == 200 and json.loads(text)["state"] == "done"


def test_kill_9_in_the_middle_of_64_submissions(serve, tmp_path):
    store = tmp_path / "killed.db"
    server = serve("--echo-delay-ms", 30, store=store)
    ids = []
    for i in range(64):
        status, _, text = server.request("POST", "/v1/submissions", {**SUBMISSION, "id": f"job-{i}"})
        assert status in (200, 202)
        ids.append(json.loads(text)["id"])
    server.process.kill()
    server.wait()
    again = serve(store=store)
    for job in ids:
        status, _, text = again.request("GET", f"/v1/submissions/{job}?wait=30")
        assert status == 200, text
        assert json.loads(text)["verdict"]["status"]
    listed = json.loads(again.request("GET", "/v1/submissions?limit=200")[2])["submissions"]
    assert sorted(job["id"] for job in listed) == sorted(ids)


def test_pipelined_requests(serve):
    server = serve()
    with Client(server.port) as client:
        one = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        client.send(one * 50 + b"GET /nope HTTP/1.1\r\nHost: localhost\r\n\r\n" + one)
        assert [client.response()[0] for _ in range(52)] == [200] * 50 + [404, 200]


def test_oversize_bodies_and_frames(serve):
    server = serve("--max-body", "100KB", "--max-message", "100KB")
    status, _, text = server.request("POST", "/v1/submissions", b"x" * 200_000)
    assert status == 413 and "bytes at most" in text
    with Client(server.port) as client:
        assert client.upgrade() == 101
        client.frame(1, b"x" * 200_000)
        opcode, payload = client.read_frame()
        assert (opcode, close_code(payload)) == (8, 1009)
        assert b"bytes at most" in payload


def test_bodies_that_nobody_needs_so_large(serve):
    server = serve()
    status, _, text = server.request("POST", "/v1/rewards", b'{"verdict": {}}' + b" " * (1 << 20))
    assert status == 413 and "1048576" in text
    started = time.monotonic()
    assert server.request("POST", "/v1/batches", b"\n" * (15 << 20))[0] == 400
    assert time.monotonic() - started < 5


def test_invalid_utf8(serve):
    server = serve()
    with Client(server.port) as client:
        client.send(b"GET /%ff%fe HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.response()[0] == 400
    status, _, text = server.request("POST", "/v1/submissions", b'{"source": "\xff\xfe"}')
    assert status == 400, text
    with Client(server.port) as client:
        client.upgrade()
        client.frame(1, b'{"type": "\xff"}')
        opcode, payload = client.read_frame()
        assert (opcode, close_code(payload)) == (8, 1007)


def test_fragments_with_a_ping_between(serve):
    server = serve()
    with Client(server.port) as client:
        client.upgrade()
        client.frame(1, b'{"type": ', fin=False)
        client.frame(9, b"mid")
        client.frame(0, b'"sta', fin=False)
        client.frame(0, b'te"}')
        assert client.read_frame() == (10, b"mid")
        opcode, payload = client.read_frame()
        assert opcode == 1 and json.loads(payload)["type"] == "state"


def test_pong_within_a_second_while_a_step_runs(serve):
    server = serve("--echo-delay-ms", 3000)
    with Client(server.port) as client:
        client.upgrade()
        assert client.ask({"type": "reset", "data": {"task_id": "assay/relu"}})["type"] == "observation"
        client.frame(1, json.dumps({"type": "step", "data": {"code": "x = 1"}}).encode())
        time.sleep(0.3)
        start = time.monotonic()
        client.frame(9, b"alive?")
        assert client.read_frame() == (10, b"alive?")
        assert time.monotonic() - start < 1
        opcode, payload = client.read_frame()
        assert opcode == 1 and json.loads(payload)["type"] == "observation"


def test_32_episodes_at_once(serve):
    server = serve("--jobs", 8)
    failures = []

    def episode():
        try:
            with Client(server.port) as client:
                assert client.upgrade() == 101
                assert client.ask({"type": "reset", "data": {"task_id": "assay/relu"}})["type"] == "observation"
                for _ in range(3):
                    reply = client.ask({"type": "step", "data": {"code": "x = 1"}})
                    assert reply["type"] == "observation", reply
                assert client.ask({"type": "state"})["type"] == "state"
        except Exception as error:  # a thread's assertion would be lost
            failures.append(repr(error))

    threads = [threading.Thread(target=episode) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_logs_are_json_and_carry_the_request_id(serve):
    server = serve("--log-json")
    server.request("GET", "/healthz", headers={"X-Request-ID": "find-me-7"})
    assert eventually(lambda: "find-me-7" in server.log())
    for line in server.log().splitlines():
        assert {"time", "level", "message"} <= json.loads(line).keys()


def test_unix_socket(serve, tmp_path):
    import socket
    path = tmp_path / "assay.sock"
    serve("--unix-socket", path)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert client.recv(65536).startswith(b"HTTP/1.1 200")
    assert path.stat().st_mode & 0o777 == 0o600


def test_top(serve, run_assay):
    server = serve()
    server.request("POST", "/v1/submissions?wait=10", {**SUBMISSION, "id": "shown-in-top"})
    url = f"http://127.0.0.1:{server.port}"
    frame = run_assay("top", url, "--once")
    assert frame.returncode == 0, frame.stderr
    assert "shown-in-top" in frame.stdout and "echo" in frame.stdout
    document = json.loads(run_assay("top", url, "--json").stdout)
    assert document["queue"]["queued"] == 0 and document["workers"][0]["judged"] == 1
    nobody = run_assay("top", "http://127.0.0.1:1", "--once")
    assert nobody.returncode == 3 and "assay serve" in nobody.stderr


HALF_OPEN = r"""
import json, subprocess, sys, time
sys.path.insert(0, sys.argv[1])
from serving import Client, Server, eventually
from pathlib import Path
server = Server(sys.argv[2], Path(sys.argv[3]), "--ping-interval", "0.5", "--peer-timeout", "2",
                "--unix-socket", sys.argv[4])
client = Client(server.port)
assert client.upgrade() == 101

def connections():
    import socket
    with socket.socket(socket.AF_UNIX) as probe:  # works without a network
        probe.connect(sys.argv[4])
        probe.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        text = b""
        while data := probe.recv(65536):
            text += data
    return int(float(text.split(b"\nassay_http_websockets ")[1].split(b"\n")[0]))

assert connections() == 1
subprocess.run(["ip", "link", "set", "lo", "down"], check=True)  # the peer is gone, without a FIN
start = time.monotonic()
freed = eventually(lambda: connections() == 0, timeout=30)
print(json.dumps({"freed": freed, "after": time.monotonic() - start}))
server.end()
"""


def test_a_half_open_connection_is_found(assay_bin, tmp_path):
    if subprocess.run(["unshare", "-n", "ip", "link", "set", "lo", "up"], capture_output=True).returncode != 0:
        pytest.skip("needs a network namespace of its own (unshare -n)")
    script = tmp_path / "half_open.py"
    script.write_text(HALF_OPEN)
    result = subprocess.run(
        ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", sys.executable, str(script),
         os.path.dirname(__file__), str(assay_bin), str(tmp_path / "s.db"), str(tmp_path / "s.sock")],
        capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["freed"], result.stdout
