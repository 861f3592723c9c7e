"""A server that stops answers whoever waits, and what it owes nobody it does not keep in memory."""

import json
import signal
import socket
import subprocess
import threading
import time

from serving import SUBMISSION, Client, eventually

REFERENCE = """import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x
def get_inputs():
    return [torch.rand(4)]
def get_init_inputs():
    return []
"""


def evaluation(number):
    return {"task_id": f"t-{number}", "reference_code": REFERENCE,
            "kernel_code": f"class ModelNew:\n    pass  # {number}\n"}


def test_a_drain_answers_who_waits_and_ends_with_what_runs(serve, tmp_path):
    """One is judged, the others wait: all get an answer, and nobody waits for the grace to pass."""
    first = serve("--jobs", 1, "--drain", 30, "--echo-delay-ms", 1500)
    answers = {}

    def evaluate(number):
        status, headers, text = first.request("POST", "/kernelgym/evaluate", evaluation(number))
        answers[number] = status, {name.lower(): value for name, value in headers.items()}, json.loads(text)

    def submit():
        answers["native"] = first.request("POST", "/v1/submissions?wait=20", SUBMISSION)

    def depth():
        queue = json.loads(first.request("GET", "/v1/queue")[2])
        return queue["queued"], queue["running"]

    threads = [threading.Thread(target=evaluate, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    assert eventually(lambda: depth()[1] == 1 and depth()[0] >= 3)
    threads.append(threading.Thread(target=submit))
    threads[-1].start()
    assert eventually(lambda: depth() == (4, 1))
    start = time.monotonic()
    first.signal(signal.SIGTERM)
    assert first.wait() == 0
    assert time.monotonic() - start < 8
    for thread in threads:
        thread.join()
    assert answers["native"][0] == 202
    kept = json.loads(answers.pop("native")[2])
    assert kept["state"] == "queued"
    assert sorted(status for status, _, _ in answers.values()) == [200, 503, 503, 503]
    for number, (status, headers, body) in answers.items():
        if status == 503:
            assert "kept" in body["detail"] and f"/status/t-{number}" in body["detail"]
            assert int(headers["retry-after"]) >= 1
    # As they were told.
    second = serve("--jobs", 1, store=tmp_path / "store.db")
    status, _, text = second.request("GET", f"/v1/submissions/{kept['id']}?wait=20")
    assert status == 200 and json.loads(text)["state"] == "done"
    for number in range(4):
        assert second.request("GET", f"/kernelgym/status/t-{number}")[0] == 200


def test_a_signal_ends_it_while_the_engine_starts(assay_bin, tmp_path):
    """The interpreter never answers; the server accepts nothing more and is gone at once."""
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexec sleep 600\n")
    python.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [str(assay_bin), "serve", "--port", str(port), "--device", "cpu", "--python", str(python),
         "--store", str(tmp_path / "store.db")],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    try:
        def submitted():
            try:
                with Client(port) as client:
                    return client.request("POST", "/v1/submissions", SUBMISSION)[0] == 202
            except OSError:
                return False

        assert eventually(submitted)
        start = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert time.monotonic() - start < 5
    finally:
        process.kill()
        process.wait()


def test_batches_keep_no_cases_of_what_was_submitted(serve):
    """Cases are twelve times as large parsed as sent, and a batch may be open for half an hour."""
    server = serve("--jobs", 1, "--echo-delay-ms", 600_000)
    batches, tasks, values = 12, 100, 9_000

    def resident():
        with open(f"/proc/{server.process.pid}/statm") as statm:
            return int(statm.read().split()[1]) * 4096 >> 20

    def batch(number):
        cases = [{"inputs": [[0] * values], "output": 0}]
        sent = [{"task_id": f"b{number}-{task}", "kernel_code": "class Model: pass", "cases": cases,
                  "workflow": "kernel_simple", "toolkit": "kernel_simple"} for task in range(tasks)]
        body = json.dumps({"batch_id": f"b{number}", "tasks": sent}, separators=(",", ":")).encode()
        try:
            server.request("POST", "/kernelgym/evaluate/batch", body, timeout=120)
        except (OSError, EOFError):
            pass  # the server is killed at the end

    before = resident()
    for number in range(batches):
        threading.Thread(target=batch, args=(number,), daemon=True).start()
        most = tasks * (number + 1) - 1
        assert eventually(
            lambda: json.loads(server.request("GET", "/v1/queue")[2])["queued"] >= most, timeout=60)
    # The sources wait; the cases alone, parsed, would be more.
    assert resident() - before < batches * tasks * values * 24 >> 20
