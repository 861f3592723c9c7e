"""Sessions for OpenEnv's rollout harness: tools and rewards of Kernel Env, one session a rollout."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional

from openenv.core.env_server.mcp_types import Tool
from openenv.core.harness import ResourceSession, ResourceSessionFactory, ToolResult, VerifyResult

from .client import KernelEnv
from .prompts import feedback_message, initial_messages

_CODE = {"type": "object", "properties": {"code": {"type": "string", "description": "Full Python source that "
                                                   "defines ModelNew"}}, "required": ["code"]}
_TOOLS = [
    Tool(name="submit_kernel", description="Compiles, checks and times a kernel. Takes a turn.", input_schema=_CODE),
    Tool(name="check_kernel", description="Compiles and checks a kernel, without a reward.", input_schema=_CODE),
]


class KernelSession(ResourceSession):
    """One episode. `env` is a blocking client that the session closes."""

    def __init__(self, env: Any, reset: Mapping[str, Any], system: Optional[str] = None):
        self._env = env
        self._system = system
        self._observation = env.reset(**reset).observation
        self._task = self._observation
        self._done = False
        self._masked = False

    def initial_messages(self) -> list[dict[str, Any]]:
        return initial_messages(self._task, self._system)

    def list_tools(self) -> list[Tool]:
        return list(_TOOLS)

    def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        if name not in ("submit_kernel", "check_kernel"):
            return ToolResult(error=f"no tool {name!r}; there is: submit_kernel, check_kernel")
        code = arguments.get("code")
        if not isinstance(code, str):
            return ToolResult(error="code, a string, is required")
        result = self._env.step({"code": code, "op": "check" if name == "check_kernel" else "submit"})
        self._observation, self._done = result.observation, result.done
        self._masked = self._masked or result.observation.masked
        return ToolResult(data=feedback_message(result.observation), done=result.done,
                          metadata={"reward": result.reward, "status": result.observation.status,
                                    "masked": result.observation.masked})

    def verify(self, transcript: list[dict[str, Any]], final_state: Any = None) -> VerifyResult:
        """The best reward of the episode, as the server gave it; None where only the machine failed."""
        best = self._observation.best_reward
        reward = best if best is not None else None if self._masked else 0.0
        metrics = {"turns": self._observation.turn, "best_speedup": self._observation.best_speedup,
                   "status": self._observation.status}
        return VerifyResult(env_reward=reward, done=self._done, metrics=metrics)

    def close(self) -> None:
        self._env.close()


class KernelSessionFactory(ResourceSessionFactory):
    """Makes sessions against one server.

    `task`, as create() is given it, is a task's id, a mapping of reset's arguments, or None.
    """

    def __init__(self, base_url: str, system: Optional[str] = None,
                 make_env: Optional[Callable[[str], Any]] = None, **options: Any):
        self._base_url = base_url
        self._system = system
        self._make_env = make_env or (lambda url: KernelEnv(url).sync())
        self._options = options

    def create(self, task: Any = None, seed: Optional[int] = None, episode_id: Optional[str] = None) -> KernelSession:
        reset = dict(self._options)
        reset.update({"task_id": task} if isinstance(task, str) else dict(task or {}))
        if seed is not None:
            reset["seed"] = seed
        if episode_id is not None:
            reset["episode_id"] = episode_id
        return KernelSession(self._make_env(self._base_url), reset, self._system)
