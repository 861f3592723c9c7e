"""Environments for TRL's GRPOTrainer(environment_factory=...). Needs no TRL to import.

TRL makes instances with no arguments, calls reset(**row of the data set) at each episode's start, offers
every public method but reset and get_reward to the model as a tool, and reads get_reward() at the end.
"""

from __future__ import annotations

import os
from typing import Any, Optional

from .client import KernelEnv
from .extract import CodeBlockError, extract_code
from .models import KernelObservation
from .prompts import feedback_message, task_message

# Columns of a data set that say which task is meant; the others are the trainer's.
_RESET_COLUMNS = ("task_id", "problem_id", "suite", "split", "level", "index", "seed", "max_turns", "reward_mode",
                  "reward_parameters", "emit", "stop_on", "timing", "backend_hint", "baseline",
                  "judging")


class KernelToolEnv:
    """One rollout: the model calls submit_kernel until its turns are used up.

    The server is KERNEL_ENV_URL (http://127.0.0.1:8000), the key KERNEL_ENV_API_KEY. The reward is the
    best submission's. Subclass to set `options`, which go with every reset and before the row's columns.
    """

    options: dict[str, Any] = {}

    def __init__(self) -> None:
        self._env: Any = None
        self._best: Optional[float] = None
        self._masked = False
        self._over = False

    def reset(self, **row: Any) -> str:
        """Begins an episode. Returns the task's text, which TRL appends to the prompt."""
        if self._env is None:
            url = os.environ.get("KERNEL_ENV_URL", "http://127.0.0.1:8000")
            self._env = KernelEnv(url).sync()
        self._best, self._masked, self._over = None, False, False
        chosen = {key: row[key] for key in _RESET_COLUMNS if row.get(key) is not None}
        return task_message(self._env.reset(**{**chosen, **self.options}).observation)

    def submit_kernel(self, code: str) -> str:
        """Judges a kernel: compiles it, compares it with the reference on hidden inputs and times it.

        Args:
            code: Full Python source of a module that defines ModelNew.

        Returns:
            What was wrong with it, or how fast it is.
        """
        if self._over:
            raise ValueError("the episode is over: no submission is left")
        return self._submit(_code_of(code))

    def get_reward(self) -> Optional[float]:
        """The best reward of the episode; None where the machine failed, so that nothing is learned from it."""
        if self._best is None:
            return None if self._masked else 0.0
        return self._best

    def _submit(self, code: str) -> str:
        return self._settle(self._env.step({"code": code}))

    def _settle(self, result: Any) -> str:
        observation: KernelObservation = result.observation
        self._over = result.done
        if observation.masked:
            self._masked = True
        elif observation.op != "check":
            # The best so far, whatever the server emits.
            reward = observation.best_reward if observation.best_reward is not None else result.reward
            self._best = max(reward, self._best) if self._best is not None else reward
        return feedback_message(observation)

    def _close(self) -> None:
        if self._env is not None:
            self._env.close()
            self._env = None

    def __del__(self) -> None:
        try:
            self._close()
        except Exception:  # at the interpreter's end
            pass


class DeferredKernelToolEnv(KernelToolEnv):
    """One submission a rollout, judged while the other rollouts go on.

    TRL runs rollouts one after another, so an environment that waits for each verdict leaves all but one
    GPU idle. This one hands the submission in and collects the verdict in get_reward().
    """

    def reset(self, **row: Any) -> str:
        """Begins an episode of one submission. Returns the task's text."""
        self._ticket: Optional[str] = None
        return super().reset(**{**row, "max_turns": 1})

    def _submit(self, code: str) -> str:
        result = self._env.step({"code": code, "defer": True})
        self._ticket = result.observation.ticket if result.observation.status == "queued" else None
        if self._ticket is None:
            return self._settle(result)
        self._over = True
        return "The kernel was handed in."

    def get_reward(self) -> Optional[float]:
        """Waits for the verdict of the submission, if there was one."""
        ticket, self._ticket = getattr(self, "_ticket", None), None
        while ticket is not None:
            result = self._env.step({"op": "poll", "ticket": ticket, "code": ""})
            if result.observation.status == "queued":
                continue
            ticket = None
            self._settle(result)
        return super().get_reward()


def kernel_reward(environments: list[KernelToolEnv], **_: Any) -> list[Optional[float]]:
    """A reward function for TRL, where it takes environments: their best rewards."""
    return [environment.get_reward() for environment in environments]


def _code_of(text: str) -> str:
    try:
        return extract_code(text)
    except CodeBlockError as error:
        raise ValueError(str(error)) from None
