"""AMD's rules: the value that decides, and the same deployment with that value changed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kvgate.rules import Finding, Undecided, Verdict

Ask = Callable[..., Verdict]
ON, SHUFFLE = "VLLM_ROCM_USE_AITER=1", "VLLM_ROCM_SHUFFLE_KV_CACHE_LAYOUT=1"
OLD = "VLLM_ATTENTION_BACKEND=ROCM_ATTN"
R1, K2 = "vllm serve deepseek-ai/DeepSeek-R1", "vllm serve moonshotai/Kimi-K2-Instruct"
K3, V32 = "vllm serve moonshotai/Kimi-K3", "vllm serve deepseek-ai/DeepSeek-V3.2 -tp 8"
OSS, QWEN = "vllm serve openai/gpt-oss-120b", "vllm serve Qwen/Qwen3-32B"
NEXT, Q35 = "vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct", "vllm serve Qwen/Qwen3.5-35B-A3B"
M3, M25 = "vllm serve MiniMaxAI/MiniMax-M3 -tp 8", "vllm serve MiniMaxAI/MiniMax-M2.5 -tp 4"
GEMMA = "vllm serve google/gemma-3-27b-it"
FORCE = "--attention-backend"

# rule, (command, version, GPU) that fires, and the same with one decisive thing changed.
FLIPS: list[tuple[str, tuple[str, str, str], tuple[str, str, str]]] = [
    ("aiter_mla_head_count",
     (f"{ON} {R1} -tp 4", "0.17.1", "MI300X"), (f"{ON} {R1} -tp 4", "0.18.0", "MI300X")),
    ("aiter_mla_head_count",
     (f"{ON} {K2} -tp 8", "0.13.0", "MI300X"), (f"{ON} {K2} -tp 4", "0.13.0", "MI300X")),
    ("aiter_mla_head_count",
     (f"{R1} -tp 4 {FORCE} ROCM_AITER_MLA", "0.14.1", "MI355X"),
     (f"{R1} -tp 4 {FORCE} TRITON_MLA", "0.14.1", "MI355X")),
    ("rocm_attn_refuses_sinks",
     (f"{OSS} {FORCE} ROCM_ATTN", "0.19.0", "MI300X"),
     (f"{OSS} {FORCE} ROCM_ATTN", "0.18.0", "MI300X")),
    ("rocm_attn_refuses_sinks",
     (f"{OSS} {FORCE} ROCM_AITER_FA", "0.22.0", "MI300X"),
     (f"{OSS} {FORCE} ROCM_AITER_FA", "0.23.0", "MI300X")),
    ("rocm_attn_odd_block",
     (f"{OLD} {NEXT} -tp 4", "0.13.0", "MI300X"), (f"{OLD} {NEXT} -tp 4", "0.14.0", "MI300X")),
    ("rocm_attn_odd_block",
     (f"VLLM_V1_USE_PREFILL_DECODE_ATTENTION=1 {NEXT} -tp 2", "0.12.0", "MI300X"),
     (f"{NEXT} -tp 2", "0.12.0", "MI300X")),
    ("rocm_attn_writes_odd_blocks_wrong",
     (f"{Q35} {FORCE} ROCM_ATTN", "0.16.0", "MI325X"),
     (f"{Q35} {FORCE} TRITON_ATTN", "0.16.0", "MI325X")),
    ("aiter_is_off", (QWEN, "0.26.0", "MI355X"), (f"{ON} {QWEN}", "0.26.0", "MI355X")),
    ("dense_default_is_no_longer_aiter",
     (f"{ON} {QWEN}", "0.19.0", "MI300X"), (f"{ON} {QWEN}", "0.18.1", "MI300X")),
    ("sparse_indexer_needs_aiter",
     (V32, "0.29.0", "MI355X"), (V32, "0.30.0", "MI355X")),
    ("sparse_indexer_needs_aiter",
     (V32, "0.30.0", "MI325X"), (f"{ON} {V32}", "0.30.0", "MI325X")),
    ("fnuz_cache_read_as_fn",
     (f"{M3} --kv-cache-dtype fp8", "0.23.0", "MI325X"),
     (f"{M3} --kv-cache-dtype fp8", "0.23.0", "MI355X")),
    ("shuffled_layout_needs_block_16",
     (f"{ON} {SHUFFLE} {M25} --block-size 32", "0.26.0", "MI355X"),
     (f"{ON} {SHUFFLE} {M25} --block-size 16", "0.26.0", "MI355X")),
    ("aiter_fa_refuses_sparse_blocks",
     (f"{M3} {FORCE} ROCM_AITER_FA", "0.33.0", "MI355X"),
     (f"{M25} {FORCE} ROCM_AITER_FA", "0.33.0", "MI355X")),
    ("aiter_decode_ignores_windows",
     (f"{ON} {GEMMA}", "0.11.2", "MI300X"), (f"{ON} {GEMMA}", "0.12.0", "MI300X")),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "fires", "silent"), FLIPS)
def test_changing_the_decisive_value_flips_the_verdict(
    ask: Ask, rule: str, fires: tuple[str, str, str], silent: tuple[str, str, str]
) -> None:
    found = ask(rule, fires[0], f"vllm=={fires[1]}", gpu=fires[2])
    assert isinstance(found, Finding)
    assert ask(rule, silent[0], f"vllm=={silent[1]}", gpu=silent[2]) is None


@pytest.mark.parametrize("rule", sorted({rule for rule, *_ in FLIPS}))
def test_no_rule_of_amd_speaks_of_an_nvidia_card(ask: Ask, rule: str) -> None:
    for command in (f"{ON} {SHUFFLE} {R1} -tp 4", f"{ON} {V32}", f"{ON} {GEMMA}", QWEN):
        assert ask(rule, command, "vllm==0.11.0", gpu="H100") is None


@pytest.mark.parametrize(
    ("version", "heads", "taken"),
    [
        ("0.17.1", 8, False), ("0.18.0", 8, True), ("0.19.1", 12, False), ("0.26.0", 12, False),
        ("0.27.0", 12, True), ("0.28.0", 24, False), ("0.29.0", 24, True),
    ],
)  # fmt: skip
def test_each_release_of_aiter_mla_takes_its_own_numbers_of_heads(
    ask: Ask, version: str, heads: int, taken: bool
) -> None:
    # Kimi-K3 has 96 heads, Kimi-K2 64.
    command = f"{K2} -tp 8" if heads == 8 else f"{K3} -tp {96 // heads}"
    verdict = ask("aiter_mla_head_count", f"{ON} {command}", f"vllm=={version}", gpu="MI355X")
    assert isinstance(verdict, Finding) is not taken


def test_sglang_hands_any_number_of_heads_to_aiter(ask: Ask) -> None:
    command = "python3 -m sglang.launch_server --model moonshotai/Kimi-K2-Instruct --tp {} {}"
    engine, gpu = "sglang==0.4.9", "MI355X"
    named = "--attention-backend aiter"
    rule = "aiter_mla_head_count"
    assert isinstance(ask(rule, command.format(8, named), engine, gpu=gpu), Finding)
    assert ask(rule, command.format(4, named), engine, gpu=gpu) is None
    assert ask(rule, command.format(8, ""), engine, gpu=gpu) is None


def test_a_backend_of_rocm_tells_the_vendor_where_the_card_is_not_known(ask: Ask) -> None:
    found = ask("rocm_attn_refuses_sinks", f"{OSS} {FORCE} ROCM_ATTN", "vllm==0.20.2")
    assert isinstance(found, Finding)


def test_with_the_shuffled_layout_blocks_of_128_depend_on_another_kernel(ask: Ask) -> None:
    rule, command = "aiter_fa_refuses_sparse_blocks", f"{SHUFFLE} {M3} {FORCE} ROCM_AITER_FA"
    assert isinstance(ask(rule, command, "vllm==0.28.0", gpu="MI355X"), Finding)
    assert isinstance(ask(rule, command, "vllm==0.30.0", gpu="MI355X"), Undecided)


def test_a_connector_keeps_rocm_attn_from_being_the_choice(ask: Ask) -> None:
    rule, gpu = "dense_default_is_no_longer_aiter", "MI300X"
    command = f"{ON} {QWEN} --kv-transfer-config " + '\'{"kv_connector": "NixlConnector"}\''
    assert ask(rule, command, "vllm==0.33.0", gpu=gpu) is None
