"""The taskset and the environment of several turns through the real verifiers package."""

import asyncio
import json
import os
import pathlib
import sys

import engines
import pytest

vf = engines.module("verifiers.v1", "its adapter is", allow_module_level=True)

from assay.integrations import evaluator as ev  # noqa: E402

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/rl"
REFERENCE = (
    "import torch\nclass Model(torch.nn.Module):\n  def forward(self, x): return torch.relu(x)\n"
    "def get_inputs(): return [torch.randn(16, 16)]\ndef get_init_inputs(): return []\n"
)
GOOD = "```python\nimport torch\nclass ModelNew(torch.nn.Module):\n  def forward(self, x): return x.clamp(min=0)\n```"
WRONG = GOOD.replace("x.clamp(min=0)", "x")


@pytest.fixture
def taskset(tmp_path, monkeypatch, assay_bin):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    path = tmp_path / "tasks.jsonl"
    rows = [{"name": "relu", "task_source": REFERENCE},
            {"task_id": "assay/relu", "prompt": [{"role": "system", "content": "s"},
                                                 {"role": "user", "content": "q"}]}]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    return {
        "id": "assay-kernels", "path": str(path),
        "task": {"options": {"time": False, "trials": 2}, "evaluator_options": {
            "program": str(assay_bin), "python": os.environ["ASSAY_PYTHON"], "device": "cpu"}},
    }  # fmt: skip


def load(taskset):
    from verifiers.v1.utils.loaders import load_taskset, taskset_class

    kind = taskset_class("assay-kernels")
    from assay.integrations.verifiers import KernelTasksetConfig

    assert kind.__name__ == "KernelTaskset"
    return load_taskset(KernelTasksetConfig.model_validate(taskset))


def trace_of(task, *replies):
    from verifiers.v1.graph import MessageNode
    from verifiers.v1.types import AssistantMessage

    nodes = [MessageNode(parent=None, message=AssistantMessage(content=r), sampled=True) for r in replies]
    return vf.Trace(
        task={"type": type(task).__name__, "data": task.data},
        agent={"config": vf.AgentConfig()}, nodes=nodes,
    )  # fmt: skip


def test_tasks_load_through_verifiers(taskset, tmp_path):
    first, second = load(taskset)
    assert first.data.name == "relu" and "torch.relu(x)" in first.data.prompt
    assert (second.data.system_prompt, second.data.prompt, second.data.idx) == ("s", "q", 1)
    assert first.key != second.key
    (tmp_path / "bad.jsonl").write_text('{"name": "no task"}\n')
    with pytest.raises(ValueError, match=r"bad.jsonl:1: a dataset row names no task"):
        list(load(taskset | {"path": str(tmp_path / "bad.jsonl")}))
    with pytest.raises(ValueError, match="--env.taskset.path"):
        list(load(taskset | {"path": None}))


def test_an_answer_is_scored_by_assay(taskset):
    """verifiers' own scoring, assay eval behind it."""
    first, second = load(taskset)

    async def both():
        traces = [trace_of(first, GOOD), trace_of(second, WRONG)]
        await asyncio.gather(*(t.score(x) for t, x in zip((first, second), traces)))
        return traces

    right, wrong = asyncio.run(both())
    assert right.rewards["kernel"].value == 0.5 and right.metrics["correct_last"] == 1
    assert wrong.rewards["kernel"].value == 0.0
    assert wrong.info["assay"]["status"] == ["incorrect"]


class Solver:
    """An agent that says what it is told to, with verifiers' own trace and segments."""

    def __init__(self, task, replies):
        self.trace, self.replies, self.heard = trace_of(task, *replies), list(replies), []

    def interaction(self, task):
        return self

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return False

    async def turn(self, message=None):
        from verifiers.v1.agent import Segment

        self.heard.append(message)
        if not self.replies:
            return Segment(messages=[], terminated=True)
        return Segment(messages=[], root_reply=self.replies.pop(0))


class Fixed:
    batches = True

    def __init__(self, *statuses):
        self.statuses = list(statuses)

    def evaluate(self, submissions):
        return [
            {"status": s, "correct": s == "correct", "compiled": True, "feedback": f"it is {s}", "flags": [],
             "timing": {"speedup": {"value": 1.5}}} if s != "infra_error" else ev.unavailable("gone")
            for s in (self.statuses.pop(0) for _ in submissions)
        ]  # fmt: skip


@pytest.mark.parametrize("replies, statuses, rewards, keep", [
    (["a", "b", "c"], ["incorrect", "correct", "incorrect"], [0.0, 1.25, 0.0], [True, True, False]),
    (["a", "b"], ["incorrect", "correct"], [0.0, 1.25], [True, True]),  # the solver gave up
    (["a", "b", "c"], ["correct", "infra_error"], [1.25, 0.0], [False, False]),
])  # fmt: skip
def test_the_environment_holds_the_conversation(taskset, monkeypatch, replies, statuses, rewards, keep):
    from verifiers.v1.utils.loaders import environment_class

    kind = environment_class("assay-kernels")
    assert kind.__name__ == "KernelEnv"
    monkeypatch.setattr(ev, "make_evaluator", lambda where, **_: Fixed(*statuses))
    ev._judges.clear()
    task, _ = load(taskset)
    solver = Solver(task, replies)
    agents = type("Agents", (), {"solver": solver})

    async def run():
        await kind.run(kind.__new__(kind), task, agents)
        await task.score(solver.trace)

    asyncio.run(run())
    ev._judges.clear()
    known = solver.trace.info["assay"]
    assert (known["rewards"], known["keep"]) == (rewards, keep)
    assert solver.heard[0] is None and "it is" in solver.heard[1]
    assert solver.trace.rewards["kernel"].value == rewards[-1]


def test_the_environment_is_built_from_its_configuration(taskset):
    from assay.integrations.verifiers import KernelEnv, KernelEnvConfig

    load(taskset)
    env = KernelEnv(KernelEnvConfig.model_validate({"taskset": taskset}))
    assert env.taskset.task_type().__name__ == "KernelTask" and len(list(env.taskset)) == 2
    assert "assay_kernels" in sys.modules
