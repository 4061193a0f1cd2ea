"""From a GPU alone: the range of KV memory must hold what the engine logged, and be narrow."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from packaging.version import Version

from kvgate.architecture import Architecture, Attention, LayerGroup
from kvgate.catalog import gpu, gpus
from kvgate.errors import InputError
from kvgate.kvcache import Sizing, size
from kvgate.kvcache.reserve import reserve_terms, visible_bytes
from kvgate.kvcache.vllm_rules import batch_defaults, vllm_rules
from kvgate.units import GiB, MiB

_GOLDEN = Path(__file__).resolve().parents[1] / "golden/kvcache-reserve.jsonl"
_ROWS = [json.loads(line) for line in _GOLDEN.read_text(encoding="utf-8").splitlines()]


def _model(vocab: int | None, hidden: int, layers: int, *, mm: bool = False) -> Architecture:
    group = LayerGroup(Attention("full", 32, 8, 128, 128), tuple(range(layers)), ())
    return Architecture(
        id="any", model_type="any", architectures=(), groups=(group,), num_layers=layers,
        hidden_size=hidden, vocab_size=vocab, query_heads=32, dtype="bfloat16",
        max_position_embeddings=131_072, multimodal=mm,
    )  # fmt: skip


def _sizing(row: dict[str, Any]) -> Sizing:
    return size(
        _model(row["vocab"], row["hidden"], row["layers"], mm=row.get("mm", False)),
        gpu=row["gpu"], engine=f"vllm=={row['v']}", tp=row.get("tp", 1), pp=row.get("pp", 1),
        gpu_memory_utilization=row["util"], weights_bytes=int(row["weights"] * GiB),
        max_model_len=8192, dtype=row.get("dtype", "auto"),
        enforce_eager=row.get("eager", False), max_num_batched_tokens=row.get("batched"),
    )  # fmt: skip


def test_the_range_holds_what_vllm_logged_and_is_narrow() -> None:
    inside, widths, errors = [], [], []
    for row in _ROWS:
        pool = _sizing(row).pool
        assert pool is not None
        low, likely, high = (
            n / GiB for n in (pool.memory.low, pool.memory.likely, pool.memory.high)
        )
        inside.append(low <= row["kv"] <= high)
        widths.append((high - low) * GiB / gpu(row["gpu"]).memory_bytes)
        errors.append(abs(likely - row["kv"]) / row["kv"])
    assert len(_ROWS) >= 40
    assert sum(inside) / len(inside) >= 0.9
    assert max(widths) <= 0.08
    assert median(errors) <= 0.025


def test_cuda_shows_less_than_the_driver_reports() -> None:
    for card in gpus():
        if card.vendor != "nvidia" or card.name in ("GB10", "Jetson AGX Thor"):
            continue
        assert 0.95 < visible_bytes(card) / card.memory_bytes < 1
    assert visible_bytes(gpu("GB10")) == gpu("GB10").memory_bytes


# Total capacities in GiB as start-up logs and out-of-memory errors print them.
@pytest.mark.parametrize(
    ("card", "shown"),
    [("H100 SXM", "79.19"), ("A100 80GB SXM", "79.32"), ("B200", "178.35"), ("B300", "267.69")],
)
def test_what_cuda_shows_is_what_logs_say(card: str, shown: str) -> None:
    assert f"{visible_bytes(gpu(card)) / GiB:.2f}" == shown


def test_cards_of_one_memory_show_the_same_of_it() -> None:
    assert gpu("H100 PCIe").memory_bytes == gpu("H100 SXM").memory_bytes
    assert visible_bytes(gpu("H100 PCIe")) == visible_bytes(gpu("H100 SXM"))


def test_a_larger_vocabulary_costs_a_larger_sampler() -> None:
    rules = vllm_rules(Version("0.19.0"))
    small, large = (
        reserve_terms(
            _model(v, 4096, 32), rules, gpu=gpu("H100"), tp=1, batched_tokens=8192, seqs=1024
        )
        for v in (32_000, 262_144)
    )
    assert large.sampler - small.sampler == pytest.approx((262_144 - 32_000) * 1024 * 14 / GiB)


def test_the_full_sort_of_0_12_to_0_16_costs_most() -> None:
    sampler = [
        reserve_terms(
            _model(151_936, 5120, 40), vllm_rules(Version(v)), gpu=gpu("H100"), tp=1,
            batched_tokens=8192, seqs=1024,
        ).sampler
        for v in ("0.11.0", "0.16.0", "0.17.0")
    ]  # fmt: skip
    assert sampler[1] > 2 * sampler[2] > 2 * sampler[0]


def test_graphs_are_reserved_from_0_20_2_on_unless_eager() -> None:
    def graphs(version: str, *, eager: bool = False) -> float:
        return reserve_terms(
            _model(128_256, 4096, 32), vllm_rules(Version(version)), gpu=gpu("H100"), tp=1,
            batched_tokens=8192, seqs=1024, eager=eager,
        ).graphs  # fmt: skip

    assert graphs("0.19.0") == 0
    assert graphs("0.21.0") > 0.5
    assert graphs("0.21.0", eager=True) == 0


@pytest.mark.parametrize(
    ("version", "card", "batched", "seqs"),
    [
        ("0.33.0", "H100", 8192, 1024), ("0.33.0", "B200", 16384, 1024),
        ("0.26.0", "B200", 8192, 1024), ("0.33.0", "A100", 2048, 256), ("0.33.0", "L4", 2048, 256),
        ("0.32.0", "GB10", 8192, 1024), ("0.33.0", "GB10", 2048, 256),
    ],
)  # fmt: skip
def test_the_batch_defaults_follow_the_card_and_the_version(
    version: str, card: str, batched: int, seqs: int
) -> None:
    found = gpu(card)
    assert batch_defaults(vllm_rules(Version(version)), found.memory_bytes, found.name) == (
        batched, seqs,
    )  # fmt: skip


def test_a_gpu_without_known_weights_is_refused() -> None:
    with pytest.raises(InputError, match="weights of any are not known"):
        size(_model(128_256, 4096, 32), gpu="H100", max_model_len=8192)


def test_weights_that_fill_the_card_leave_nothing() -> None:
    sizing = size(
        _model(128_256, 4096, 32), gpu="L4", engine="vllm==0.33.0", weights_bytes=22 * GiB,
        max_model_len=8192,
    )  # fmt: skip
    assert sizing.fits is False
    assert sizing.pool is not None
    assert sizing.pool.refusal == "No available memory for the cache blocks."
    assert (sizing.pool.memory.likely, sizing.tokens) == (0, 0)


def test_an_impossible_utilisation_is_refused() -> None:
    with pytest.raises(InputError, match="above 0, up to 1"):
        size(_model(1, 1, 1), gpu="H100", gpu_memory_utilization=1.2, weights_bytes=0)


def test_a_stage_with_less_weights_has_more_for_its_cache() -> None:
    # 64 layers in 3 stages are 21, 22 and 21: the last holds the head too, the middle most layers.
    asked = {"gpu": "H100", "engine": "vllm==0.33.0", "pp": 3, "max_model_len": 4096}
    counted = size("Qwen/Qwen3-32B", **asked)  # type: ignore[arg-type]
    stages = counted.weights.by_stage
    assert len(stages) == 3
    assert max(stages) == counted.weights.bytes_per_rank
    told = size("Qwen/Qwen3-32B", weights_bytes=stages, **asked)  # type: ignore[arg-type]
    most = size("Qwen/Qwen3-32B", weights_bytes=max(stages), **asked)  # type: ignore[arg-type]
    assert counted.pool is not None
    assert told.pool is not None
    assert most.pool is not None
    memory = counted.pool.memory.likely
    layers = (21, 22, 21)
    blocks = min(
        (memory + max(stages) - held) // (count * 16 * 4096)
        for held, count in zip(stages, layers, strict=True)
    )
    assert counted.pool.blocks == told.pool.blocks == blocks
    assert most.pool.blocks == memory // (22 * 16 * 4096) < blocks
    assert any("KV memory by pipeline stage" in line for line in counted.pool.lines)


def test_weights_are_one_figure_or_one_for_each_stage() -> None:
    with pytest.raises(InputError, match="2 figures of weights for 3 pipeline stages"):
        size("Qwen/Qwen3-32B", gpu="H100", pp=3, weights_bytes=(1, 2))


@pytest.mark.parametrize(
    ("card", "mib"),
    [
        # As start-up logs and torch print them, in MiB.
        ("H100", 81_091), ("H100 PCIe", 81_091), ("A100 80GB SXM", 81_221),
        ("A100 80GB PCIe", 81_221), ("B200", 182_630), ("B300", 274_115),
    ],
)  # fmt: skip
def test_what_cuda_shows_of_a_card_is_what_was_read(card: str, mib: int) -> None:
    assert visible_bytes(gpu(card)) == mib * MiB


def test_what_nobody_read_is_all_of_shared_memory_and_a_little_less_of_a_card() -> None:
    for card in ("GB10", "Jetson AGX Thor", "MI300X"):
        assert visible_bytes(gpu(card)) == gpu(card).memory_bytes
    other = gpu("L40S")
    assert visible_bytes(other) == int(other.memory_bytes * 0.997 - 0.3 * GiB)


@pytest.mark.parametrize(
    ("version", "memory", "name", "batch"),
    [
        ("0.33.0", 70 * GiB, "x", (8192, 1024)), ("0.33.0", 70 * GiB - 1, "x", (2048, 256)),
        ("0.33.0", 160 * GiB, "x", (16_384, 1024)), ("0.33.0", 160 * GiB - 1, "x", (8192, 1024)),
        ("0.27.0", 160 * GiB, "x", (8192, 1024)), ("0.33.0", 80 * GiB, "A100", (2048, 256)),
        ("0.33.0", 120 * GiB, "GB10", (2048, 256)), ("0.32.0", 120 * GiB, "GB10", (8192, 1024)),
    ],
)  # fmt: skip
def test_the_batch_defaults_turn_at_70_and_at_160_gib(
    version: str, memory: int, name: str, batch: tuple[int, int]
) -> None:
    assert batch_defaults(vllm_rules(Version(version)), memory, name) == batch
