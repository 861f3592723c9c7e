"""Tasks that ask for gradients, as judge and candidate wrap models."""

import types

import pytest
import torch

from assay.runtime import backward


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
        self.idle = torch.nn.Parameter(torch.ones(2))
        self.frozen = torch.nn.Parameter(torch.ones(2), requires_grad=False)

    def forward(self, x, labels):
        return x * self.weight, labels


def test_a_call_is_forward_and_backward():
    x, labels, g = torch.randn(4, 3), torch.arange(4), torch.randn(4, 3)
    model = backward.WithGradients(Scale())
    assert model.names == ["weight", "idle"]
    with torch.no_grad():
        y, same, for_x, for_weight, for_idle = model(x, labels, [g])
    assert torch.equal(y, x * model.model.weight) and same is not x and torch.equal(same, labels)
    assert torch.allclose(for_x, g * model.model.weight)
    assert torch.allclose(for_weight, (g * x).sum(0))
    assert torch.equal(for_idle, torch.zeros(2))
    assert not any(t.requires_grad for t in (y, for_x, for_weight)) and x.grad is None


def test_the_candidates_parameters_are_found_by_name():
    class Other(Scale):
        def __init__(self):
            super().__init__()
            del self.idle
            self.more = torch.nn.Parameter(torch.ones(1))
            self.idle = torch.nn.Parameter(torch.ones(2))

    assert backward.WithGradients(Other(), ["weight", "idle"]).names == ["weight", "idle"]
    with pytest.raises(LookupError, match="none named bias"):
        backward.WithGradients(Scale(), ["weight", "bias"])
    with pytest.raises(LookupError):
        backward.WithGradients(lambda x: x, ["weight"])
    assert backward.WithGradients(lambda x: x * 2, [])(torch.ones(3), [torch.ones(3)])[1].tolist() == [2, 2, 2]


def test_gradients_are_drawn_for_floating_outputs_only():
    like = backward.gradients_like((torch.ones(2, 3), torch.arange(4), torch.ones(5, dtype=torch.float64)))
    drawn = backward.draw_gradients(like, "cpu")
    assert [(t.shape, t.dtype) for t in drawn] == [((2, 3), torch.float32), ((5,), torch.float64)]


def test_a_task_says_what_it_asks_for():
    assert backward.asked_for(types.SimpleNamespace(CHECK="backward"))
    assert not backward.asked_for(types.SimpleNamespace())
    with pytest.raises(ValueError, match="backwards"):
        backward.asked_for(types.SimpleNamespace(CHECK="backwards"))
