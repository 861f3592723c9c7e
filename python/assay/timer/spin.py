"""Takes a known time: a kernel that copies its input and then watches the device's own clock until
LENGTH_NS have passed. It begins at a step of that clock, so that a coarse one measures no worse.

How long it really took, by that clock inside the kernel, is found before anything is judged and
printed as one line of JSON. A call costs more than that (a launch, the step waited for): as much as a
call with a length of 0, which is measured too.
"""

import ctypes
import json
import time

import torch
from torch import nn

LENGTH_NS = 0  # replaced

PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry spin(.param .u64 output, .param .u64 input, .param .u64 record, .param .u64 length) {
  .reg .u64 %out, %in, %record, %length, %at, %first, %start, %now, %span;
  .reg .u32 %thread;
  .reg .f32 %value;
  .reg .pred %more;
  ld.param.u64 %out, [output];
  ld.param.u64 %in, [input];
  ld.param.u64 %record, [record];
  ld.param.u64 %length, [length];
  mov.u32 %thread, %tid.x;
  mul.wide.u32 %at, %thread, 4;
  add.u64 %in, %in, %at;
  add.u64 %out, %out, %at;
  ld.global.f32 %value, [%in];
  st.global.f32 [%out], %value;
  setp.ne.u32 %more, %thread, 0;
  @%more bra end;
  mov.u64 %first, %globaltimer;
step:
  mov.u64 %start, %globaltimer;
  setp.eq.u64 %more, %start, %first;
  @%more bra step;
watch:
  mov.u64 %now, %globaltimer;
  sub.u64 %span, %now, %start;
  setp.lt.u64 %more, %span, %length;
  @%more bra watch;
  st.global.u64 [%record], %span;
  sub.u64 %span, %start, %first;
  st.global.u64 [%record+8], %span;
end:
  ret;
}
"""


class DeviceSpin:
    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        torch.cuda.current_stream()
        module, self.kernel = ctypes.c_void_p(), ctypes.c_void_p()
        self.check("cuModuleLoadData", ctypes.byref(module), PTX)
        self.check("cuModuleGetFunction", ctypes.byref(self.kernel), module, b"spin")
        self.record = torch.zeros(2, dtype=torch.int64, device="cuda")

    def check(self, name, *arguments):
        code = getattr(self.driver, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"{name} failed with {code}")

    def __call__(self, x):
        y = torch.empty_like(x)
        values = [ctypes.c_uint64(v) for v in (y.data_ptr(), x.data_ptr(), self.record.data_ptr(), LENGTH_NS)]
        parameters = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.check("cuLaunchKernel", self.kernel, 1, 1, 1, x.numel(), 1, 1, 0, stream, parameters, None)
        return y

    def last(self):
        """(length, step of the clock) of the last call, in nanoseconds."""
        return self.record.tolist()


class HostSpin:
    def __call__(self, x):
        y = x * 1
        start = now = time.perf_counter_ns()
        while now - start < LENGTH_NS:
            now = time.perf_counter_ns()
        self.span = now - start
        return y

    def last(self):
        return self.span, 1


spin = None


def prepare(device):
    """Makes the kernel and prints how long it takes by its own clock."""
    global spin
    spin = DeviceSpin() if device == "cuda" else HostSpin()
    x = torch.rand(256, device=device)
    spin(x)
    spin.last()
    spans, steps = [], []
    for _ in range(min(100, max(5, 20_000_000 // (LENGTH_NS + 1)))):
        spin(x)
        span, step = spin.last()
        spans.append(span)
        steps.append(step)
    # Whatever disturbs a call lengthens it.
    print(json.dumps({"known_us": min(spans) / 1e3, "tick_us": min(steps) / 1e3}), flush=True)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        if spin is None:
            prepare("cuda" if torch.cuda.is_available() else "cpu")

    def forward(self, x):
        return spin(x)
