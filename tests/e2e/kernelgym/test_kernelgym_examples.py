"""What KernelGYM's own documents promise: the two workflows with requests of the forms they show."""

import pytest
from kernelgym_sources import PLAIN, REFERENCE, SYNTAX, TRITON_ADD, TRITON_SOFTMAX, evaluation


def test_kernel_simple(gym):
    """The document's first example: the kernel brings its own cases."""
    reply = gym.post("/workflow/submit", {
        "workflow": "kernel_simple",
        "task_id": "add-1",
        "payload": {"task_id": "add-1", "kernel_code": TRITON_ADD, "entry_point": "ModelNew",
                    "backend": "triton", "device": "cuda:0", "run_correctness": True,
                    "run_performance": True, "num_perf_trials": 100},
    })
    assert reply.status == 200
    result = reply.body["result"]
    assert reply.body["status"] == "completed", reply.body
    assert result["compiled"] is True
    assert result["correctness"] is True
    assert f"{result['kernel_runtime']:.4f}"
    assert result["metadata"]["cases_source"] == "kernel_code"
    assert "speedup" not in result
    assert gym.get("/workflow/results/add-1").body == reply.body


def test_kernelbench(gym):
    """The document's second example."""
    reply = gym.post("/evaluate", evaluation("softmax-1", TRITON_SOFTMAX, entry_point="Model",
                                             backend="triton", num_correct_trials=5,
                                             num_perf_trials=100))
    assert reply.status == 200
    result = reply.body
    assert result["compiled"] is True and result["correctness"] is True, result
    assert result["decoy_kernel"] is False
    for key in ("speedup", "reference_runtime", "kernel_runtime"):
        assert f"{result[key]:.4f}"
    assert result["metadata"]["correctness_trials"] == "(5 / 5)"


def test_wrong_kernel_simple(gym):
    wrong = TRITON_ADD.replace("mask=inside) + tl.load", "mask=inside) - tl.load")
    assert wrong != TRITON_ADD
    reply = gym.post("/workflow/submit", {"workflow": "kernel_simple", "task_id": "sub-1",
                                          "payload": {"kernel_code": wrong}})
    assert reply.body["result"]["correctness"] is False
    assert reply.body["error_code"] == "CORRECTNESS_ERROR"


SCALE = """
import torch

class ModelNew(torch.nn.Module):
    def __init__(self, factor=1):
        super().__init__()
        self.factor = factor

    def forward(self, x, y):
        return x * y * self.factor, 2.0

def get_init_inputs():
    return [3]
"""


@pytest.mark.parametrize("right, arguments", [(True, "[3]"), (False, "[3]"), (True, "[[], {'factor': 3}]")])
def test_inline_cases(gym, right, arguments):
    """Tensors, typed tensors, scalars and several results; two cases of different shapes."""
    cases = [{"inputs": [[1.0, 2.0], 2], "outputs": [[6.0, 12.0], 2.0]},
             {"inputs": [[[1, 2], [3, 4]], 1],
              "outputs": [{"data": [[3, 6], [9, 12 if right else 13]], "dtype": "int64"}, 2.0]}]
    reply = gym.post("/evaluate", {"task_id": f"inline-{right}-{len(arguments)}", "workflow": "kernel_simple",
                                   "kernel_code": SCALE.replace("[3]", arguments), "cases": cases})
    assert reply.body["correctness"] is right, reply.body
    assert reply.body["metadata"]["num_cases"] == 2


@pytest.mark.parametrize("arguments", ["[3]", "[[], {'factor': 3}]"])
def test_cases_code(gym, arguments):
    """Cases that the requester vouches for: fresh inputs for each trial, any Python."""
    cases = """
import torch

def get_cases():
    cases = []
    for rows in (3, 5):
        x = torch.randn(rows, 8, device='cuda')
        cases.append({"name": f"{rows} rows", "inputs": [x, 2.0], "outputs": (x * 2.0 * 3, 2.0)})
    return cases

def get_init_inputs():
    return ARGUMENTS
""".replace("ARGUMENTS", arguments)
    reply = gym.post("/workflow/submit", {"workflow": "kernel_simple", "task_id": f"code-{len(arguments)}",
                                          "payload": {"kernel_code": SCALE, "cases_code": cases}})
    assert reply.body["result"]["correctness"] is True, reply.body
    assert reply.body["result"]["metadata"]["cases_source"] == "cases_code"


def test_hostile_cases_are_refused(gym):
    hostile = SCALE + "\ndef get_cases():\n    return [{'inputs': [1], 'outputs': open('/etc/passwd').read()}]\n"
    reply = gym.post("/workflow/submit", {"workflow": "kernel_simple", "task_id": "hostile-1",
                                          "payload": {"kernel_code": hostile}})
    assert reply.body["status"] == "failed"
    assert reply.body["error_code"] == "VALIDATION_ERROR"
    assert "cases_code" in reply.body["error_message"]


def test_huge_cases_of_a_submission_are_refused(gym):
    huge = TRITON_ADD.replace("torch.randn(1024", "torch.randn(100000, 100000")
    reply = gym.post("/workflow/submit", {"workflow": "kernel_simple", "task_id": "huge-1",
                                          "payload": {"kernel_code": huge}})
    assert reply.status == 200
    assert "too large" in reply.body["error_message"]


def test_compiled_reference(gym):
    reply = gym.post("/evaluate", evaluation("compile-1", PLAIN, reference_backend="compile", timeout=600),
                     timeout=900)
    assert reply.status == 200
    assert reply.body["correctness"] is True, reply.body
    assert reply.body["metadata"]["reference_backend"] == "compile"


def test_broken_reference_is_not_the_kernels_fault(gym):
    reply = gym.post("/evaluate", {"task_id": "ref-1", "kernel_code": PLAIN,
                                   "reference_code": REFERENCE.replace("softmax", "sotfmax")})
    assert reply.status == 200
    assert reply.body["error_origin"] == "reference"
    assert reply.body["error_message"].startswith("Reference code validation failed")


def test_compile_error(gym):
    reply = gym.post("/evaluate", evaluation("syntax-1", SYNTAX))
    assert reply.body["status"] == "failed"
    assert reply.body["error_message"].startswith("Kernel compilation failed: Syntax error in kernel code")
    status = gym.get("/status/syntax-1").body
    assert status["status"] == "failed" and status["error_message"] == reply.body["error_message"]


def test_health_and_workers(gym):
    health = gym.get("/health").body
    assert health["status"] == "healthy"
    assert all(isinstance(value, dict) for value in health["gpu_status"].values())
    workers = gym.get("/workers/status").body
    assert any(worker["serves_tasks"] for worker in workers.values())
