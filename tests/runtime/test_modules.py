"""How a module is made from what `get_init_inputs` returned."""

import pytest
from assay.runtime import modules


class Named:
    def __init__(self, *positional, **named):
        self.given = positional, named


@pytest.mark.parametrize("init_inputs, given", [
    ([], ((), {})),
    ([3, "a"], ((3, "a"), {})),
    ([[], {"width": 3}], ((), {"width": 3})),
    ([(), {"width": 3}], ((), {"width": 3})),
    ([[], {}], ((), {})),
    ([[1], {"width": 3}], (([1], {"width": 3}), {})),
    ([[], {"width": 3}, 1], (([], {"width": 3}, 1), {})),
    (["", {"width": 3}], (("", {"width": 3}), {})),
])
def test_arguments(init_inputs, given):
    assert modules.construct(Named, init_inputs).given == given
