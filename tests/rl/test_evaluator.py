"""The evaluators: assay eval for real, and the server's client against a server that misbehaves."""

import asyncio
import http.server
import json
import os
import sys
import threading
import time

import pytest

from assay.integrations import evaluator as ev
from assay.integrations.evaluator import CommandEvaluator, EvaluatorError, ServerEvaluator, Submission

GOOD = "import torch\nclass ModelNew(torch.nn.Module):\n  def forward(self, x): return x.clamp(min=0)\n"
BAD = "import torch\nclass ModelNew(torch.nn.Module):\n  def forward(self, x): return x\n"


def command(assay_bin, **options):
    return CommandEvaluator(
        program=str(assay_bin), python=os.environ["ASSAY_PYTHON"], device="cpu", jobs=2, **options
    )


def test_a_submission_names_one_task():
    with pytest.raises(EvaluatorError, match="give either task_id or task_source"):
        Submission("x")
    with pytest.raises(EvaluatorError, match="give either"):
        Submission("x", task_id="a", task_source="b")


def test_what_there_is_to_choose_from(monkeypatch):
    with pytest.raises(EvaluatorError, match="use 'command' or the server's http"):
        ev.make_evaluator("ftp://x")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("ASSAY_PROGRAM", raising=False)
    with pytest.raises(EvaluatorError, match="install Assay's wheel or set ASSAY_PROGRAM"):
        ev.make_evaluator("command")


def test_the_command_judges_a_batch_in_order(assay_bin):
    """Registered task and own reference, right and wrong, with and without timing, in one call."""
    source = (
        "import torch\nclass Model(torch.nn.Module):\n  def forward(self, x): return torch.relu(x)\n"
        "def get_inputs(): return [torch.randn(32, 32)]\ndef get_init_inputs(): return []\n"
    )
    untimed = {"time": False, "trials": 2}
    verdicts = command(assay_bin).evaluate([
        Submission(BAD, task_id="assay/relu", options=untimed),
        Submission(GOOD, task_source=source, options=untimed),
        Submission("def f(:", task_source=source, options=untimed),
        Submission(GOOD, task_source=source),
    ])  # fmt: skip
    wanted = ["incorrect", "correct", "invalid_submission", "correct"]
    assert [v["status"] for v in verdicts] == wanted, [v.get("error") for v in verdicts]
    assert verdicts[1]["correctness"]["trials"] == 2 and verdicts[1]["timing"]["speedup"] is None
    assert verdicts[3]["timing"]["speedup"]["value"] > 0


def test_the_command_says_what_is_wrong_with_the_request(assay_bin):
    judge = command(assay_bin)
    with pytest.raises(EvaluatorError, match="no/such"):
        judge.evaluate([Submission(GOOD, task_id="no/such")])
    with pytest.raises(EvaluatorError, match="has no option rounds; it takes trials and time"):
        judge.evaluate([Submission(GOOD, task_id="assay/relu", options={"rounds": 3})])
    with pytest.raises(EvaluatorError, match="use a server for others"):
        judge.evaluate([Submission(GOOD, task_id="assay/relu", entry="Net")])
    assert judge.evaluate([]) == []


def script(tmp_path, text):
    program = tmp_path / "program"
    program.write_text(f"#!{sys.executable}\n{text}")
    program.chmod(0o755)
    return CommandEvaluator(program=str(program), timeout_s=5)


def test_each_source_of_tasks_is_named_on_its_own(assay_bin):
    """--tasks takes one value a use."""
    judge = command(assay_bin, tasks=["/no/such/folder"])
    with pytest.raises(EvaluatorError, match="'/no/such/folder' names no tasks"):
        judge.evaluate([Submission(GOOD, task_id="assay/relu")])


def test_a_program_that_dies_leaves_verdicts_and_faults(tmp_path):
    """It wrote one verdict and half of the next."""
    judge = script(tmp_path, """import os, json
print(json.dumps({"id": "1", "status": "correct"}), flush=True)
print('{"id": "0", "sta', end="", flush=True)
os.kill(os.getpid(), 9)
""")
    submission = Submission("x", task_id="t")
    verdicts = judge.evaluate([submission, submission])
    assert [v["status"] for v in verdicts] == ["infra_error", "correct"]
    assert verdicts[0]["error"]["message"] == "assay eval ended without this verdict"


def test_a_program_that_hangs_is_killed_with_its_children(tmp_path):
    pid = tmp_path / "pid"
    judge = script(tmp_path, f"""import subprocess, time
child = subprocess.Popen(["sleep", "1000"])
open({str(pid)!r}, "w").write(str(child.pid))
time.sleep(1000)
""")
    judge._timeout_s = 1.0
    start = time.monotonic()
    assert judge.evaluate([Submission("x", task_id="t")])[0]["status"] == "infra_error"
    assert time.monotonic() - start < 10
    for _ in range(50):  # init may need a moment to reap it
        try:
            state = open(f"/proc/{pid.read_text()}/stat").read().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            break
        if state == "Z":
            break
        time.sleep(0.1)
    else:
        pytest.fail("the program's child is still running")


class Server:
    """The native API as far as the client speaks it. `plan` is a list of replies that come before the
    honest one: a status, "drop" (the connection is closed after the request was taken), or "cut" (the
    reply ends early)."""

    def __init__(self, plan=(), polls=2, key=None):
        self.plan, self.polls, self.key = list(plan), polls, key
        self.jobs, self.keys, self.requests, self.cancelled = {}, {}, [], []
        self.lock = threading.Lock()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.handle(self, "POST", body)

            def do_GET(self):
                outer.handle(self, "GET", None)

            def do_DELETE(self):
                outer.handle(self, "DELETE", None)

        self.httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.httpd.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.httpd.server_port}"

    def handle(self, handler, method, body):
        with self.lock:
            self.requests.append((method, handler.path))
            step = self.plan.pop(0) if self.plan else None
        if self.key and handler.headers.get("Authorization") != f"Bearer {self.key}":
            return self.reply(handler, 401, {"error": {"message": "no such key"}})
        if isinstance(step, int):
            return self.reply(handler, step, {"error": {"message": f"planned {step}"}}, {"Retry-After": "0.3"})
        if isinstance(step, bytes):
            return self.reply(handler, 200, step)
        job = self.take(handler, method, body)
        if step == "drop":
            handler.connection.close()
            return None
        return self.reply(handler, 200, job, cut=step == "cut")

    def take(self, handler, method, body):
        with self.lock:
            if method == "POST":
                idempotency = handler.headers["Idempotency-Key"]
                if idempotency not in self.keys:
                    self.keys[idempotency] = f"job {len(self.jobs)}"
                    self.jobs[self.keys[idempotency]] = {"body": body, "polls": 0}
                name = self.keys[idempotency]
            else:
                name = handler.path.split("?")[0].rsplit("/", 1)[1].replace("%20", " ")
            job = self.jobs[name]
            if method == "DELETE":
                self.cancelled.append(name)
            job["polls"] += 1
            if job["polls"] <= self.polls:
                return {"id": name, "state": "running"}
            status = "correct" if "clamp" in job["body"]["source"] else "incorrect"
            verdict = {"schema": "assay.verdict/1", "id": name, "status": status}
            return {"id": name, "state": "done", "verdict": verdict}

    @staticmethod
    def reply(handler, status, document, headers=(), cut=False):
        data = document if isinstance(document, bytes) else json.dumps(document).encode()
        handler.send_response(status)
        for name, value in dict(headers).items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data[: len(data) // 2] if cut else data)


def client(server, **options):
    return ServerEvaluator(server.url, **({"wait_s": 0.1, "patience_s": 5} | options))


def test_the_server_judges_in_order_and_with_the_key():
    server = Server(key="secret")
    sent = [Submission(s, task_id="t", options={"trials": 3}) for s in (BAD, GOOD, BAD)]
    verdicts = client(server, key="secret").evaluate(sent)
    assert [v["status"] for v in verdicts] == ["incorrect", "correct", "incorrect"]
    body = next(iter(server.jobs.values()))["body"]
    assert body["task_id"] == "t" and body["options"] == {"trials": 3} and "task_source" not in body
    assert all("wait=0.1" in path for _, path in server.requests)
    with pytest.raises(EvaluatorError, match="401.*no such key"):
        client(server, key="wrong").evaluate(sent[:1])


@pytest.mark.parametrize("plan", [[429, 503, 502], ["drop", "drop"], [500, "drop"], ["cut", "cut"]])
def test_a_full_or_broken_server_is_asked_again_and_judges_once(plan):
    server = Server(plan)
    start = time.monotonic()
    (verdict,) = client(server).evaluate([Submission(GOOD, task_id="t")])
    assert verdict["status"] == "correct"
    assert len(server.jobs) == 1, "a repeated request is the same job"
    if 429 in plan:
        assert time.monotonic() - start > 0.9, "Retry-After is kept"


def test_a_server_that_stays_away_is_nobodys_fault():
    server = Server([503] * 1000)
    (verdict,) = client(server, patience_s=0.5).evaluate([Submission(GOOD, task_id="t")])
    assert verdict["status"] == "infra_error" and "planned 503" in verdict["error"]["message"]
    gone = ServerEvaluator("http://127.0.0.1:9", patience_s=0.5)
    (verdict,) = gone.evaluate([Submission(GOOD, task_id="t")])
    assert verdict["status"] == "infra_error" and "refused" in verdict["error"]["message"]


def test_a_verdict_that_does_not_come_is_cancelled():
    server = Server(polls=10**9)
    (verdict,) = client(server, timeout_s=0.5).evaluate([Submission(GOOD, task_id="t")])
    assert verdict["status"] == "infra_error" and "cancelled" in verdict["error"]["message"]
    assert server.cancelled == ["job 0"]


@pytest.mark.parametrize("reply, message", [
    (400, "400"), (404, "404"), (b"<html>", "not JSON"), (b"[]", "no object"), (b"{}", "neither a verdict nor a job"),
])  # fmt: skip
def test_what_no_repetition_mends_is_an_error(reply, message):
    with pytest.raises(EvaluatorError, match=message):
        client(Server([reply])).evaluate([Submission(GOOD, task_id="t")])


class Counting:
    def __init__(self, batches, seconds=0.05):
        self.batches, self.seconds, self.calls = batches, seconds, []

    def evaluate(self, submissions):
        self.calls.append(len(submissions))
        time.sleep(self.seconds)
        if any(s.source == "raise" for s in submissions):
            raise EvaluatorError("as asked")
        return [{"status": "correct", "source": s.source} for s in submissions]


def test_coroutines_share_calls_of_a_batching_evaluator():
    async def run(evaluator):
        judge = ev.Judge(evaluator, gather_s=0.02)
        return await asyncio.gather(*(judge(Submission(str(n), task_id="t")) for n in range(20)))

    together, apart = Counting(True), Counting(False)
    for evaluator in (together, apart):
        verdicts = asyncio.run(run(evaluator))
        assert [v["source"] for v in verdicts] == [str(n) for n in range(20)]
    assert together.calls == [20]
    assert apart.calls == [1] * 20


def test_an_error_or_a_cancelled_conversation_does_not_stop_the_judge():
    async def run():
        judge = ev.Judge(Counting(True), gather_s=0.01)
        with pytest.raises(EvaluatorError):
            await judge(Submission("raise", task_id="t"))
        gone = asyncio.create_task(judge(Submission("gone", task_id="t")))
        await asyncio.sleep(0.02)
        gone.cancel()
        return await judge(Submission("later", task_id="t"))

    assert asyncio.run(run())["source"] == "later"


def test_conversations_of_one_loop_share_a_judge(assay_bin):
    async def two():
        settings = {"where": "command", "program": str(assay_bin)}
        assert ev.shared_judge(settings) is ev.shared_judge(dict(settings))
        assert ev.shared_judge(settings) is not ev.shared_judge(settings | {"jobs": 2})
        return ev.shared_judge(settings)

    assert asyncio.run(two()) is not asyncio.run(two()), "a judge belongs to its event loop"


def test_settings_from_the_environment(monkeypatch):
    monkeypatch.delenv("ASSAY_EVALUATOR", raising=False)
    assert ev.settings_from_environment() == {"where": "command"}
    monkeypatch.setenv("ASSAY_EVALUATOR", "http://judge:8000")
    assert ev.settings_from_environment() == {"where": "http://judge:8000"}
    monkeypatch.setenv("ASSAY_EVALUATOR", json.dumps({"where": "command", "jobs": 4}))
    assert ev.settings_from_environment() == {"where": "command", "jobs": 4}


def test_a_real_server_judges(served):
    evaluator = ev.make_evaluator(served)
    untimed = {"time": False, "trials": 2}
    source = (
        "import torch\nclass Net(torch.nn.Module):\n  def forward(self, x): return torch.relu(x)\n"
        "def get_inputs(): return [torch.randn(32, 32)]\ndef get_init_inputs(): return []\n"
    )
    verdicts = evaluator.evaluate([
        Submission(BAD, task_id="assay/relu", options=untimed),
        Submission(GOOD.replace("ModelNew", "NetNew"), task_source=source, entry="Net",
                   submission_entry="NetNew", options=untimed),
    ])  # fmt: skip
    assert [v["status"] for v in verdicts] == ["incorrect", "correct"]
    assert verdicts[1]["schema"] == "assay.verdict/1"
    with pytest.raises(EvaluatorError, match="no/such"):
        evaluator.evaluate([Submission(GOOD, task_id="no/such")])
