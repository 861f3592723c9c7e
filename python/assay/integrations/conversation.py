"""One conversation about one kernel, as every trainer plays it: the model answers, the answer's code is
judged, the verdict becomes the next question.

    conversation = Conversation(task, turns=3)
    while not conversation.done:
        text = generate(conversation.messages)
        verdict = judge(conversation.submission(text))
        conversation.record(text, verdict)
    conversation.rewards, conversation.keep

Nothing here knows tokens or an engine; texts depend on nothing but the arguments, so prompts keep their
prefixes and engines keep their caches.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import assay.rl as rl

from .evaluator import Submission, Verdict

Message = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What a trainer reads of a verdict."""

    status: str
    compiled: bool
    correct: bool
    decoy: bool  #: its own kernels do not do the work
    flagged: bool  #: an integrity violation
    masked: bool  #: not the candidate's doing (infrastructure, cancelled): train on nothing
    speedup: float | None  #: None where it was not measured or means nothing (Triton on a CPU)
    coverage: float | None  #: share of GPU time in its own kernels; None if it was not profiled
    feedback: str
    verdict: Verdict = field(repr=False, compare=False)

    @classmethod
    def of(cls, verdict: Verdict) -> Outcome:
        timing = verdict.get("timing") or {}
        profile = verdict.get("profile") or {}
        paid = bool(verdict.get("correct")) and timing.get("meaningful", True)
        speedup = timing.get("speedup") if paid else None
        return cls(
            status=verdict["status"],
            compiled=bool(verdict.get("compiled")),
            correct=bool(verdict.get("correct")),
            decoy="decoy" in verdict.get("flags", ()),
            flagged=verdict.get("fault") == "integrity",
            masked=verdict["status"] in ("infra_error", "cancelled"),
            speedup=None if speedup is None else float(speedup["value"]),
            coverage=profile.get("coverage_time"),
            feedback=str(verdict.get("feedback", "")),
            verdict=verdict,
        )

    def reward(self, name: str = "speedup/1", **options: Any) -> float:
        """rl.reward of it. Without a profile there is no coverage to pay for; masked ones are worth 0."""
        if self.masked:
            return 0.0
        return rl.reward(
            name,
            completed=True,
            compiled=self.compiled,
            correct=self.correct,
            decoy=self.decoy or self.flagged,
            speedup=self.speedup,
            own_time_us=self.coverage or 0.0,
            all_time_us=1.0,
            **options,
        ).value


_MARKERS = ("# Your implementation:", "# Generated kernel:")


def extract_code(text: str) -> str:
    """The submission in a model's answer: after a `# Kernel Implementation` line (to `# End`); a fence
    that starts with `# Kernel`; after `# Your implementation:` or `# Generated kernel:`; the last fence
    that was closed; else everything. A fence that was cut off counts as one to the end. Thinking between
    <think> tags is not looked at."""
    text = _without_thinking(text)
    header = re.search(r"^# Kernel Implementation[^\n]*\n", text, re.MULTILINE)
    if header:
        return _unfenced(re.split(r"^# End\b", text[header.end() :], maxsplit=1, flags=re.MULTILINE)[0])
    fences = _fences(text)
    for code in fences:
        if code.lstrip().startswith("# Kernel"):
            return code.strip()
    for marker in _MARKERS:
        if marker in text:
            return _unfenced(text.split(marker, 1)[1])
    if fences:
        return fences[-1].strip()
    opened = re.search(r"^[ \t]*```[^\n]*\n", text, re.MULTILINE)
    return text[opened.end() :].strip() if opened else text.strip()


# An answer is hostile input: both take time in proportion to its length.


def _without_thinking(text: str) -> str:
    kept, at = [], 0
    while (start := text.find("<think>", at)) >= 0 and (end := text.find("</think>", start)) >= 0:
        kept.append(text[at:start])
        at = end + len("</think>")
    return "".join(kept) + text[at:]


def _fences(text: str) -> list[str]:
    """What stands in the fences that were closed."""
    fences: list[str] = []
    inside: list[str] | None = None
    for line in text.split("\n"):
        if inside is None:
            inside = [] if line.lstrip(" \t").startswith("```") else None
        elif line.strip() == "```":
            fences.append("\n".join(inside))
            inside = None
        else:
            inside.append(line)
    return fences


def _unfenced(code: str) -> str:
    return (_fences(code) or [code])[0].strip()


def limited(text: str, size: int) -> str:
    """At most `size` bytes of UTF-8: the beginning and the end, where errors say most."""
    data = text.encode()
    if len(data) <= size:
        return text
    gap = b"\n[...]\n"
    if size <= len(gap):
        return data[:size].decode(errors="ignore")
    head = (size - len(gap)) // 2
    tail = size - len(gap) - head
    return (
        data[:head].decode(errors="ignore") + gap.decode() + data[-tail:].decode(errors="ignore")
    )


@dataclass(frozen=True)
class Task:
    """What is asked. `messages`: the first question; None: prompt_for(task_source), which needs that."""

    task_id: str = ""
    task_source: str = ""
    entry: str = "Model"
    messages: Sequence[Message] | None = None

    @classmethod
    def from_row(cls, row: Mapping[str, Any], messages: Sequence[Message] | None = None) -> Task:
        """Of a dataset row: task_id, or a reference module in reward_model.ground_truth, ground_truth or
        task_source; entry_point of extra_info or the row; messages of `prompt` if it is a list."""
        extra = row.get("extra_info") or {}
        task_id = str(row.get("task_id") or extra.get("task_id") or "")
        source = (
            (row.get("reward_model") or {}).get("ground_truth")
            or row.get("ground_truth")
            or row.get("task_source")
            or ""
        )
        if not task_id and not source:
            raise ValueError(
                "a dataset row names no task: it needs task_id, or the reference module as task_source or "
                "reward_model.ground_truth"
            )
        prompt = row.get("prompt")
        if messages is None and prompt is not None and not isinstance(prompt, str):
            messages = [dict(m) for m in prompt]
        return cls(
            task_id=task_id,
            task_source="" if task_id else str(source),
            entry=str(extra.get("entry_point") or row.get("entry_point") or "Model"),
            messages=messages,
        )


PROMPT = """Write a faster version of the PyTorch module `{entry}` below, with custom Triton kernels \
(`@triton.jit`). Call the new module `{entry}New`; it takes the same arguments, has the same parameters \
and returns the same result. It is compared with the original on hidden inputs and timed against it. \
Answer with one complete Python module in one code block.

```python
{source}
```"""

NEXT = """Your last answer was judged:

{feedback}

Improve it, and answer with the complete module again, in one code block."""


def prompt_for(task_source: str, entry: str = "Model") -> list[Message]:
    """A first question about a reference module."""
    return [{"role": "user", "content": PROMPT.format(entry=entry, source=task_source.strip())}]


class Conversation:
    """The state of one trajectory. Not thread-safe."""

    def __init__(
        self,
        task: Task,
        *,
        turns: int = 3,
        reward: str = "speedup/1",
        reward_options: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        feedback_bytes: int = 4096,
        recent: int | None = None,
        stop_when_correct: bool = False,
        mask_void_turn: bool = True,
    ) -> None:
        """reward and reward_options: of Outcome.reward; options: of Submission; recent: how many
        messages besides the first ones stay in sight (None: all); stop_when_correct: no turn after a
        correct one."""
        if turns < 1:
            raise ValueError(f"turns is {turns}; a conversation has at least one")
        if recent is not None and (recent < 2 or recent % 2):
            raise ValueError(f"recent is {recent}; it counts answers with their questions: 2, 4, …")
        self.task = task
        self.turns = turns
        asked = task.messages
        if not asked and task.task_source:
            asked = prompt_for(task.task_source, task.entry)
        self.first = list(asked or ())
        self.outcomes: list[Outcome] = []
        self.rewards: list[float] = []
        self.exhausted = False
        self._reward = (reward, dict(reward_options or {}))
        self._options = dict(options or {})
        self._feedback_bytes = feedback_bytes
        self._recent = recent
        self._stop_when_correct = stop_when_correct
        self._mask_void_turn = mask_void_turn
        self._said: list[Message] = []

    @property
    def messages(self) -> list[Message]:
        """What the model sees next. With `recent` it is no extension of what it saw before. ValueError for
        a task that is known by its id alone: nobody has said what to ask."""
        if not self.first:
            raise ValueError(
                f"task {self.task.task_id} comes without a first question: give its dataset row a `prompt` "
                "(a list of messages)"
            )
        said = self._said if self._recent is None else self._said[-self._recent :]
        return [*self.first, *said]

    @property
    def done(self) -> bool:
        correct = bool(self.outcomes) and self.outcomes[-1].correct
        broken = bool(self.outcomes) and self.outcomes[-1].masked
        over = len(self.outcomes) >= self.turns or self.exhausted or broken
        return over or (self._stop_when_correct and correct)

    def submission(self, text: str) -> Submission:
        return Submission(
            source=extract_code(text),
            task_id=self.task.task_id,
            task_source=self.task.task_source,
            entry=self.task.entry,
            submission_entry=f"{self.task.entry}New",
            options=self._options,
        )

    def record(self, text: str, verdict: Verdict) -> Outcome:
        """Takes the answer and its verdict as the next turn."""
        outcome = Outcome.of(verdict)
        name, options = self._reward
        self.outcomes.append(outcome)
        self.rewards.append(outcome.reward(name, **options))
        feedback = limited(outcome.feedback, self._feedback_bytes)
        self._said += [
            {"role": "assistant", "content": text},
            {"role": "user", "content": NEXT.format(feedback=feedback)},
        ]
        return outcome

    def exhaust(self) -> None:
        """There is no room for another answer: the conversation ends with the turns it has."""
        self.exhausted = True

    @property
    def keep(self) -> list[bool]:
        """Per turn, whether it trains: rl.void_turns, and nothing of a conversation that broke off on an
        infrastructure fault."""
        n = len(self.rewards)
        if n == 0:
            return []
        batch = rl.Batch(group=[0] * n, trajectory=[0] * n, turn=range(1, n + 1), reward=self.rewards)
        failed = [o.masked for o in self.outcomes]
        keep = rl.void_turns(batch, failed=failed, mask_void_turn=self._mask_void_turn)
        return [bool(k) for k in keep]

    @property
    def figures(self) -> dict[str, Any]:
        """Numbers of the whole conversation, the same keys for every one (0 where there is nothing)."""
        best = max((o.speedup or 0.0 for o in self.outcomes if o.correct), default=0.0)
        return {
            "turns": len(self.outcomes),
            "reward_last": self.rewards[-1] if self.rewards else 0.0,
            "reward_best": max(self.rewards, default=0.0),
            "correct_last": bool(self.outcomes) and self.outcomes[-1].correct,
            "correct_any": any(o.correct for o in self.outcomes),
            "speedup_best": best,
            "flagged": any(o.flagged or o.decoy for o in self.outcomes),
            "masked": any(o.masked for o in self.outcomes),
            "exhausted": self.exhausted,
        }
