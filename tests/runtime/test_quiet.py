"""The judge's looks at the device and its holds, with a device that is played by the test."""

import types

import pytest
from assay.runtime import native, watch

LONG_NS = 2_500_000


class Device:
    """Looks that start after the given delays."""

    def __init__(self, delays):
        self.delays, self.held, self.asked = list(delays), [], None
        self.looks = []

    def watch(self, nanoseconds):
        self.looks.append(nanoseconds)
        delay = self.delays.pop(0)
        return {"gap_us": 0.0, "delay_us": delay, "idle_ns": 1000 * len(self.looks)}


@pytest.fixture
def play(monkeypatch):
    def start(delays, on_gpu=True):
        device = Device(delays)
        seen = watch.Watch("cpu", None)
        control = types.SimpleNamespace(on_device=4096, look_when=lambda *_: device.asked)
        seen.on_gpu, seen.control = on_gpu, control
        seen._look = device.watch
        monkeypatch.setattr(native, "gpu_hold", lambda *a: device.held.append(a))
        monkeypatch.setattr(native, "gpu_await_hold", lambda: (2.0, 5.0, 900.0))
        return device, seen

    return start


def test_an_idle_device_needs_one_short_look(play):
    device, seen = play([60.0])
    quiet = seen.quiet(LONG_NS)
    assert device.looks == [watch.SHORT_LOOK_NS]
    assert quiet["delay_us"] == 60.0 and quiet["idle_ns"] == 1000


def test_a_change_of_context_is_told_from_work_by_a_second_look(play):
    device, seen = play([170.0, 30.0])
    quiet = seen.quiet(LONG_NS)
    assert device.looks == [watch.SHORT_LOOK_NS] * 2
    assert quiet["delay_us"] == 30.0
    assert quiet["idle_ns"] == 1000, "the device was idle when the first look began to run"


def test_work_of_others_is_watched_for_longer_than_a_time_slice(play):
    device, seen = play([170.0, 300.0, 2000.0])
    quiet = seen.quiet(LONG_NS)
    assert device.looks == [watch.SHORT_LOOK_NS] * 2 + [LONG_NS]
    assert quiet["delay_us"] == 2000.0
    assert quiet["idle_ns"] > 10**9, "what a later look still sees ran until that look"


def test_work_that_ends_during_the_looks_ended_before_the_first(play):
    _, seen = play([170.0, 300.0, 50.0])
    assert seen.quiet(LONG_NS)["idle_ns"] == 1000


def test_holds_are_numbered_and_what_they_store_lives_until_they_end(play):
    device, seen = play([])
    assert seen.hold(1_000_000, ("where", "what")) == {"hold": 1}
    assert device.held == [(4096, 1, 1_000_000, "where", "what")]
    assert seen.stores == ("where", "what"), "they live as long as the device may read them"
    seen.await_round()
    assert seen.stores is None
    assert seen.hold(1_000_000) == {"hold": 2}


def test_the_look_at_the_end_of_a_round_is_the_first_one(play):
    device, seen = play([60.0])
    device.asked = (0.0, 100.0, 5_000_000, 5_000_000 + 150_000)  # 50 us late
    seen.hold(1_000_000)
    seen.await_round()
    quiet = seen.quiet(LONG_NS)
    assert device.looks == [] and quiet["delay_us"] == pytest.approx(50.0)
    assert quiet["idle_ns"] == 5_000_000 + 150_000 - 100_000
    assert quiet["held_us"] == 900.0 and quiet["held_lost_us"] == 5.0
    again = seen.quiet(LONG_NS)
    assert again["delay_us"] == 60.0 and "held_us" not in again, "it counts once"


@pytest.mark.parametrize("on_gpu", [False, True])
def test_nothing_is_held_where_nothing_is_asked(play, on_gpu):
    device, seen = play([], on_gpu=on_gpu)
    assert seen.hold(0 if on_gpu else 1_000_000) == {"hold": 0}
    seen.await_round()
    assert device.held == []
