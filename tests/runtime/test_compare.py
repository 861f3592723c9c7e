"""The numeric rule: what it must accept, what it must refuse."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.runtime.compare import EagerError, compare, tolerance


def judged(y, eager, exact=None, known=None):
    return compare(y, eager, exact, known or EagerError())


def pair(n=4096, dtype=torch.float32, scale=1.0):
    torch.manual_seed(n)
    exact = torch.randn(n, dtype=torch.float64) * scale
    return exact.to(dtype), exact


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_eager_itself_passes_and_ten_tolerances_fail(dtype):
    eager, exact = pair(dtype=dtype)
    assert judged(eager.clone(), eager, exact)["passed"]
    wrong = (exact * (1 + 30 * tolerance(dtype))).to(dtype)
    assert not judged(wrong, eager, exact)["passed"]


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e6])
def test_zeros_constants_and_shuffles_fail_at_every_scale(scale):
    eager, exact = pair(scale=scale)
    assert judged(eager.clone(), eager, exact)["passed"]
    for wrong in (torch.zeros_like(eager), torch.full_like(eager, float(exact.mean())), eager.roll(1), -eager):
        assert not judged(wrong, eager, exact)["passed"]


def test_one_wrong_element_in_a_million_is_found_and_placed():
    eager, exact = pair(1 << 20)
    wrong = eager.reshape(1024, 1024).clone()
    wrong[700, 3] += 1.0
    result = judged(wrong, eager.reshape(1024, 1024), exact.reshape(1024, 1024))
    assert not result["passed"] and result["first_bad"] == [700, 3] and result["mismatches"] == 1


def test_a_bias_below_the_tolerance_of_each_element_is_caught_by_the_norm():
    eager, exact = pair(4096)
    exact = exact * 1e-3 + 100.0  # little spread about a large mean
    eager = exact.float()
    biased = (exact + 0.008).float()  # 0.8 of the element's allowance, eight times the spread
    assert not judged(biased, eager, exact)["passed"]


def test_sums_that_cancel_may_differ_by_more_than_twice_eager_in_one_element():
    torch.manual_seed(0)
    exact = torch.randn(1 << 16, dtype=torch.float64) * 1000
    noise = torch.randn_like(exact) * 1e-3
    eager = (exact + noise.clamp(-1.5e-3, 1.5e-3)).float()
    unlucky = (exact + noise.flip(0)).float()  # the same spread, five sigma in its worst element
    assert judged(unlucky, eager, exact)["passed"]
    assert not judged((exact + 30 * noise.flip(0)).float(), eager, exact)["passed"]
    elementwise = exact.float()  # an error that grows with the value is no such spread
    assert not judged((exact * (1 + 1e-3)).float(), elementwise, exact)["passed"]


def test_bits_that_agree_tell_the_arithmetic():
    torch.manual_seed(0)
    a, b = torch.randn(256, 512, dtype=torch.float64), torch.randn(512, 256, dtype=torch.float64)
    exact = a @ b

    def bits(y):
        result = judged(y, (a.float() @ b.float()), exact)
        assert 19 < result["reference_bits"] < 25
        return result["bits"]

    tf32 = ((a.float().view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)
    assert bits(a.float() @ b.float()) > 19
    assert 10 < bits(tf32 @ b.float()) < 14
    assert 10 < bits((a.half() @ b.half().double().half()).float()) < 14
    assert 7 < bits(a.bfloat16().float() @ b.bfloat16().float()) < 10.5


def test_a_reference_that_chooses_between_two_is_ill_conditioned():
    from assay.runtime.compare import well_conditioned

    torch.manual_seed(0)
    exact = torch.randn(1 << 14, dtype=torch.float64)
    assert well_conditioned(exact.float(), exact, EagerError())
    assert well_conditioned((exact + torch.randn_like(exact) * 1e-2).float(), exact, EagerError())
    outlier = exact.clone()
    outlier[7] += 0.5
    assert not well_conditioned(outlier.float(), exact, EagerError())


def test_kernelbenchs_check_is_allclose():
    from assay.runtime.compare import kernelbench

    x = torch.linspace(0, 1, 4096)
    assert kernelbench([x + 9e-5], [x]) and not kernelbench([x + 3e-4], [x])
    assert kernelbench([torch.zeros(9)], [torch.full((9,), 9e-5)])
    assert not kernelbench([torch.full((9,), float("nan"))], [torch.full((9,), float("nan"))])
    assert kernelbench([x.half() + 0.009], [x.half()]) and kernelbench([x + 9e-3], [x], 1e-2)
    assert kernelbench([torch.tensor([True])], [torch.tensor([True])])
    assert not kernelbench([torch.tensor([True])], [torch.tensor([False])])


def test_never_stricter_than_twice_eagers_own_error():
    _, exact = pair()
    eager = (exact * (1 + 1e-3)).float()  # an ill-conditioned reference: ten tolerances off
    assert judged((exact * (1 - 1e-3)).float(), eager, exact)["passed"]
    assert judged(exact.float(), eager, exact)["passed"]
    assert not judged((exact * (1 - 5e-3)).float(), eager, exact)["passed"]


def test_what_eager_was_known_to_err_widens_a_comparison_with_eager():
    known = EagerError()
    _, exact = pair()
    eager = (exact * (1 + 1e-3)).float()
    candidate = exact.float()
    assert not judged(candidate, eager)["passed"]
    assert judged(candidate, eager, exact, known)["passed"]
    assert judged(candidate, eager, None, known)["passed"]


def test_nan_and_infinity_stand_where_the_reference_has_them():
    eager, exact = pair()
    for value in (float("nan"), float("inf"), -float("inf")):
        bad = eager.clone()
        bad[5] = value
        assert not judged(bad, eager, exact)["passed"]
        special, special_exact = eager.clone(), exact.clone()
        special[5], special_exact[5] = value, value
        assert judged(special.clone(), special, special_exact)["passed"]
        assert not judged(eager.clone(), special, special_exact)["passed"]


def test_where_the_dtype_overflows_eager_rules():
    exact = torch.tensor([1.0, 1e6], dtype=torch.float64)
    eager = exact.half()  # 1e6 is infinite in float16
    assert judged(eager.clone(), eager, exact)["passed"]
    assert not judged(torch.tensor([1.0, 60000.0]).half(), eager, exact)["passed"]


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.bool])
def test_integers_are_exact(dtype):
    values = torch.randint(0, 2, (1000,)).to(dtype)
    assert judged(values.clone(), values)["passed"]
    wrong = values.clone()
    wrong[999] = ~wrong[999] if dtype == torch.bool else wrong[999] + 1
    result = judged(wrong, values)
    assert not result["passed"] and result["first_bad"] == [999]


def test_empty_complex_and_scalar_outputs():
    assert judged(torch.empty(0, 3), torch.empty(0, 3))["passed"]
    z = torch.randn(100, dtype=torch.complex64)
    assert judged(z.clone(), z, z.to(torch.complex128))["passed"]
    assert not judged(z.conj().resolve_conj(), z, z.to(torch.complex128))["passed"]
    assert judged(torch.tensor(2.0), torch.tensor(2.0), torch.tensor(2.0, dtype=torch.float64))["passed"]
    assert not judged(torch.tensor(2.1), torch.tensor(2.0), torch.tensor(2.0, dtype=torch.float64))["passed"]


@pytest.mark.parametrize(
    "spoil, said",
    [
        (lambda y: y.mul(0), "all zeros"),
        (lambda y: y.index_fill(1, torch.arange(60, 64), 9.0), "tail of the last dimension"),
        (lambda y: torch.cat([y[:60], y[60:] + 9]), "only the tail is wrong"),
        (lambda y: y.fill_(float("nan")), "NaN"),
        (lambda y: y + 9, "every element"),
    ],
)
def test_the_pattern_is_named(spoil, said):
    eager, exact = pair(64 * 64)
    result = judged(spoil(eager.reshape(64, 64).clone()), eager.reshape(64, 64), exact.reshape(64, 64))
    assert not result["passed"] and said in result["pattern"]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3000), st.floats(-8, 8), st.integers(0, 2**31))
def test_a_small_relative_error_passes_and_a_large_one_fails(n, log_scale, seed):
    torch.manual_seed(seed)
    exact = torch.randn(n, dtype=torch.float64) * 10.0**log_scale
    eager = exact.float()
    noise = torch.rand(n, dtype=torch.float64) * 2 - 1
    assert judged((exact * (1 + 2e-5 * noise)).float(), eager, exact)["passed"]
    assert not judged((exact * 1.01).float(), eager, exact)["passed"]


def test_another_order_of_summation_passes_beside_eager_too():
    """Where float64 is not at hand, a verified call of a timed round is judged as the trials were."""
    torch.manual_seed(3)
    exact = torch.randn(1 << 16, dtype=torch.float64)
    noise = torch.randn(4, 1 << 16, dtype=torch.float64) * 2e-5 * 8
    eager, again = (exact + noise[0]).float(), (exact + noise[1]).float()
    other = (exact + 2.2 * noise[2]).float()  # adds up in an order with twice the error
    known = EagerError()
    assert judged(other, eager, exact, known)["passed"]
    assert judged((exact + 2.2 * noise[3]).float(), again, None, known)["passed"]
    assert not judged((exact + 2.2 * noise[3]).float(), again)["passed"], "nothing is known of eager"
    spike = other.clone()
    spike[77] += 30 * 2e-5 * 8
    assert not judged(spike, again, None, known)["passed"]
    assert not judged((exact + 4 * noise[2]).float(), again, None, known)["passed"]


def test_what_branches_otherwise_in_float64_tells_nothing_of_eager():
    known = EagerError()
    _, exact = pair()
    judged(exact.float(), exact.roll(7).float(), exact, known)
    assert not known.measured and known.worst == 0.0
