"""What travels between client and server. The server's /schema is the authority; these agree with it."""

from __future__ import annotations

from typing import Any, Literal, Optional

from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field

Op = Literal["submit", "check", "poll", "cancel"]
Language = Literal["auto", "triton", "cuda", "cpp", "cutlass", "tilelang", "pytorch"]


class KernelAction(Action):
    """A submission, or a question about one."""

    code: str = Field(description="Full Python source, or a reply that holds it in one ```python block")
    op: Op = Field(default="submit", description="check: correctness only, no times and no reward")
    language: Language = "auto"
    entry_point: str = Field(default="ModelNew", description="Class to build")
    task_id: Optional[str] = Field(default=None, description="For stateless HTTP")
    ticket: Optional[str] = Field(default=None, description="Of poll and cancel")
    defer: bool = Field(default=False, description="Answer at once with a ticket")


class KernelObservation(Observation):
    """What became of a reset or a submission. `masked`: there is no reward to learn from."""

    task_id: str = ""
    status: str = ""
    turn: int = 0
    max_turns: int = 0
    checks_left: int = 0
    feedback: str = ""
    error: Optional[dict[str, Any]] = None
    done_reason: Optional[str] = None
    masked: bool = False
    episode_token: Optional[str] = None

    # After a reset, and with detail="full" always.
    name: str = ""
    level: int = 0
    prompt: str = ""
    instructions: str = ""
    reference_code: str = ""
    entry_point: str = "ModelNew"
    input_spec: dict[str, Any] = Field(default_factory=dict)
    tolerance: dict[str, Any] = Field(default_factory=dict)
    hardware: dict[str, Any] = Field(default_factory=dict)
    baseline: dict[str, Any] = Field(default_factory=dict)
    reward_mode: str = ""
    emission: str = ""

    # After a submission.
    op: str = ""
    stage: str = ""
    compiled: Optional[bool] = None
    correct: Optional[bool] = None
    correctness: Optional[dict[str, Any]] = None
    timing: Optional[dict[str, Any]] = None
    roofline: Optional[dict[str, Any]] = None
    speedup: Optional[float] = None
    sol_fraction: Optional[float] = None
    best_speedup: Optional[float] = None
    best_reward: Optional[float] = None
    best_turn: Optional[int] = None
    reward_parts: dict[str, Any] = Field(default_factory=dict)
    reward_note: Optional[str] = None
    flags: list[str] = Field(default_factory=list)
    ticket: Optional[str] = None
    queue_ms: Optional[float] = None
    eval_ms: Optional[float] = None


class KernelState(State):
    """Where an episode stands; small, for some trainers ask after every step."""

    task_id: Optional[str] = None
    suite: Optional[str] = None
    seed: Any = None
    turn: int = 0
    max_turns: int = 0
    best_reward: Optional[float] = None
    best_speedup: Optional[float] = None
    solved: bool = False
    done: bool = False
    done_reason: Optional[str] = None
    pending_ticket: Optional[str] = None
    last_ticket: Optional[str] = None
