"""The conversation that all trainers play."""

import time

import pytest

from assay.integrations.conversation import Conversation, Outcome, Task, extract_code, limited
from assay.integrations.evaluator import unavailable


def verdict(status="correct", speedup=None, coverage=None, flags=(), meaningful=True, fault=None):
    correct = status == "correct"
    document = {
        "schema": "assay.verdict/1", "status": status, "correct": correct,
        "fault": fault or ("none" if correct else "candidate"),
        "compiled": status not in ("compile_error", "invalid_submission"),
        "timing": {"speedup": speedup and {"value": speedup}, "meaningful": meaningful},
        "flags": list(flags), "feedback": f"{status} {'x' * 20}",
    }  # fmt: skip
    if coverage is not None:
        document["profile"] = {"coverage_time": coverage}
    return document


@pytest.mark.parametrize("document, value", [
    (verdict(speedup=1.3, coverage=0.62), 1.46),
    (verdict(speedup=7.0, coverage=1.0), 2.5),
    (verdict(speedup=0.4), 0.7),
    (verdict(speedup=2.0, meaningful=False), 0.5),
    (verdict(), 0.5),
    (verdict("incorrect"), 0.0),
    (verdict("compile_error"), 0.0),
    (verdict("rejected_cheat", fault="integrity"), 0.0),
    (verdict(speedup=2.0, flags=["decoy"]), 0.0),
    (verdict("timeout"), 0.0),
    (unavailable("gone"), 0.0),
])  # fmt: skip
def test_rewards_of_the_published_recipe(document, value):
    assert Outcome.of(document).reward() == pytest.approx(value)


def test_only_infrastructure_masks():
    masked = [s for s in ("correct", "incorrect", "timeout", "rejected_cheat", "infra_error", "cancelled")
              if Outcome.of(verdict(s)).masked]  # fmt: skip
    assert masked == ["infra_error", "cancelled"]
    assert Outcome.of(verdict("infra_error")).reward("staircase/1") == 0


@pytest.mark.parametrize("text, code", [
    ("talk\n```python\na = 1\n```\nmore\n```\nb = 2\n```\nend", "b = 2"),
    ("```python\n# Kernel one\na\n```\n```\nb\n```", "# Kernel one\na"),
    ("x\n# Kernel Implementation\n```python\na\n```\n# End\nb", "a"),
    ("x\n# Kernel Implementation\na\n# End of it\nb", "a"),
    ("# Your implementation:\na = 1", "a = 1"),
    ("so:\n# Generated kernel:\n```py\na\n```", "a"),
    ("no code at all", "no code at all"),
    ("<think>```python\nwrong\n```</think>```python\nright\n```", "right"),
    ("cut off:\n```python\na = 1\nb", "a = 1\nb"),
    ("```python\ns = '''\n``` inside\n'''\n```", "s = '''\n``` inside\n'''"),
    ("```python\r\na = 1\r\n```\r\nend", "a = 1"),
    ("<think>a</think>x<think>b</think>y<think>never closed", "xy<think>never closed"),
    ("```\na\n```\n```python\nb = 2", "a"),
    ("", ""),
])  # fmt: skip
def test_code_extraction(text, code):
    assert extract_code(text) == code


def test_extraction_takes_time_in_proportion_to_the_answer():
    started = time.monotonic()
    for hostile in ("```x\n", "<think>", "```\n", "# Kernel Implementation\n", "</think>", " \t"):
        extract_code(hostile * (2_000_000 // len(hostile)))
    assert time.monotonic() - started < 60  # minutes each where the square of it counts


def test_feedback_keeps_to_its_bytes():
    text = "ä" * 500 + "end"
    for size in (0, 3, 7, 8, 100, 999):
        short = limited(text, size)
        assert len(short.encode()) <= size
    assert limited(text, 100).startswith("ä") and limited(text, 100).endswith("end")
    assert limited(text, 10**6) == text
    talk = Conversation(Task(task_id="t", messages=[{"role": "user", "content": "q"}]), feedback_bytes=30)
    talk.record("a", verdict("incorrect") | {"feedback": "e" * 10**6})
    assert len(talk.messages[-1]["content"]) < 300


TASK = Task(task_source="class Model: ...", messages=[{"role": "system", "content": "s"},
                                                      {"role": "user", "content": "q"}])  # fmt: skip


def test_a_conversation():
    talk = Conversation(TASK, turns=3)
    assert [m["role"] for m in talk.messages] == ["system", "user"]
    submission = talk.submission("```python\ncode\n```")
    assert (submission.source, submission.task_source) == ("code", "class Model: ...")
    seen = list(talk.messages)
    for number, status in enumerate(("incorrect", "correct", "incorrect")):
        assert not talk.done
        talk.record(f"answer {number}", verdict(status))
        assert talk.messages[: len(seen)] == seen, "a prompt extends the one before: caches stay warm"
        seen = list(talk.messages)
    assert talk.done
    assert talk.rewards == [0.0, 0.5, 0.0]
    assert talk.keep == [True, True, False], "a failure after a success is void"
    assert "reward" not in talk.messages[-1]["content"] and "0.5" not in talk.messages[-3]["content"]
    assert talk.figures["correct_any"] and not talk.figures["correct_last"]


def test_infrastructure_ends_a_conversation_that_then_trains_on_nothing():
    talk = Conversation(TASK, turns=3)
    talk.record("a", verdict())
    talk.record("b", unavailable("gone"))
    assert talk.done and talk.keep == [False, False] and talk.figures["masked"]


def test_history_and_ends():
    talk = Conversation(TASK, turns=9, recent=2, stop_when_correct=True)
    for number in range(3):
        talk.record(f"answer {number}", verdict("incorrect"))
    assert [m["content"][:8] for m in talk.messages] == ["s", "q", "answer 2", "Your las"]
    talk.record("right", verdict())
    assert talk.done
    short = Conversation(TASK)
    short.exhaust()
    assert short.done and short.keep == [] and short.figures["exhausted"]
    with pytest.raises(ValueError, match="recent is 3"):
        Conversation(TASK, recent=3)
    with pytest.raises(ValueError, match="turns is 0"):
        Conversation(TASK, turns=0)


def test_tasks_of_dataset_rows():
    row = {"reward_model": {"ground_truth": "class Net: ..."}, "extra_info": {"entry_point": "Net"},
           "prompt": [{"role": "user", "content": "q"}]}  # fmt: skip
    task = Task.from_row(row)
    assert (task.task_source, task.entry) == ("class Net: ...", "Net")
    talk = Conversation(task)
    assert talk.messages == row["prompt"] and talk.submission("x").submission_entry == "NetNew"
    assert Task.from_row({"task_id": "assay/relu", "task_source": "x"}).task_source == ""
    first = Conversation(Task.from_row({"task_source": "class Model: ..."})).messages[0]["content"]
    assert "class Model: ..." in first and "ModelNew" in first
    with pytest.raises(ValueError, match="names no task"):
        Task.from_row({"prompt": "x"})
    with pytest.raises(ValueError, match="task assay/relu comes without a first question"):
        _ = Conversation(Task.from_row({"task_id": "assay/relu"})).messages
