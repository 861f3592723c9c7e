"""What a reference must move and compute, against figures computed by hand."""

import sys
from pathlib import Path

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from assay.runtime import trace_work  # noqa: E402
from assay.runtime.trace_work import trace, trace_task  # noqa: E402


def moved(report):
    return report["read_bytes"], report["write_bytes"]


def flops(report, figure="flops", kind="matrix"):
    return sum(row[figure] for row in report["ops"] if row["class"] == kind)


def randn(*shape):
    return torch.randn(*shape)


# The eight kinds of task, by hand.


def test_relu():
    report = trace(torch.relu, [randn(64, 100)])
    assert moved(report) == (25600, 25600)
    assert report["ops"] == [] and report["eager_kernels"] == 1


def test_softmax():
    report = trace(lambda x: torch.softmax(x, 1), [randn(32, 1000)])
    assert moved(report) == (128000, 128000)
    assert report["second_reads"] == [{"op": "_softmax", "row_bytes": 4000, "bytes": 128000}]


def test_matmul():
    report = trace(torch.matmul, [randn(48, 80), randn(80, 96)])
    assert moved(report) == (4 * (48 * 80 + 80 * 96), 4 * 48 * 96)
    assert flops(report) == flops(report, "flops_bound") == 2 * 48 * 80 * 96
    assert report["depth"] == 1


def test_convolution_without_its_padded_taps():
    report = trace(nn.Conv2d(8, 16, 3, padding=1), [randn(2, 8, 10, 12)])
    assert moved(report) == (4 * (2 * 8 * 120 + 16 * 8 * 9 + 16), 4 * 2 * 16 * 120)
    nominal = 2 * 2 * 16 * 120 * 8 * 9
    assert flops(report, "flops_nominal") == nominal
    # Of the three taps along 10 rows 28 of 30 lie inside, along 12 columns 34 of 36.
    assert flops(report) == pytest.approx(nominal * 28 / 30 * 34 / 36)
    # Winograd's F(4, 3) takes 6 products for 12, in both dimensions.
    assert flops(report, "flops_bound") == pytest.approx(flops(report) / 4)


def test_causal_attention():
    b, h, s, d = 2, 3, 64, 16
    inputs = [randn(b, h, s, d) for _ in range(3)]

    def by_hand(q, k, v):
        scores = q @ k.transpose(-1, -2) / d**0.5
        future = torch.ones(s, s, dtype=torch.bool).triu(1)
        return torch.softmax(scores.masked_fill(future, float("-inf")), -1) @ v

    half = (s + 1) / (2 * s)
    for report in (trace(by_hand, inputs),
                   trace(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), inputs)):
        assert moved(report) == (3 * 4 * b * h * s * d, 4 * b * h * s * d)
        assert flops(report, "flops_nominal") == 4 * b * h * s * s * d
        assert flops(report) == pytest.approx(4 * b * h * s * s * d * half)


def test_grouped_attention_reads_its_keys_once():
    q, k, v = randn(2, 8, 32, 16), randn(2, 2, 32, 16), randn(2, 2, 32, 16)
    report = trace(lambda q, k, v: F.scaled_dot_product_attention(
        q, k.repeat_interleave(4, 1), v.repeat_interleave(4, 1)), [q, k, v])
    assert report["read_bytes"] == 4 * (q.numel() + k.numel() + v.numel())


def test_layer_norm():
    report = trace(nn.LayerNorm(200), [randn(50, 200)])
    assert moved(report) == (4 * (50 * 200 + 2 * 200), 4 * 50 * 200)
    assert report["second_reads"][0]["row_bytes"] == 800


def test_embedding_reads_used_rows_only():
    tokens = torch.tensor([[3, 7, 7], [3, 900, 2]])
    report = trace(nn.Embedding(1000, 64), [tokens])
    assert moved(report) == (4 * 64 * 4 + 6 * 8, 6 * 64 * 4)


def test_cumsum():
    report = trace(lambda x: x.cumsum(1), [randn(16, 500)])
    assert moved(report) == (32000, 32000)
    assert flops(report, kind="vector") == 8000


# Traffic: what counts once, in part, or not at all.


def test_new_gelu_moves_nine_times_what_it_must():
    def gelu(x):
        return 0.5 * x * (1.0 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * torch.pow(x, 3.0))))

    report = trace(gelu, [randn(256, 256)])
    assert moved(report) == (256 * 256 * 4, 256 * 256 * 4)
    assert report["eager_bytes"] / sum(moved(report)) == 9.0
    assert report["eager_kernels"] == 8


def case(function, inputs, read, write):
    return pytest.param(function, inputs, read, write)


X = torch.randn(32, 64)  # 8192 bytes


@pytest.mark.parametrize(
    "function, inputs, read, write",
    [
        case(lambda x: x + x * x, [X], 8192, 8192),
        case(lambda x, y: x * 2, [X, X.clone()], 8192, 8192),
        case(lambda x, y: x * y.shape[0], [X, X.clone()], 8192, 8192),
        case(lambda x: x[:8] * 2, [X], 2048, 2048),
        case(lambda x: torch.cat([x[:8], x[16:24]]), [X], 4096, 4096),
        case(lambda x: x[:, :8].sum(1), [X], 1024, 128),
        case(lambda x: x[:, ::16].sum(), [X], 32 * 4 * 32, 4),  # four sectors a row
        case(lambda x: x.chunk(2, 1)[0] * x.chunk(2, 1)[1], [X], 8192, 4096),
        case(lambda x: x.t(), [X], 0, 0),  # a view of the input is no write
        case(lambda x: x.t().contiguous(), [X], 8192, 8192),
        case(lambda x: (x * 2).t(), [X], 8192, 8192),
        case(lambda x: (lambda y: (y, y))(x * 2), [X], 8192, 8192),
        case(lambda x: torch.zeros(32, 64), [X], 0, 8192),
        case(lambda x: x * torch.arange(64), [X], 8192, 8192),
        case(lambda x: x.tril(), [X], sum(-(-min(i + 1, 64) // 8) * 32 for i in range(32)), 8192),
        case(lambda x: torch.where(torch.arange(64) < 16, x, 0.0), [X], 2048, 8192),
        case(lambda x: x.double(), [X], 8192, 16384),
        case(lambda x: x.index_select(0, torch.tensor([1, 1, 5])), [X], 512, 768),
        case(lambda x, i: x[i], [X, torch.tensor([4, 4, 4])], 256 + 24, 768),
        case(lambda x: F.max_pool2d(x[None, None], 1, 8)[0, 0], [X], 4 * 8 * 32, 4 * 8 * 4),
        case(lambda x: x.mean(), [X], 8192, 4),
        case(lambda x: (x * 2, x.sum()), [X], 8192, 8196),
    ],
)
def test_traffic(function, inputs, read, write):
    assert moved(trace(function, [t.clone() for t in inputs])) == (read, write)


def test_expanded_inputs_hold_one_row():
    report = trace(lambda x, y: x + y, [X.clone(), torch.randn(64).expand(32, 64)])
    assert moved(report) == (8192 + 256, 8192)


def test_in_place_updates_are_read_and_written():
    report = trace(lambda x, y: x.mul_(0.9).add_(y), [X.clone(), X.clone()])
    assert moved(report) == (2 * 8192, 8192)


def test_writing_a_part_in_place():
    def half(x):
        y = torch.zeros(32, 64)
        y[:16] = x[:16]
        return y

    assert moved(trace(half, [X.clone()])) == (4096, 8192)


def test_views_see_later_writes():
    def late(x, z):
        y = x.clone()
        row = y[0]
        y.add_(z)
        return row * 1

    assert trace(late, [X.clone(), X.clone()])["read_bytes"] > 0
    assert flops(trace(late, [X.clone(), X.clone()])) == 0


def test_dead_arithmetic_is_free():
    def dead(x, y):
        _ = x @ y
        return x * 2

    report = trace(dead, [randn(16, 16), randn(16, 16)])
    assert flops(report) == 0 and flops(report, "flops_nominal") == 2 * 16**3
    assert report["read_bytes"] == 1024


def test_tied_weights_count_once():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(16, 16, bias=False)
            self.b = nn.Linear(16, 16, bias=False)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(self.a(x))

    assert trace(Tied(), [randn(4, 16)])["read_bytes"] == 4 * (16 * 16 + 4 * 16)


def test_inputs_that_share_memory_count_once():
    base = randn(64, 64)
    assert trace(lambda a, b: a + b, [base, base.t()])["read_bytes"] == 64 * 64 * 4


def test_masked_data_is_needed_where_the_mask_lets_it():
    mask = torch.zeros(32, 64, dtype=torch.bool)
    mask[:, :16] = True
    report = trace(lambda x, y, m: torch.where(m, x, 3 * y), [X.clone(), X.clone(), mask])
    assert report["read_bytes"] == 2048 + 6144 + 2048
    assert report["data_dependent"]
    assert not trace(lambda x: x.tril(), [X.clone()])["data_dependent"]


def test_the_least_of_several_draws():
    table = nn.Embedding(100, 8)
    reports = [trace(table, [torch.tensor(rows)]) for rows in ([1, 2, 3], [4, 4, 4], [5, 5, 6])]
    assert all(report["data_dependent"] for report in reports)
    assert trace_work.least(reports)["read_bytes"] == 32 + 24


# Arithmetic.


def test_triangular_factors_need_a_sixth():
    n = 96
    a, b = randn(n, n).triu(), randn(n, n).triu()
    report = trace(lambda a, b: torch.triu(a @ b), [a, b])
    assert flops(report) == pytest.approx(n * (n + 1) * (n + 2) / 3)


def test_lower_half_of_a_product():
    report = trace(lambda x: torch.tril(x @ x.t()), [randn(128, 32)])
    assert flops(report) == pytest.approx(2 * 32 * 128 * 129 / 2)


def test_a_diagonal_factor_multiplies_no_matrix():
    report = trace(lambda d, b: torch.diag(d) @ b, [randn(64), randn(64, 48)])
    assert flops(report) == pytest.approx(2 * 64 * 48)


def test_depthwise_convolution_is_vector_work():
    report = trace(nn.Conv2d(32, 32, 3, groups=32, bias=False), [randn(1, 32, 10, 10)])
    assert flops(report) == 0
    assert flops(report, "flops_nominal", "vector") == 2 * 32 * 64 * 9


def test_transposed_convolution_counts_by_its_input():
    report = trace(nn.ConvTranspose2d(4, 6, 2, stride=2, bias=False), [randn(1, 4, 5, 5)])
    assert flops(report) == 2 * 4 * 25 * 6 * 4


@pytest.mark.parametrize(
    "model, shapes",
    [
        (torch.mm, [(40, 50), (50, 60)]),
        (torch.bmm, [(3, 40, 50), (3, 50, 60)]),
        (nn.Linear(50, 60), [(40, 50)]),
        (nn.Conv1d(6, 8, 5), [(2, 6, 40)]),
        (nn.Conv2d(6, 8, 3, stride=2), [(2, 6, 21, 21)]),
        (nn.Conv3d(2, 4, 3), [(1, 2, 8, 8, 8)]),
        (nn.Conv2d(8, 16, 3, groups=2), [(1, 8, 12, 12)]),
    ],
)
def test_agrees_with_torchs_counter_where_that_is_right(model, shapes):
    inputs = [randn(*shape) for shape in shapes]
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(*inputs)
    assert flops(trace(model, inputs)) == pytest.approx(counter.get_total_flops(), rel=1e-3)


def test_half_the_bytes_for_half_the_precision():
    single, half = (trace(torch.matmul, [randn(64, 64).to(t), randn(64, 64).to(t)])
                    for t in (torch.float32, torch.bfloat16))
    assert moved(half) == tuple(b // 2 for b in moved(single))
    assert half["ops"][0]["dtype"] == "bfloat16" and flops(half) == flops(single)


@pytest.mark.parametrize("n", [8, 16, 64])
def test_grows_with_the_shape(n):
    model = nn.Sequential(nn.Linear(32, 48), nn.ReLU(), nn.Linear(48, 8))
    small, large = (trace(model, [randn(m, 32)]) for m in (n, 2 * n))
    assert small["read_bytes"] < large["read_bytes"] and flops(large) == 2 * flops(small)


# Whole tasks.

TASKS = sorted((ROOT / "tasks").glob("*/*.py"))
VALUES = {"histogram", "swiglu_mlp_fp16"}  # cannot run on fake tensors


@pytest.mark.parametrize("path", TASKS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_builtin_tasks(path):
    source = path.read_text()
    real = trace_task(source, size="cpu", real=True)
    inputs = sum(row["bytes"] for row in real["inputs"])
    outputs = sum(row["bytes"] for row in real["outputs"])
    assert 0 < real["read_bytes"] <= inputs and 0 < real["write_bytes"] <= outputs
    assert real["eager_bytes"] >= real["read_bytes"] + real["write_bytes"]
    for row in real["ops"]:
        assert 0 <= row["flops_bound"] <= row["flops"] <= row["flops_nominal"]
    if path.stem in VALUES:
        return
    fake = trace_task(source, size="cpu")
    assert fake["write_bytes"] == real["write_bytes"]
    assert fake["read_bytes"] == pytest.approx(real["read_bytes"], rel=0.02)
    assert flops(fake) == pytest.approx(flops(real), rel=0.02)


def test_fake_tensors_need_no_memory():
    source = (ROOT / "tasks/elementwise/relu.py").read_text().replace(
        'SIZES["gpu"].values()', "4096, 393216").replace("SIZES =", "UNUSED =")
    source = source.replace('SIZES["gpu"]', "")
    report = trace_task(source, size="gpu")
    assert moved(report) == (4096 * 393216 * 4, 4096 * 393216 * 4)


def test_a_task_that_fails_says_why():
    broken = "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        raise KeyError('no')\n" \
             "def get_inputs():\n    return [torch.randn(2)]\ndef get_init_inputs():\n    return []\n"
    assert "KeyError" in trace_work.trace_line({"source": broken}, "cpu")["error"]
