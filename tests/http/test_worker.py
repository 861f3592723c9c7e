"""`assay worker`: judging in processes of its own, which may be killed, for a server that may be killed."""

import json
import os
import signal
import subprocess
import time

import pytest

from serving import SUBMISSION, TERM, Client, eventually


class Worker:
    """`assay worker --runner echo`."""

    def __init__(self, binary, folder, url, *arguments, key=None, env=None):
        self.log_path = folder / f"worker.{time.monotonic_ns()}.log"
        clean = {name: value for name, value in os.environ.items() if name != "ASSAY_API_KEY"}
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [str(binary), "worker", "--server", url, "--runner", "echo", "--json", *map(str, arguments)],
                stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL,
                env={**clean, **({"ASSAY_API_KEY": key} if key else {}), **(env or {})})

    def ready(self):
        line = self.process.stdout.readline()
        assert line, f"no line of readiness; log:\n{self.log()}"
        return json.loads(line)

    def log(self):
        return self.log_path.read_text(errors="replace")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        if self.process.poll() is None:
            self.kill()
        self.process.stdout.close()


@pytest.fixture
def work(assay_bin, tmp_path):
    """work(server, "--option", ...) starts a worker; the fixture ends it."""
    workers = []

    def start(server, *arguments, url=None, **options):
        workers.append(Worker(assay_bin, tmp_path, url or f"http://127.0.0.1:{server.port}", *arguments, **options))
        return workers[-1]

    yield start
    for worker in workers:
        worker.end()


def ask(server, path, headers=None):
    return json.loads(server.request("GET", path, headers=headers)[2])


def submit(server, number, headers=None):
    body = {**SUBMISSION, "id": f"step-{number}", "source": f"class ModelNew:\n    number = {number}\n"}
    status, _, text = server.request("POST", "/v1/submissions", body, headers)
    assert status in (200, 202), text
    return json.loads(text)["id"]


def all_done(server, ids):
    return all(ask(server, f"/v1/submissions/{id}")["state"] == "done" for id in ids)


def verdicts(server):
    """How many verdicts the server has counted."""
    lines = server.request("GET", "/metrics")[2].splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("assay_verdicts_total"))


def metric(server, name):
    lines = server.request("GET", "/metrics")[2].splitlines()
    return next((float(line.split()[-1]) for line in lines if line.startswith(name + " ")), 0)


def test_a_server_that_does_not_judge_itself(serve, work, run_assay):
    server = serve(runner="none")
    assert server.ready["workers"] == []
    status, _, text = server.request("GET", "/readyz")
    assert status == 503 and "no worker" in text
    waiting = submit(server, 0)
    worker = work(server, "--name", "gpu-7", "--jobs", 3)
    assert worker.ready() | {"pid": 0} == {"ready": True, "server": f"http://127.0.0.1:{server.port}", "name": "gpu-7",
                                           "server_answers": True, "workers": ["gpu-7/echo"], "pid": 0}
    assert eventually(lambda: all_done(server, [waiting]))
    done = ask(server, f"/v1/submissions/{waiting}")
    assert done["worker"] == "gpu-7/echo" and done["verdict"]["error"]["name"] == "echo"
    assert server.request("GET", "/readyz")[0] == 200
    [row] = ask(server, "/v1/workers")["workers"]
    assert row["name"] == "gpu-7/echo" and row["remote"] and row["jobs"] == 3 and row["judged"] == 1
    assert row["details"]["kind"] == "echo" and row["last_heard_s"] < 10
    top = run_assay("top", f"http://127.0.0.1:{server.port}", "--once")
    assert "gpu-7/echo" in top.stdout, top.stdout
    gym = ask(server, "/kernelgym/workers/status")
    assert "gpu-7/echo" in json.dumps(gym)


def test_a_killed_worker_loses_nothing(serve, work):
    server = serve(runner="none")
    ttl = ("--ttl", 1, "--echo-delay-ms", 300)
    killed, other = work(server, "--name", "a", *ttl), work(server, "--name", "b", *ttl)
    killed.ready(), other.ready()
    ids = [submit(server, number) for number in range(24)]
    at_work = lambda: {row["name"]: row["working_on"] for row in ask(server, "/v1/workers")["workers"]}
    assert eventually(lambda: at_work().get("a/echo") and at_work().get("b/echo"))
    killed.kill()
    assert eventually(lambda: all_done(server, ids), timeout=60)
    jobs = [ask(server, f"/v1/submissions/{id}") for id in ids]
    assert verdicts(server) == len(ids), "exactly one each"
    assert all(job["verdict"]["error"]["name"] == "echo" for job in jobs)
    again = [job for job in jobs if job["deliveries"] > 1]
    assert again and all(job["worker"] == "b/echo" for job in again)
    assert eventually(lambda: list(at_work()) == ["b/echo"]), "who is not heard is not listed"


def test_a_killed_server_loses_nothing(serve, work, tmp_path):
    store = tmp_path / "kept.db"
    server = serve(runner="none", store=store)
    workers = [work(server, "--name", name, "--ttl", 5, "--echo-delay-ms", 200) for name in "ab"]
    for worker in workers:
        worker.ready()
    ids = [submit(server, number) for number in range(24)]
    assert eventually(lambda: verdicts(server) >= 4)
    before = {id: job["verdict"] for id in ids
              if (job := ask(server, f"/v1/submissions/{id}"))["state"] == "done"}
    server.signal(signal.SIGKILL)
    server.wait()
    time.sleep(1)
    server = serve(port=server.port, runner="none", store=store)
    assert eventually(lambda: all_done(server, ids), timeout=60)
    for id in ids:
        job = ask(server, f"/v1/submissions/{id}")
        assert job["verdict"]["error"]["name"] == "echo" and job["deliveries"] <= 2
        assert before.get(id, job["verdict"]) == job["verdict"], "a verdict stays"
    for log in (worker.log() for worker in workers):
        assert "gives no work" in log and "gives work again" in log or "has not heard how it ended" in log, log


def test_a_cancelled_job_ends_at_its_worker(serve, work):
    server = serve(runner="none")
    work(server, "--jobs", 1, "--echo-delay-ms", 60_000).ready()
    job = submit(server, 0)
    assert eventually(lambda: ask(server, f"/v1/submissions/{job}")["stage"] == "check")
    assert server.request("DELETE", f"/v1/submissions/{job}")[0] == 202
    assert eventually(lambda: all_done(server, [job]))
    assert ask(server, f"/v1/submissions/{job}")["verdict"]["error"]["name"] == "cancelled"


def test_a_worker_that_stops_finishes_what_it_has(serve, work):
    server = serve(runner="none")
    worker = work(server, "--jobs", 2, "--echo-delay-ms", 1500)
    worker.ready()
    ids = [submit(server, number) for number in range(4)]
    assert eventually(lambda: ask(server, "/v1/queue")["running"] == 2)
    worker.process.send_signal(TERM)
    assert worker.process.wait(20) == 0
    states = [ask(server, f"/v1/submissions/{id}") for id in ids]
    assert [job["state"] for job in states] == ["done", "done", "queued", "queued"]
    assert metric(server, "assay_deliveries_lost_total") == 0


def test_a_second_signal_gives_it_back(serve, work):
    server = serve(runner="none")
    worker = work(server, "--echo-delay-ms", 60_000)
    worker.ready()
    job = submit(server, 0)
    assert eventually(lambda: ask(server, "/v1/queue")["running"] == 1)
    worker.process.send_signal(TERM)
    time.sleep(0.5)
    worker.process.send_signal(TERM)
    assert worker.process.wait(20) == 0
    assert ask(server, f"/v1/submissions/{job}")["state"] == "queued"
    assert metric(server, "assay_deliveries_lost_total") == 0


def test_a_worker_stops_also_without_its_server(serve, work):
    server = serve(runner="none")
    worker = work(server, "--jobs", 2, "--ttl", 2, "--echo-delay-ms", 60_000)
    worker.ready()
    for number in range(2):
        submit(server, number)
    assert eventually(lambda: ask(server, "/v1/queue")["running"] == 2)
    server.signal(signal.SIGKILL)
    server.wait()
    start = time.monotonic()
    worker.process.send_signal(TERM)
    assert worker.process.wait(20) == 0
    assert time.monotonic() - start < 2 + 5
    assert worker.log().count("its lease could not be renewed") == 2


def test_answers_that_nobody_read_are_nothing_against_the_job(serve, work):
    server = serve(runner="none")
    id = submit(server, 0)
    protocol = json.loads(server.request("GET", "/metadata")[2])["protocol"]
    for number in range(5):
        with Client(server.port) as client:
            status = client.request("POST", "/v1/leases", {"worker": "w", "instance": "i", "ttl_s": 1, "wait_s": 20,
                                                           "protocol": protocol})[0]
        assert status == 200, number
    work(server).ready()
    assert eventually(lambda: all_done(server, [id]))
    job = ask(server, f"/v1/submissions/{id}")
    assert job["deliveries"] == 6 and job["verdict"]["error"]["name"] == "echo"
    assert metric(server, "assay_deliveries_lost_total") == 0


def test_a_server_that_drains_waits_for_its_workers(serve, work, tmp_path):
    store = tmp_path / "kept.db"
    server = serve(runner="none", store=store)
    worker = work(server, "--jobs", 1, "--echo-delay-ms", 2000)
    worker.ready()
    ids = [submit(server, number) for number in range(2)]
    assert eventually(lambda: ask(server, "/v1/queue")["running"] == 1)
    server.signal(TERM)
    assert server.wait() == 0
    server = serve(port=server.port, runner="none", store=store)
    jobs = [ask(server, f"/v1/submissions/{id}") for id in ids]
    assert [(job["state"], job["deliveries"]) for job in jobs][0] == ("done", 1), "brought while it drained"
    assert eventually(lambda: all_done(server, ids))


def test_keys_of_clients_and_workers(serve, work, new_key, tmp_path):
    client, key, admin = new_key("trainer", "submit"), new_key("gpu", "worker"), new_key("root", "admin")
    server = serve("--api-key-file", new_key.path, runner="none")
    bearer = lambda secret: {"Authorization": f"Bearer {secret}"}
    lease = {"worker": "w", "instance": "i"}
    assert server.request("POST", "/v1/leases", lease, bearer(client))[0] == 403
    assert server.request("POST", "/v1/leases/x/complete", {}, bearer(client))[0] == 403
    assert server.request("POST", "/v1/submissions", SUBMISSION, bearer(key))[0] == 403
    assert server.request("GET", "/v1/workers", headers=bearer(key))[0] == 403
    assert server.request("POST", "/v1/leases", lease)[0] == 401
    for wrong in (client, None, "a-key-that-nobody-knows"):
        refused = work(server, key=wrong)
        assert refused.process.wait(20) == 2
        assert "does not take this worker" in refused.log()
    path = tmp_path / "worker.key"
    path.write_text(key + "\n")
    by_file, by_variable = work(server, "--api-key-file", path, "--name", "f"), work(server, "--name", "v", key=key)
    by_file.ready(), by_variable.ready()
    assert server.request("POST", "/v1/submissions?wait=20", SUBMISSION, bearer(client))[0] == 200
    rows = ask(server, "/v1/workers", bearer(client))["workers"]
    assert {row["name"] for row in rows} == {"f/echo", "v/echo"}
    assert not any("working_on" in row or "key" in row for row in rows), "others' are theirs"
    rows = ask(server, "/v1/workers", bearer(admin))["workers"]
    assert all(row["key"] == "gpu" and "working_on" in row for row in rows)
    for log in (by_file.log(), by_variable.log(), server.log()):
        assert key not in log and client not in log
    assert key.encode() not in b"".join(
        open(f"/proc/{worker.process.pid}/cmdline", "rb").read() for worker in (by_file, by_variable))


def test_over_a_unix_socket(serve, work, tmp_path):
    path = tmp_path / "assay.sock"
    server = serve("--unix-socket", path, runner="none")
    work(server, url=f"unix:{path}").ready()
    assert server.request("POST", "/v1/submissions?wait=20", SUBMISSION)[0] == 200


def test_over_tls(serve, work, certificate):
    ssl = pytest.importorskip("ssl", exc_type=ImportError)
    cert, key = certificate("server")
    server = serve("--tls-cert", cert, "--tls-key", key, runner="none")
    url = f"https://127.0.0.1:{server.port}"
    stranger = work(server, url=url)
    assert stranger.process.wait(20) == 3
    assert "is not trusted: self" in stranger.log() and "SSL_CERT_FILE=" in stranger.log()
    work(server, url=url, env={"SSL_CERT_FILE": str(cert)}).ready()
    context = ssl.create_default_context(cafile=cert)
    secure = lambda sock: context.wrap_socket(sock, server_hostname="localhost")
    with Client(server.port, wrap=secure) as client:
        status, _, text = client.request("POST", "/v1/submissions?wait=20", SUBMISSION)
    assert status == 200 and json.loads(text)["worker"].endswith("/echo")


def test_wrong_use_says_what_to_do(run_assay, tmp_path):
    (tmp_path / "two").write_text("one key\nand another\n")
    (tmp_path / "empty").write_text("\n")
    for arguments, words in ((["--server", "host:8000"], "http://host:port"),
                             (["--api-key-file", tmp_path / "two"], "one key alone"),
                             (["--api-key-file", tmp_path / "none"], "none"),
                             (["--api-key-file", tmp_path / "empty"], "is empty"),
                             (["--name", "gpu 7"], "'gpu 7' cannot name a worker"),
                             (["--secret-file", "/dev/null"], "16 is the least")):
        result = run_assay("worker", "--runner", "echo", *arguments)
        assert result.returncode == 2 and words in result.stderr, result.stderr
    assert "assay serve --runner none" in run_assay("worker", "--help").stdout


def test_a_worker_may_come_before_its_server(serve, work, tmp_path):
    first = serve(runner="none", store=tmp_path / "first.db")
    first.signal(TERM)
    first.wait()
    worker = work(first)
    assert worker.ready()["server_answers"] is False
    server = serve(port=first.port, runner="none", store=tmp_path / "second.db")
    assert server.request("POST", "/v1/submissions?wait=20", SUBMISSION)[0] == 200
