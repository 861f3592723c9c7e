"""Messages for chat models. The texts come from the server, so training and evaluation read the same."""

from __future__ import annotations

from typing import Any, Optional

from .models import KernelObservation

Message = dict[str, Any]


def task_message(observation: KernelObservation) -> str:
    """The first user message of an episode; `observation` is the one that a reset gave."""
    if not observation.prompt:
        raise ValueError("only a reset's observation has a prompt (or any with detail='full')")
    return observation.prompt


def initial_messages(observation: KernelObservation, system: Optional[str] = None) -> list[Message]:
    """The conversation that a policy is asked to go on with."""
    first = [{"role": "system", "content": system}] if system else []
    return [*first, {"role": "user", "content": task_message(observation)}]


def feedback_message(observation: KernelObservation) -> str:
    """The user message after a submission: what became of it, and what is asked next."""
    lines = [f"Submission {observation.turn} of {observation.max_turns}: {observation.status}.", observation.feedback]
    if observation.done:
        return "\n".join(lines)
    lines.append("Make it faster." if observation.correct else "Mend it.")
    lines.append("Answer with the whole module in one ```python block.")
    return "\n".join(lines)
