"""Returns at once and lets a thread do the work after the call has returned.

status: incorrect|rejected_cheat|runtime_error|correct
task: costly
run: timed
not_faster_than: costly_timed
destructive: yes
"""

import threading

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)

        def work():
            z = x
            for _ in range(4):
                z = torch.tanh(z) + z
            y.copy_(z)

        threading.Thread(target=work, daemon=True).start()
        return y
