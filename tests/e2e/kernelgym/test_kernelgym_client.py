"""A training client's protocol: POST, poll the status, fetch the result; back off on 429 and 503."""

import concurrent.futures
import hashlib
import time

from kernelgym_sources import CRASHES, PLAIN, RAISES, SLOW_TO_LOAD, WRONG, evaluation


class TrainingClient:
    """As Dr. Kernel's reward client speaks: what it retries, what it polls, what it reads."""

    def __init__(self, gym, retries: int = 8):
        self.gym = gym
        self.retries = retries
        self.refusals = []

    def evaluate(self, body: dict) -> dict:
        for attempt in range(self.retries):
            reply = self.gym.post("/evaluate", body)
            if reply.status in (429, 503):
                self.refusals.append(reply)
                time.sleep(min(float(reply.headers["Retry-After"]), 2**attempt, 30))
                continue
            assert reply.status == 200, reply  # any other status is final for this client
            break
        while True:
            status = self.gym.get(f"/status/{body['task_id']}").body
            if status["status"] == "completed":
                return self.gym.get(f"/results/{body['task_id']}").body
            if status["status"] in ("failed", "timeout", "cancelled"):
                return {"status": status["status"], "error_message": status["error_message"]}
            time.sleep(1)


def test_results(gym):
    client = TrainingClient(gym)
    assert gym.get("/health").body["status"] == "healthy"
    more = {"backend": "cuda", "is_valid": False, "verbose_errors": True, "detect_decoy_kernel": False,
            "enable_profiling": True, "reference_backend": None, "num_correct_trials": 5}
    right = client.evaluate(evaluation("drk-1", PLAIN, **more))
    assert right["correctness"] is True and right["speedup"] > 0
    wrong = client.evaluate(evaluation("drk-2", WRONG, **more))
    assert wrong["correctness"] is False and wrong["speedup"] == 0
    raised = client.evaluate(evaluation("drk-3", RAISES, **more))
    assert "ZeroDivisionError" in raised["error_message"] and raised["compiled"] is True
    crashed = client.evaluate(evaluation("drk-4", CRASHES, **more))
    assert crashed["error_message"].startswith("Kernel execution failed")
    metadata = right["metadata"]
    assert "num_coverage" in metadata and "time_coverage" in metadata


def test_decoys_are_told(gym):
    decoy = gym.post("/evaluate", evaluation("decoy-1", PLAIN, detect_decoy_kernel=True)).body
    assert decoy["correctness"] is True
    assert decoy["decoy_kernel"] is True
    assert decoy["speedup"] == 0


def test_backs_off_when_the_quota_is_full(make_server, tmp_path):
    key = "trainer-key-0123456789abcdef"
    keys = tmp_path / "keys.txt"
    keys.write_text(f"trainer sha256:{hashlib.sha256(key.encode()).hexdigest()} submit queued=1\n")
    server = make_server("--api-key-file", keys, "--jobs", 1, key=key)
    client = TrainingClient(server.gym, retries=40)
    bodies = [evaluation(f"load-{n}", SLOW_TO_LOAD + f"# {n}\n", run_performance=False) for n in range(5)]
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        results = list(pool.map(client.evaluate, bodies))
    assert [result["correctness"] for result in results] == [True] * 5
    assert client.refusals, "five at once do not fit into a queue of one"
    for refusal in client.refusals:
        assert refusal.status == 429
        assert float(refusal.headers["Retry-After"]) >= 1
        assert refusal.body["detail"]


def test_repeated_posts_are_one_task(gym):
    before = gym.get("/metrics").body["queue_metrics"]["completed_tasks"]
    body = evaluation("same-1", PLAIN + "# same\n", run_performance=False)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: gym.post("/evaluate", body), range(8)))
    assert len({reply.body["metadata"]["assay"]["job_id"] for reply in replies}) == 1
    assert gym.get("/metrics").body["queue_metrics"]["completed_tasks"] == before + 1
    other = gym.post("/evaluate", evaluation("same-1", WRONG, run_performance=False))
    assert other.body["correctness"] is False, "the answer belongs to the code that was sent"
