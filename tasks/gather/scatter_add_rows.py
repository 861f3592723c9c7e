"""Adds messages to the nodes that they are sent to; several may go to one node."""

import torch
import torch.nn as nn

SIZES = {
    "cpu": {"nodes": 500, "edges": 4000, "dim": 64},
    "gpu": {"nodes": 50000, "edges": 400_000, "dim": 128},
}
nodes, edges, dim = SIZES["gpu"].values()


class Model(nn.Module):
    def forward(self, state, messages, targets):
        return state.index_add(0, targets, messages)


def get_inputs():
    state, messages = torch.randn(nodes, dim), torch.randn(edges, dim)
    return [state, messages, torch.randint(nodes, (edges,))]


def get_init_inputs():
    return []
