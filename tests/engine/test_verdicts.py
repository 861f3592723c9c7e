"""Every submission gets the verdict that its header calls right, and does the next one no harm."""

import pytest

from engine_harness import DEVICE, FAULTS, brief, check_header, control_of, submissions

HERE = [s for s in submissions().values() if s.get("device", DEVICE) == DEVICE]


def parameters(with_known: bool = False) -> list:
    """Every submission for this device; `with_known`: those with a known defect must fail."""
    found = []
    for submission in HERE:
        reason = submission.why_not_here()
        marks = [pytest.mark.skip(reason=reason)] if reason else []
        if with_known and (known := submission.get("known")):
            marks.append(pytest.mark.xfail(strict=True, reason=known))
        found.append(pytest.param(submission, id=f"{submission.path.parent.name}/{submission.name}", marks=marks))
    return found


@pytest.mark.parametrize("submission", parameters(with_known=True))
def test_verdict(submission, batches):
    verdicts = batches.verdicts(submission.run)
    verdict = verdicts[submission.name]
    check_header(submission, verdict)

    if other := submission.get("not_faster_than"):
        yardstick = verdicts[other]
        assert yardstick["correct"] and yardstick["timing"]["speedup"], brief(yardstick)
        if verdict["correct"] and verdict["timing"]["speedup"]:
            # A clock that can be lied to gives factors; a busy machine gives wide intervals.
            honest, paid = yardstick["timing"]["speedup"], verdict["timing"]["speedup"]
            assert paid["low"] <= 1.5 * honest["high"], brief(verdict) + brief(yardstick)

    if submission.destructive:
        control = verdicts[control_of(submission)]
        assert control["status"] == "correct", f"the next submission was harmed\n{brief(control)}"


@pytest.mark.parametrize("submission", parameters())
def test_what_the_verdict_says(submission, batches):
    """Whatever happened: bounded, clean, and nothing of the judge's own."""
    verdict = batches.verdicts(submission.run)[submission.name]
    assert len(verdict["stdout"]) <= 100_000 and len(verdict["stderr"]) <= 100_000
    assert verdict["timing"] is None or verdict["correct"] or verdict["timing"]["speedup"] is None
    error = verdict["error"] or {}
    for text in (verdict["feedback"], error.get("message", ""), error.get("name", "")):
        assert len(text.encode()) <= 17_000
        assert "\x1b" not in text
        for ours in ("rounds.py", "candidate.py", "modules.py", "assay/runtime"):
            assert ours not in text, text
    assert verdict["fault"] == FAULTS.get(verdict["status"], "candidate")


def test_interpreted_kernels_have_no_speedup(batches):
    if DEVICE != "cpu" or "triton_relu_timed" not in {s.name for s in batches.wanted}:
        pytest.skip("Triton's interpreter runs on the CPU only")
    timing = batches.verdicts("timed")["triton_relu_timed"]["timing"]
    assert timing["meaningful"] is False and timing["speedup"] is None
