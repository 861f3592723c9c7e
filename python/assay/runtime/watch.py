"""The judge's view of the GPU between rounds: is it idle, is the cache empty, who may begin.

A look is a one-thread kernel that reads the device's clock: it starts late, or its clock jumps, while
another context works. A hold occupies the device while a round's process wakes up and hands its calls
to the driver, so that a round measures the device and not the host that gets going; it ends when the
worker opens the control page's gate.
"""

import time

import torch

from . import native

SHORT_LOOK_NS = 100_000
SHORT_DELAY_US = 120.0  # idle: at most 93; with another context at work: at least 155 (an H200)
SHORT_GAP_US = 20.0
PATIENCE_NS = 20_000_000  # for the end of a round


class Watch:
    """One device. On the CPU everything is quiet, nothing is flushed and nothing held."""

    def __init__(self, device: str, control: native.Control | None):
        self.on_gpu = device != "cpu"
        self.control = control
        self.flush_buffer: torch.Tensor | None = None
        self.l2_bytes = 0
        self.number = 0  # of the latest hold
        self.stores: tuple | None = None  # what a hold that has not ended will store
        self.holding = False
        self.held: dict = {}  # how long the last hold was, and how much of that others had
        self.first_look: dict | None = None  # right after the round that the last hold began
        if self.on_gpu:
            control.share()
            self.l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
            self.flush_buffer = torch.empty(2 * self.l2_bytes // 4, dtype=torch.int32, device="cuda")
            native.gpu_watch_quiet(10_000)
            self.flush()

    def quiet(self, nanoseconds: int) -> dict:
        """Short looks first: on an idle GPU they start within 0.1 ms. The first one after another
        context's work pays for the change of context (0.17 ms), so a late start is looked at again
        at once: while another context works, that one is later still (0.27 ms and more). Only a
        second late start needs the long, certain watch.

        ``idle_ns`` is when the first look began to run, on the clock that the worker reads too: all
        earlier work of others was over then, or had been suspended for it. ``held_us`` and
        ``held_lost_us``: the hold that ended since the last operation, and how much of it others had."""
        held, self.held = self.held, {}
        if not self.on_gpu or nanoseconds == 0:
            return {"gap_us": 0.0, "delay_us": 0.0, "idle_ns": 0}
        look, self.first_look = self.first_look or self._look(SHORT_LOOK_NS), None
        if not _late(look):
            return {**look, **held}
        again = self._look(SHORT_LOOK_NS)
        if not _late(again):
            return {**again, "idle_ns": look["idle_ns"], **held}
        watch = self._look(nanoseconds)
        # Work that a later look still sees was running all the time until that look's end.
        return {**watch, "idle_ns": time.monotonic_ns() if _late(watch) else look["idle_ns"], **held}

    def flush_and_look(self, nanoseconds: int, flush: bool = True) -> dict:
        """Empties the cache, then looks once more: work that was queued to wait for the new inputs
        (a stream that waits for a word in memory runs nothing until then) has begun by now.
        ``flush`` False: the cache stays as it is, but for what a program has made it keep."""
        if flush:
            self.flush()
        elif self.on_gpu:
            native.call("assay_gpu_reset_persisting_l2")
            torch.cuda.synchronize()
        if not self.on_gpu or nanoseconds == 0:
            return {"after_us": 0.0}
        look = self._look(SHORT_LOOK_NS)
        return {"after_us": max(look["delay_us"], look["gap_us"])}

    def hold(self, nanoseconds: int, stores: tuple = ()) -> dict:
        """Holds the device for ``nanoseconds`` at most. ``stores``: (addresses, words) as LateWords
        gives them, stored when the hold ends. The reply numbers it; 0: nothing is held."""
        if not self.on_gpu or nanoseconds == 0:
            return {"hold": 0}
        self.number += 1
        self.stores = stores
        native.gpu_hold(self.control.on_device, self.number, nanoseconds, *stores)
        self.holding = True
        return {"hold": self.number}

    def await_round(self) -> None:
        """After a hold: waits for its end and for that of its round, to look at the device with no
        message in between. Of a long round the look can wait for the next operation."""
        if not self.holding:
            return
        _, lost, span = native.gpu_await_hold()
        self.held = {"held_us": span, "held_lost_us": lost}
        self.holding, self.stores = False, None
        seen = self.control.look_when(self.number, PATIENCE_NS, SHORT_LOOK_NS)
        if seen is not None:
            gap, span, launch, end = seen
            delay = (end - launch) / 1e3 - span
            self.first_look = {"gap_us": gap, "delay_us": delay, "idle_ns": end - int(span * 1e3)}

    def flush(self) -> None:
        """Write, then read: a write alone leaves dirty lines whose write-back the next kernel pays."""
        if self.flush_buffer is None:
            return
        native.call("assay_gpu_reset_persisting_l2")
        self.flush_buffer.fill_(0)
        self.flush_buffer.sum()
        torch.cuda.synchronize()

    @staticmethod
    def _look(nanoseconds: int) -> dict:
        begin = time.perf_counter()
        gap, span = native.gpu_watch_quiet(nanoseconds)
        idle = time.monotonic_ns() - int(span * 1e3)
        return {"gap_us": gap, "delay_us": (time.perf_counter() - begin) * 1e6 - span, "idle_ns": idle}


def _late(look: dict) -> bool:
    return look["delay_us"] > SHORT_DELAY_US or look["gap_us"] > SHORT_GAP_US
