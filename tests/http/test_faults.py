"""Faults against the real binary: what is killed, slow, broken, repeated, or jumps."""

import json
import os
import shutil
import socket
import subprocess
import threading
import time

import pytest

from serving import SUBMISSION, Client, Server, close_code, eventually

TASK = "assay/relu"


class Episode:
    """One episode over a bare WebSocket, which survives its server."""

    def __init__(self, number, turns=3):
        self.number, self.turns = number, turns
        self.token, self.client, self.turn = "", None, 0

    def source(self, turn):
        return f"class ModelNew:\n    pass\n# episode {self.number} turn {turn}\n"

    def ask(self, kind, data=None):
        reply = self.client.ask({"type": kind, **({} if data is None else {"data": data})})
        assert reply["type"] != "error", reply
        return reply["data"]

    def connect(self, port):
        """Begins the episode, or goes on with it."""
        self.client = Client(port)
        assert self.client.upgrade() == 101
        if not self.token:
            data = {"task_id": TASK, "episode_id": f"ep-{self.number}", "max_turns": self.turns}
            self.token = self.ask("reset", data)["observation"]["episode_token"]
            return
        seen = self.ask("reset", {"resume": self.token})["observation"]
        if seen["status"] == "queued":
            seen = self.settle(seen)
        self.turn = seen["turn"]

    def settle(self, seen):
        while seen["status"] == "queued":
            seen = self.ask("step", {"op": "poll", "ticket": seen["ticket"], "code": ""})["observation"]
        return seen

    def play(self, port):
        if self.client is None:
            self.connect(port)
        while self.turn < self.turns:
            seen = self.settle(self.ask("step", {"code": self.source(self.turn + 1)})["observation"])
            assert seen["turn"] == self.turn + 1, seen
            self.turn = seen["turn"]


def together(actions):
    """Runs them in threads; the failures."""
    failures = []

    def guarded(action):
        try:
            action()
        except Exception as error:  # a thread's assertion would be lost
            failures.append(repr(error))

    threads = [threading.Thread(target=guarded, args=[action]) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


def all_submissions(server):
    found, cursor = [], ""
    while True:
        page = json.loads(server.request("GET", f"/v1/submissions?limit=200{cursor}")[2])
        found += page["submissions"]
        if not page["next"]:
            return found
        cursor = f"&cursor={page['next']}"


def test_kill_9_in_the_middle_of_64_episodes(serve, tmp_path, run_assay):
    """After the restart every session is resumed and every accepted submission has exactly one verdict."""
    store = tmp_path / "killed.db"
    server = serve("--echo-delay-ms", 100, "--jobs", 16, store=store)
    episodes = [Episode(number) for number in range(64)]
    assert together([lambda episode=episode: episode.connect(server.port) for episode in episodes]) == []

    def until_it_dies(episode):
        try:
            episode.play(server.port)
        except (EOFError, OSError):
            pass  # the server died under it

    killer = threading.Thread(target=lambda: (
        eventually(lambda: sum(episode.turn for episode in episodes) >= 64), server.process.kill()))
    killer.start()
    assert together([lambda episode=episode: until_it_dies(episode) for episode in episodes]) == []
    killer.join()
    server.wait()
    played = sum(episode.turn for episode in episodes)
    assert 64 <= played < 64 * 3, "it was not killed in the middle"
    # Accepted is what is in the store; it was on the disk before anybody was told.
    accepted = {json.loads(line)["source"]
                for line in run_assay("export", "--store", store, "--all").stdout.splitlines()}
    for episode in episodes:
        assert all(episode.source(turn) in accepted for turn in range(1, episode.turn + 1))

    again = serve("--echo-delay-ms", 5, "--jobs", 16, store=store)
    for episode in episodes:
        episode.client = None
    assert together([lambda episode=episode: episode.play(again.port) for episode in episodes]) == []
    done = [json.loads(line) for line in run_assay("export", "--store", store, "--all").stdout.splitlines()]
    sources = [row["source"] for row in done]
    assert all(row["verdict"] is not None for row in done)
    assert accepted <= set(sources)
    assert sorted(sources) == sorted(episode.source(turn) for episode in episodes for turn in (1, 2, 3))
    assert len(all_submissions(again)) == 64 * 3


def test_kill_9_again_and_again(serve, tmp_path):
    """Also a store that is killed while it recovers loses nothing and judges nothing twice."""
    store = tmp_path / "store.db"
    ids = []
    for cycle in range(4):
        server = serve("--echo-delay-ms", 30, "--jobs", 2, store=store)
        for number in range(10):
            status, _, text = server.request("POST", "/v1/submissions", {**SUBMISSION, "id": f"c{cycle}-{number}"})
            assert status in (200, 202), text
            ids.append(json.loads(text)["id"])
        server.process.kill()
        server.wait()
    server = serve(store=store)
    for job in ids:
        body = json.loads(server.request("GET", f"/v1/submissions/{job}?wait=30")[2])
        assert body["state"] == "done" and body["verdict"]["status"] in ("cancelled", "infra_error"), body
    assert sorted(job["id"] for job in all_submissions(server)) == sorted(ids)


def memory_mib(server):
    text = open(f"/proc/{server.process.pid}/status").read()
    return int(text.split("VmRSS:")[1].split()[0]) / 1024


def test_readers_that_do_not_read_cost_a_bounded_amount(serve):
    """Each asks for megabytes and takes none of them; the others do not notice."""
    server = serve()
    server.request("GET", "/v1/openapi.json")
    before = memory_mib(server)
    lazy = []
    for _ in range(20):
        client = Client(server.port)
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sock.setblocking(False)
        try:
            while True:
                client.send(b"GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
        except BlockingIOError:
            lazy.append(client)  # the server has stopped reading from it
    sockets = []
    for _ in range(20):
        client = Client(server.port)
        assert client.upgrade() == 101
        client.sock.setblocking(False)
        message = json.dumps({"type": "reset", "data": {"task_id": TASK}}).encode()
        try:
            for _ in range(3000):
                client.frame(1, message)
        except (BlockingIOError, ConnectionError):
            pass
        sockets.append(client)
    began = time.monotonic()
    assert server.request("GET", "/healthz")[0] == 200
    assert time.monotonic() - began < 1
    assert memory_mib(server) - before < 64
    for client in lazy + sockets:
        client.sock.close()
    assert eventually(lambda: b"\nassay_http_connections 1\n" in server.request("GET", "/metrics")[2].encode())


BAD_BODIES = {
    "not JSON": b"{",
    "invalid UTF-8": b'{"task_id": "\xff\xfe"}',
    "overlong UTF-8": b'{"task_id": "\xc0\xaf"}',
    "a lone surrogate": b'{"task_id": "\\ud800"}',
    "too deep": b"[" * 100_000 + b"]" * 100_000,
    "deep objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "a number without end": b'{"priority": 1' + b"0" * 100_000 + b"}",
    "NaN": b'{"timeout_s": NaN}',
    "not an object": b'"text"',
    "nothing": b"",
    "a byte order mark": b"\xef\xbb\xbf{}",
    "zero bytes": b"\0" * 1000,
}


@pytest.mark.parametrize("path", ["/v1/submissions", "/v1/batches", "/v1/rewards", "/reset", "/step", "/mcp",
                                  "/kernelgym/evaluate", "/kernelgym/evaluate/batch", "/kernelgym/workflow/submit",
                                  "/kernel_env/tasks", "/kernel_env/task"])
def test_bad_bodies_are_refused_everywhere(serve, path):
    server = serve()
    for name, body in BAD_BODIES.items():
        if path == "/reset" and name in ("nothing", "a number without end"):
            continue  # a reset needs no body, and ignores members that it does not know
        status, _, text = server.request("POST", path, body)
        # JSON-RPC tells errors in its own way, with 200 as upstream has it.
        refused = 400 <= status < 500 or (path == "/mcp" and "error" in json.loads(text))
        assert refused, (name, status, text[:300])
        json.loads(text)
    assert server.process.poll() is None
    assert "internal error" not in server.log()


def test_bad_messages_leave_a_websocket_open(serve):
    server = serve()
    with Client(server.port) as client:
        assert client.upgrade() == 101
        for name, body in BAD_BODIES.items():
            if b"\xff" in body or b"\xc0" in body:
                continue  # breaches of the WebSocket protocol itself: closed with 1007
            client.frame(1, body)
            opcode, payload = client.read_frame()
            assert opcode == 1 and json.loads(payload)["type"] == "error", (name, opcode, payload[:200])
        assert client.ask({"type": "reset", "data": {"task_id": TASK}})["type"] == "observation"
    with Client(server.port) as client:
        assert client.upgrade() == 101
        client.frame(1, BAD_BODIES["overlong UTF-8"])
        opcode, payload = client.read_frame()
        assert (opcode, close_code(payload)) == (8, 1007)


def test_repeated_ids(serve):
    """The same id is the same thing again, or is told to be somebody else's; nothing is judged twice."""
    server = serve("--echo-delay-ms", 400)
    first = server.request("POST", "/v1/submissions?wait=10", {**SUBMISSION, "id": "mine"})
    again = server.request("POST", "/v1/submissions?wait=10", {**SUBMISSION, "id": "mine"})
    assert first[0] == again[0] == 200 and json.loads(first[2]) == json.loads(again[2])
    status, _, text = server.request("POST", "/v1/submissions", {**SUBMISSION, "id": "mine", "source": "x = 1"})
    assert status == 422 and "used before" in text
    body = {"task_id": "gym-1", "reference_code": "class Model: pass\ndef get_inputs(): return []\n"
            "def get_init_inputs(): return []\n", "kernel_code": "class ModelNew: pass\n"}
    replies = []
    failures = together([lambda: replies.append(server.request("POST", "/kernelgym/evaluate", body))
                         for _ in range(16)])
    assert failures == [] and {reply[0] for reply in replies} == {200}
    jobs = {json.loads(reply[2])["metadata"]["assay"]["job_id"] for reply in replies}
    assert len(jobs) == 1
    other = {**body, "kernel_code": "class ModelNew:\n    x = 1\n"}
    changed = json.loads(server.request("POST", "/kernelgym/evaluate", other)[2])
    assert changed["metadata"]["assay"]["job_id"] not in jobs, "the answer belongs to the code that was sent"
    # Two episodes may have the same name: their tokens tell them apart.
    episodes = [Episode("twin"), Episode("twin")]
    for episode in episodes:
        episode.connect(server.port)
    assert episodes[0].token != episodes[1].token
    episodes[0].play(server.port)
    assert episodes[1].ask("state")["turn"] == 0
    # In one object the same name twice: one of them counts, and it is no crash.
    twice = b'{"task_id": "assay/relu", "source": "a = 1", "source": "b = 2"}'
    assert server.request("POST", "/v1/submissions", twice)[0] in (202, 400, 422)


CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* CLOCK_REALTIME is off by the number of seconds in the file ASSAY_TEST_CLOCK. */
static long offset(void) {
  long seconds = 0;
  FILE* file = fopen(getenv("ASSAY_TEST_CLOCK"), "re");
  if (file != NULL) {
    if (fscanf(file, "%ld", &seconds) != 1) seconds = 0;
    fclose(file);
  }
  return seconds;
}
int clock_gettime(clockid_t clock, struct timespec* now) {
  int result = (int)syscall(SYS_clock_gettime, clock, now);
  if (clock == CLOCK_REALTIME) now->tv_sec += offset();
  return result;
}
int gettimeofday(struct timeval* now, void* zone) {
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  (void)zone;
  now->tv_sec = at.tv_sec;
  now->tv_usec = at.tv_nsec / 1000;
  return 0;
}
time_t time(time_t* out) {
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  if (out != NULL) *out = at.tv_sec;
  return at.tv_sec;
}
"""


@pytest.fixture
def clock(tmp_path):
    """clock(seconds) sets a server's wall clock; clock.env starts it under this clock."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    source, library, file = tmp_path / "clock.c", tmp_path / "clock.so", tmp_path / "offset"
    source.write_text(CLOCK)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)

    def jump(seconds):
        part = file.with_suffix(".part")
        part.write_text(str(seconds))
        os.replace(part, file)

    jump(0)
    jump.env = {"LD_PRELOAD": str(library), "ASSAY_TEST_CLOCK": str(file)}
    return jump


@pytest.mark.parametrize("days", [400, -400])
def test_a_wall_clock_that_jumps_ends_nothing(serve, tmp_path, clock, days):
    """Deadlines, idleness, leases, quotas of requests and the order of jobs do not hang on it."""
    store = tmp_path / "jumped.db"
    server = serve("--echo-delay-ms", 1500, store=store, env=clock.env)
    episode = Episode("clock")
    episode.connect(server.port)
    before = json.loads(server.request("POST", "/v1/submissions", {**SUBMISSION, "id": "before"})[2])
    answers = []
    waiting = threading.Thread(
        target=lambda: answers.append(server.request("GET", "/v1/submissions/before?wait=20")))
    waiting.start()
    time.sleep(0.3)
    clock(days * 86_400)
    after = json.loads(server.request("POST", "/v1/submissions?wait=20", {**SUBMISSION, "id": "after"})[2])
    assert abs(after["submitted_at"] - before["submitted_at"] - days * 86_400) < 60, "the clock did not jump"
    waiting.join()
    assert answers[0][0] == 200 and json.loads(answers[0][2])["state"] == "done"
    assert after["state"] == "done" and after["verdict"]["error"]["name"] == "echo"
    episode.turns = 1
    episode.play(server.port)  # the session is there, and judges
    queue = json.loads(server.request("GET", "/v1/queue")[2])
    assert queue["oldest_wait_s"] >= 0 and queue["drain_estimate_s"] >= 0
    assert [job["id"] for job in all_submissions(server)][-1] == "before", "the order is that of acceptance"
    server.process.kill()
    server.wait()
    clock(-days * 86_400)  # and the other way, over a restart
    again = serve("--echo-delay-ms", 1, store=store, env=clock.env)
    episode.connect(again.port)
    episode.turns = 3
    episode.play(again.port)
    assert again.request("POST", "/v1/submissions?wait=10", {**SUBMISSION, "id": "last"})[0] == 200


def test_clients_that_vanish_in_the_middle_of_a_step_free_their_slots(serve):
    server = serve("--echo-delay-ms", 60_000, "--max-sessions", 4, env={"KERNEL_ENV_RESUME_GRACE_S": "0.2"})
    for _ in range(3):
        clients = []
        for _ in range(4):
            client = Client(server.port)
            assert client.upgrade() == 101
            assert client.ask({"type": "reset", "data": {"task_id": TASK}})["type"] == "observation"
            client.frame(1, json.dumps({"type": "step", "data": {"code": "x = 1"}}).encode())
            clients.append(client)
        for client in clients:  # reset, without a goodbye
            client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.sock.close()
    # What nobody comes back for is cancelled, so the queue is empty again.
    def idle():
        queue = json.loads(server.request("GET", "/v1/queue")[2])
        return queue["queued"] == 0 and queue["running"] == 0
    assert eventually(idle, 30)
