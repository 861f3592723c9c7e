"""An exception whose text cannot be read and whose name is long, with escape codes.

status: runtime_error
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        def text(self):
            raise ValueError("no")

        raise type("E" * 5000 + "\x1b[31m", (Exception,), {"__str__": text, "__repr__": text})()  # <- the line
