"""SkyRL: an environment for its generator, judged by Assay.

    import assay.integrations.skyrl_env as env
    env.register()                  # in every process that makes environments; then env_class=assay_kernel

Dataset rows name their task as conversation.Task.from_row says (reward_spec.ground_truth is the reference
module too). env_config: turns, reward, reward_options, options, evaluator (default $ASSAY_EVALUATOR).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ._engine import require
from .conversation import Conversation, Task
from .evaluator import Evaluator, make_evaluator, settings_from_environment

TESTED = "0.4.0"

skyrl_gym = require("skyrl-gym", "skyrl_gym", TESTED)

from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput  # noqa: E402


@functools.cache
def _evaluator(settings: str) -> Evaluator:
    options = json.loads(settings)
    return make_evaluator(options.pop("where", "command"), **options)


class KernelEnv(BaseTextEnv):
    """A turn per step; its reward is the turn's own. metadata and get_metrics() carry what estimators and
    coverage sampling need."""

    def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        config = dict(env_config or {})
        row = dict(extras or {})
        spec = row.get("reward_spec") or {}
        row.setdefault("ground_truth", spec.get("ground_truth"))
        evaluator = dict(config.pop("evaluator", None) or settings_from_environment())
        self.max_turns = int(config.get("turns", row.get("max_turns", 3)))
        config["turns"] = self.max_turns
        self._task, self._options = Task.from_row(row), config
        self._evaluator = _evaluator(json.dumps(evaluator, sort_keys=True))
        self.talk = Conversation(self._task, **config)

    def init(self, prompt: list[dict[str, str]]) -> tuple[list[dict[str, str]], dict[str, Any]]:
        self.talk = Conversation(replace(self._task, messages=prompt), **self._options)
        return prompt, {}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        self.turns += 1
        (verdict,) = self._evaluator.evaluate([self.talk.submission(action)])
        outcome = self.talk.record(action, verdict)
        done = self.talk.done
        return BaseTextEnvStepOutput(
            observations=[] if done else [self.talk.messages[-1]],
            reward=self.talk.rewards[-1],
            done=done,
            metadata={
                "status": outcome.status, "correct": outcome.correct, "coverage": outcome.coverage or 0.0,
                "speedup": outcome.speedup or 0.0, "masked": outcome.masked, "keep": self.talk.keep,
            },
        )  # fmt: skip

    def get_metrics(self) -> dict[str, float]:
        return {name: float(value) for name, value in self.talk.figures.items()}


def register(name: str = "assay_kernel") -> None:
    """Registers the environment with skyrl_gym. May be called again."""
    if name not in skyrl_gym.registry:
        skyrl_gym.register(id=name, entry_point=f"{__name__}:KernelEnv")
