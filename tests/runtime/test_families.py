"""Input families: which inputs they replace, by what, and which tasks they leave alone."""

import pytest
import torch

from assay.runtime import families


def uniform(*shape, seed=0):
    torch.manual_seed(seed)
    return torch.rand(*shape)


def normal(*shape, seed=0):
    torch.manual_seed(seed)
    return torch.randn(*shape)


@pytest.mark.parametrize("make, kind", [
    (lambda: uniform(64, 64), "uniform"),
    (lambda: uniform(1 << 20), "uniform"),
    (lambda: uniform(64, 64).half(), "uniform"),
    (lambda: normal(64, 64), "normal"),
    (lambda: normal(64, 64) * 0.02, "normal"),
    (lambda: normal(64, 64).bfloat16(), "normal"),
    (lambda: normal(64, 64).t(), "normal"),
    (lambda: torch.randint(0, 9, (64, 64)), "fixed"),
    (lambda: torch.randint(0, 2, (64, 64)).float(), "fixed"),
    (lambda: (uniform(64, 64) > 0.3), "fixed"),
    (lambda: torch.softmax(normal(64, 64), -1), "fixed"),
    (lambda: uniform(64, 64) * 0.5, "fixed"),
    (lambda: uniform(64, 64) + 1, "fixed"),
    (lambda: torch.eye(64), "fixed"),
    (lambda: torch.zeros(64, 64), "fixed"),
    (lambda: normal(64, 64).abs(), "fixed"),
    (lambda: normal(1, 4096).expand(16, 4096), "fixed"),
    (lambda: torch.full((64, 64), float("nan")), "fixed"),
    (lambda: uniform(8), "fixed"),
    (lambda: torch.linspace(-1, 1, 4096), "fixed"),
])
def test_only_plain_random_inputs_are_replaced(make, kind):
    assert families.kind_of(make()) == kind


def test_inputs_that_share_memory_stay():
    x = normal(64, 64)
    assert families.kinds_of([x, x[:32], normal(64, 64, seed=1)]) == ["fixed", "fixed", "normal"]


ON_GPU = pytest.param("cuda", marks=[pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("device", ["cpu", ON_GPU])
def test_signed_covers_both_signs_and_scaled_every_magnitude(device, dtype):
    x = uniform(1 << 16).to(device, dtype)
    signed = families.transform(["uniform"], [x], "signed")[0]
    assert torch.equal(signed, x * 8 - 4)
    assert signed.min() < -3.9 and signed.max() > 3.9 and abs(float(signed.mean())) < 0.1
    torch.manual_seed(3)
    scaled = families.transform(["uniform"], [x], "scaled")[0]
    assert scaled.dtype == dtype and scaled.device == x.device
    exponents = scaled.abs().double().log2()
    assert exponents.min() >= -6 and exponents.max() <= 6
    assert abs(float((scaled > 0).float().mean()) - 0.5) < 0.02
    histogram = torch.histc(exponents.cpu(), 12, -6, 6) / scaled.numel()
    assert float((histogram - 1 / 12).abs().max()) < 0.01


def test_equal_seeds_give_equal_inputs_and_the_native_ones_are_untouched():
    x = normal(64, 64).t()
    before = x.clone()
    drawn = []
    for _ in range(2):
        torch.manual_seed(9)
        drawn.append(families.transform(["normal"], [x], "scaled")[0])
    assert torch.equal(drawn[0], drawn[1]) and torch.equal(x, before)
    assert drawn[0].stride() == x.stride() and drawn[0].dtype == x.dtype


def test_what_stays_is_the_very_tensor():
    mask = torch.ones(64, dtype=torch.bool)
    assert families.transform(["fixed"], [mask], "signed")[0] is mask


def test_a_family_that_leaves_the_numbers_or_flattens_the_output_is_no_question():
    x = uniform(4096)
    assert families.admits([x], [x * 8 - 4])
    assert not families.admits([x.log()], [(x * 8 - 4).log()])
    assert not families.admits([x], [torch.zeros_like(x)])
    assert not families.admits([x], [x * 1e9])
    assert families.admits([torch.zeros(8)], [torch.zeros(8)])  # that is the task, see the health screen
    assert families.admits([torch.arange(9)], [torch.arange(9)])


@pytest.mark.parametrize("make", [lambda: uniform(1 << 14), lambda: normal(64, 64).t(), lambda: uniform(256)])
def test_rare_differs_from_native_in_a_few_secret_elements(make):
    x = make()
    drawn = []
    for seed in (5, 5, 6):
        y = x.clone(memory_format=torch.preserve_format)
        families.make_rare(["normal"], [y], [seed])
        drawn.append(y)
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])
    changed = (drawn[0] != x).nonzero()
    assert len(changed) == min(32, x.numel() // 16)
    values = drawn[0][drawn[0] != x]
    assert values.min() < 0 < values.max() and 2**-6 <= values.abs().min() and values.abs().max() <= 2**6


@pytest.mark.parametrize("shape, stride", [((64, 16), (4, 1)), ((40, 40), (2, 2)), ((9, 64), (0, 1))])
def test_inputs_whose_elements_share_memory_stay_as_they_are(shape, stride):
    memory = torch.rand(4096)
    assert families.kind_of(memory.as_strided(shape, stride)) == "fixed"
    assert families.kind_of(memory.as_strided((16, 64), (1, 32))) == "uniform", "gaps are none"
    assert families.kind_of(memory.view(64, 64).t()) == "uniform"


@pytest.mark.parametrize("seed", range(20))
def test_rare_elements_are_of_all_sizes_and_signs_wherever_they_stand(seed):
    x = torch.zeros(1 << 14)
    families.make_rare(["normal"], [x], [seed])
    values = x[x != 0]
    for sign in (1, -1):
        exponents = (values[values * sign > 0] * sign).log2().sort().values
        assert len(exponents) == 16
        edges = torch.arange(-6, 6, 0.75)
        assert bool(((exponents >= edges - 1e-5) & (exponents <= edges + 0.75 + 1e-5)).all())
    order = values.abs().argsort()
    assert not torch.equal(order, order.sort().values), "places would tell sizes"


def test_rare_leaves_fixed_inputs_and_asks_for_finite_outputs_everywhere():
    mask, x = torch.ones(512), uniform(4096)
    y = x.clone()
    families.make_rare(["fixed", "uniform"], [mask, y], [3])
    assert bool((mask == 1).all()) and not torch.equal(x, y)
    assert families.admits([x.log()], [x.log()], "rare") and not families.admits([x.log()], [y.log()], "rare")


def test_rare_elements_of_many_slots_are_those_of_each():
    memory = torch.zeros(10 * 4096, dtype=torch.uint8)
    slots = memory.view(torch.float32).reshape(10, 2, 512)
    bases = {5: 0, 6: 3, 7: 9}
    families.make_rare(["uniform", "normal"], [slots[0, 0], slots[0, 1]], [*bases], tuple(4096 * slot for slot in bases.values()))
    for seed, slot in bases.items():
        alone = torch.zeros(2, 512)
        families.make_rare(["uniform", "normal"], [*alone], [seed])
        assert torch.equal(alone, slots[slot])
        assert not torch.equal(alone[0], alone[1]), "each tensor of an input has its own"
    untouched = [slot for slot in range(10) if slot not in bases.values()]
    assert not slots[untouched].any()


def test_rare_elements_follow_the_order_of_indices():
    """What is drawn again to verify may lie otherwise in memory than the arena's."""
    plain, turned = torch.zeros(40, 60), torch.zeros(60, 40).T
    families.make_rare(["normal"], [plain], [9])
    families.make_rare(["normal"], [turned], [9])
    assert torch.equal(plain, turned) and plain.count_nonzero() == 32
