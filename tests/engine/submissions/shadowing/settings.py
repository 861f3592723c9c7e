"""Changes every global setting of torch; the reference must not notice. Its twin in the same batch
is `linear`'s honest submissions.

status: correct
task: linear
"""

import torch

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
torch.set_num_threads(1)
torch.use_deterministic_algorithms(True, warn_only=True)
torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
torch.backends.cudnn.benchmark = True
torch.set_float32_matmul_precision("medium")
torch.set_flush_denormal(True)


class ModelNew(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.layer = torch.nn.Linear(inputs, outputs, dtype=torch.float32)

    def forward(self, x):
        return (x.double() @ self.layer.weight.double().t() + self.layer.bias.double()).float()
