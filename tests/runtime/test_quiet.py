"""The judge's looks at the device and its holds, with a device that is played by the test."""

import pytest
from assay.runtime import judge, native

LONG_NS = 2_500_000


class Device:
    """Looks that start after the given delays; a hold shows the given gap."""

    def __init__(self, delays, gap=0.0):
        self.delays, self.gap, self.held = list(delays), gap, []
        self.looks = []

    def watch(self, nanoseconds):
        self.looks.append(nanoseconds)
        delay = self.delays.pop(0)
        return {"gap_us": 0.0, "delay_us": delay, "idle_ns": 1000 * len(self.looks)}


@pytest.fixture
def play(monkeypatch):
    def start(delays, gap=0.0):
        device = Device(delays, gap)
        judged = judge.Judge.__new__(judge.Judge)
        judged.device, judged.flush_buffer, judged.holding, judged.held = "cuda", None, False, judge.NOT_HELD
        judged._watch = device.watch
        monkeypatch.setattr(native, "call", lambda name, *a: device.held.append((name, *a)))
        monkeypatch.setattr(native, "gpu_await_hold", lambda: device.gap)
        return device, judged

    return start


def test_an_idle_device_needs_one_short_look(play):
    device, judged = play([60.0])
    quiet = judged._quiet(LONG_NS)
    assert device.looks == [judge.SHORT_LOOK_NS]
    assert quiet["delay_us"] == 60.0 and quiet["idle_ns"] == 1000


def test_a_change_of_context_is_told_from_work_by_a_second_look(play):
    device, judged = play([170.0, 30.0])
    quiet = judged._quiet(LONG_NS)
    assert device.looks == [judge.SHORT_LOOK_NS] * 2
    assert quiet["delay_us"] == 30.0
    assert quiet["idle_ns"] == 1000, "the device was idle when the first look began to run"


def test_work_of_others_is_watched_for_longer_than_a_time_slice(play):
    device, judged = play([170.0, 300.0, 2000.0])
    quiet = judged._quiet(LONG_NS)
    assert device.looks == [judge.SHORT_LOOK_NS] * 2 + [LONG_NS]
    assert quiet["delay_us"] == 2000.0
    assert quiet["idle_ns"] > 10**9, "what a later look still sees ran until that look"


def test_work_that_ends_during_the_looks_ended_before_the_first(play):
    _, judged = play([170.0, 300.0, 50.0])
    assert judged._quiet(LONG_NS)["idle_ns"] == 1000


def test_a_hold_is_told_once_by_the_next_operation(play):
    device, judged = play([60.0, 60.0, 60.0], gap=3.0)
    assert judged._hold(1_000_000) == {}
    assert device.held == [("assay_gpu_hold", 1_000_000)] and judged.holding
    judged._await_hold()
    assert not judged.holding
    quiet = judged._quiet(LONG_NS)
    assert quiet["held_gap_us"] == 3.0 and quiet["held_until_ns"] > 0
    assert judged._quiet(LONG_NS)["held_until_ns"] == 0


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_nothing_is_held_where_nothing_is_asked(play, device):
    played, judged = play([])
    judged.device = device
    assert judged._hold(0 if device == "cuda" else 1_000_000) == {}
    assert played.held == [] and not judged.holding
