"""Batches, cancelling, restarts, load."""

import concurrent.futures
import threading
import time

from kernelgym_sources import ENDLESS, PLAIN, SLOW_TO_LOAD, SYNTAX, WRONG, evaluation


def test_batch(gym):
    kernels = [PLAIN, WRONG, SYNTAX, PLAIN + "# again\n"]
    tasks = [evaluation(f"batch-{n}", kernel, run_performance=False) for n, kernel in enumerate(kernels)]
    reply = gym.post("/evaluate/batch", {"batch_id": "b", "tasks": tasks})
    assert reply.status == 200
    assert reply.body["total_tasks"] == 4 and reply.body["batch_status"] == "completed"
    assert [item["task_id"] for item in reply.body["results"]] == [task["task_id"] for task in tasks]
    assert [item["correctness"] for item in reply.body["results"]] == [True, False, False, True]
    assert reply.body["completed_tasks"] == 3 and reply.body["failed_tasks"] == 1


def test_invalid_item_rejects_the_batch(gym):
    tasks = [evaluation("ok", PLAIN), evaluation("bad", PLAIN, timeout=1)]
    reply = gym.post("/evaluate/batch", {"batch_id": "b", "tasks": tasks})
    assert reply.status == 400
    assert reply.headers["X-Error-Code"] == "VALIDATION_ERROR"
    assert "('body', 'tasks', 1, 'timeout')" in reply.body["message"]
    assert gym.get("/status/ok").status == 404


def test_cancel_of_an_endless_loop(gym):
    answer = {}
    body = evaluation("endless-1", ENDLESS, timeout=600)
    thread = threading.Thread(target=lambda: answer.update(reply=gym.post("/evaluate", body)))
    thread.start()
    deadline = time.monotonic() + 60
    while gym.get("/status/endless-1").body.get("progress", 0) != 0.5:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    began = time.monotonic()
    reply = gym.call("DELETE", "/tasks/endless-1")
    assert reply.status == 200 and reply.body == {"message": "Task endless-1 cancelled successfully"}
    thread.join(20)
    assert not thread.is_alive() and time.monotonic() - began < 15
    assert answer["reply"].body["error_message"] == "Task cancelled"
    assert answer["reply"].body["correctness"] is None
    assert gym.get("/health").body["active_tasks"] == 0
    assert gym.call("DELETE", "/tasks/endless-1").status == 404


def test_deadline_of_the_request(gym):
    began = time.monotonic()
    reply = gym.post("/evaluate", evaluation("deadline-1", ENDLESS, timeout=10))
    assert time.monotonic() - began < 60
    assert reply.body["error_code"] == "TIMEOUT_ERROR"
    assert reply.body["status"] == "failed"


def test_kill_and_restart_lose_nothing(make_server):
    """SIGKILL in the middle: every accepted task ends in one verdict, under its own name."""
    server = make_server("--jobs", 2)
    bodies = [evaluation(f"kill-{n}", SLOW_TO_LOAD + f"# {n}\n", run_performance=False) for n in range(6)]

    def post(body):
        try:
            return server.gym.post("/evaluate", body).status
        except OSError:
            return 0  # the server died under it

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        posts = [pool.submit(post, body) for body in bodies]
        for body in bodies:
            server.gym.wait_for(body["task_id"], {"pending", "processing", "completed"})
        server.gym.wait_for("kill-0", {"processing", "completed"})
        time.sleep(1)
        server.kill()
        assert all(future.result(60) in (0, 200) for future in posts)
    server.start()
    for body in bodies:
        status = server.gym.wait_for(body["task_id"], {"completed"})
        assert status["error_message"] is None
        result = server.gym.get(f"/results/{body['task_id']}").body
        assert result["correctness"] is True
        again = server.gym.post("/evaluate", body).body
        assert again["metadata"]["assay"]["job_id"] == result["metadata"]["assay"]["job_id"]


def test_many_waiting_requests(make_server):
    """64 held requests and a batch beside them, without an engine: no thread is spent on waiting."""
    server = make_server("--runner", "echo", "--echo-delay-ms", "200", "--jobs", 64)
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        began = time.monotonic()
        replies = list(pool.map(
            lambda n: server.gym.post("/evaluate", evaluation(f"echo-{n}", PLAIN)).status, range(256)))
        took = time.monotonic() - began
    assert replies == [200] * 256
    assert took < 60
    tasks = [evaluation(f"echo-b{n}", PLAIN) for n in range(100)]
    reply = server.gym.post("/evaluate/batch", {"batch_id": "b", "tasks": tasks})
    assert reply.body["total_tasks"] == 100
