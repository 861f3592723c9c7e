"""verifiers (and with it prime-rl): a taskset of kernels and an environment of several turns.

verifiers loads plugins by the name of a top-level module, so make one, for example assay_kernels.py:

    from assay.integrations.verifiers import *      # noqa: F403
    from assay.integrations.verifiers import __all__  # noqa: F401

and run with --env.taskset.id assay-kernels, --env.taskset.path tasks.jsonl (rows as conversation.Task.from_row
reads them) and --env.taskset.task.evaluator http://judge:8000. The environment holds the conversation of
assay.integrations.conversation; a turn's reward and whether it trains stand in trace.info["assay"], where
assay.integrations.prime_rl.turn_advantages finds them.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any

from ._engine import require
from .conversation import Conversation, Task
from .evaluator import shared_judge

TESTED = "0.4.0"

require("verifiers", "verifiers.v1", TESTED)

import verifiers.v1 as vf  # noqa: E402

__all__ = ["KernelEnv", "KernelTask", "KernelTaskset"]


class KernelData(vf.TaskData):
    row: dict[str, Any] = {}


class KernelTaskConfig(vf.TaskConfig):
    evaluator: str = "command"
    """`command` (assay eval on this machine) or the address of a server."""
    evaluator_options: dict[str, Any] = {}
    turns: int = 3
    reward: str = "speedup/1"
    options: dict[str, Any] = {}
    """How to judge, see evaluator.Submission."""


class KernelTask(vf.Task[KernelData, vf.State, KernelTaskConfig]):
    def conversation(self, turns: int) -> Conversation:
        return Conversation(
            Task.from_row(self.data.row), turns=turns, reward=self.config.reward,
            options=self.config.options,
        )  # fmt: skip

    async def judge(self, talk: Conversation, text: str) -> None:
        settings = {"where": self.config.evaluator, **self.config.evaluator_options}
        talk.record(text, await shared_judge(settings)(talk.submission(text)))

    @vf.reward
    async def kernel(self, trace: vf.Trace) -> float:
        """The last turn's reward: of the conversation that KernelEnv held, else of the last answer."""
        known = trace.info.get("assay")
        if known is None:
            talk = self.conversation(1)
            await self.judge(talk, trace.last_reply)
            known = record(trace, talk)
        return known["rewards"][-1] if known["rewards"] else 0.0


def record(trace: vf.Trace, talk: Conversation) -> dict[str, Any]:
    """Writes the conversation's turns and figures into a trace."""
    known = {
        "rewards": talk.rewards,
        "keep": talk.keep,
        "correct": [o.correct for o in talk.outcomes],
        "coverage": [o.coverage or 0.0 for o in talk.outcomes],
        "speedup": [o.speedup or 0.0 for o in talk.outcomes],
        "status": [o.status for o in talk.outcomes],
    }
    trace.info["assay"] = known
    trace.record_metrics({name: float(value) for name, value in talk.figures.items()})
    return known


class KernelTasksetConfig(vf.TasksetConfig):
    path: pathlib.Path | None = None
    """JSONL with a row per task."""
    task: KernelTaskConfig = KernelTaskConfig()


class KernelTaskset(vf.Taskset[KernelTask, KernelTasksetConfig]):
    def load(self) -> list[KernelTask]:
        if self.config.path is None:
            raise ValueError("name a file of tasks with --env.taskset.path")
        tasks = []
        for number, line in enumerate(self.config.path.read_text(encoding="utf-8").splitlines(), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                first = Conversation(Task.from_row(row)).messages
            except (ValueError, AttributeError, TypeError) as error:
                raise ValueError(f"{self.config.path}:{number}: {error}") from error
            *system, question = first
            data = KernelData(
                prompt=question["content"], row=row, name=row.get("name"),
                system_prompt="\n".join(m["content"] for m in system) or None,
            )  # fmt: skip
            tasks.append(KernelTask(data, self.config.task))
        return tasks


class KernelEnvConfig(vf.EnvConfig):
    solver: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"})


class KernelEnv(vf.Env[KernelEnvConfig]):
    """One solver, `turns` turns, each answered with its verdict."""

    async def run(self, task: KernelTask, agents: Any) -> None:
        talk = task.conversation(task.config.turns)
        async with agents.solver.interaction(task) as solver:
            answer = await solver.turn()
            try:
                while not answer.terminated:
                    await task.judge(talk, answer.last_reply)
                    if talk.done:
                        break
                    answer = await solver.turn(talk.messages[-1]["content"])
            finally:
                # Before the interaction closes, which is when the task is scored.
                record(solver.trace, talk)


