"""Index of the largest of few different values: ties in every row."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.argmax(1)


def get_inputs():
    return [torch.randint(0, 5, (64, 512)).float()]


def get_init_inputs():
    return []
