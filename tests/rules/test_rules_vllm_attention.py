"""vLLM's attention backends and cache dtypes: the value that decides, and the same without it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kvgate.rules import Finding, Undecided, Verdict

Ask = Callable[..., Verdict]
QWEN, OSS, PHI = "Qwen/Qwen3-8B", "openai/gpt-oss-20b", "microsoft/Phi-3-mini-4k-instruct"
V3, V32 = "deepseek-ai/DeepSeek-V3 -tp 8", "deepseek-ai/DeepSeek-V3.2 -tp 8"
GLM, LITE = "zai-org/GLM-5.2-FP8 -tp 8", "deepseek-ai/DeepSeek-V2-Lite"
GEMMA, MINIMAX = "google/gemma-4-31B-it -tp 2", "nvidia/MiniMax-M2.5-NVFP4 -tp 8"
FORCE, FP8 = "--attention-backend", "--kv-cache-dtype fp8"
A100 = "A100 80GB SXM"

# rule, (model and flags, version, GPU) that fires, and the same with one decisive thing changed.
FLIPS: list[tuple[str, tuple[str, str, str], tuple[str, str, str]]] = [
    ("sinks_without_backend",
     (f"{OSS} {FORCE} FLASHINFER", "0.33.0", "L40S"),
     (f"{OSS} {FORCE} FLASHINFER", "0.33.0", "B200")),
    ("sinks_without_backend",
     (f"{OSS} {FORCE} FLASH_ATTN", "0.26.0", A100), (f"{QWEN} {FORCE} FLASH_ATTN", "0.26.0", A100)),
    ("sinks_without_backend",
     (f"{OSS} {FORCE} FLASHINFER", "0.26.0", "RTX PRO 6000"),
     (f"{OSS} {FORCE} FLASHINFER", "0.33.0", "RTX PRO 6000")),
    ("triton_tiles_exceed_shared_memory",
     (GEMMA, "0.26.0", "T4"), (GEMMA, "0.26.0", "RTX PRO 6000")),
    ("flash_attention_below_sm80",
     (f"{QWEN} {FORCE} FLASH_ATTN", "0.20.2", "T4"),
     (f"{QWEN} {FORCE} FLASH_ATTN", "0.20.2", "A10")),
    ("wide_heads_fall_to_triton", (GEMMA, "0.26.0", "B200"), (GEMMA, "0.33.0", "B200")),
    ("sparse_mla_without_backend",
     (V32, "0.22.0", "RTX PRO 6000"), (V32, "0.33.0", "RTX PRO 6000")),
    ("sparse_mla_without_backend", (V32, "0.26.0", A100), (V3, "0.26.0", A100)),
    ("dense_backend_on_sparse_model",
     (f"{V32} {FORCE} CUTLASS_MLA", "0.20.2", "B200"),
     (f"{V3} {FORCE} CUTLASS_MLA", "0.20.2", "B200")),
    ("triton_mla_refuses_fp8",
     (f"{LITE} {FP8}", "0.33.0", "RTX 3090"), (f"{LITE} {FP8}", "0.33.0", "RTX 4090")),
    ("triton_mla_refuses_fp8",
     (f"{LITE} {FP8}", "0.17.1", "RTX 4090"), (f"{LITE} {FP8}", "0.18.0", "RTX 4090")),
    ("sparse_mla_block_size",
     (f"{V32} --block-size 16", "0.26.0", "H200"), (f"{V32} --block-size 64", "0.26.0", "H200")),
    ("sparse_mla_fp8_spelling",
     (f"{GLM} --kv-cache-dtype fp8_e4m3", "0.29.0", "H200"), (f"{GLM} {FP8}", "0.29.0", "H200")),
    ("sparse_mla_fp8_spelling",
     (f"{V32} --kv-cache-dtype fp8_e4m3", "0.18.0", "H200"),
     (f"{V32} --kv-cache-dtype fp8_e4m3", "0.17.1", "H200")),
    ("fp8_refused_by_flash_attention",
     (f"{QWEN} {FP8} {FORCE} FLASH_ATTN", "0.26.0", A100),
     (f"{QWEN} {FP8} {FORCE} FLASHINFER", "0.26.0", A100)),
    ("fp8_refused_by_flash_attention",
     (f"{QWEN} {FP8} {FORCE} FLASH_ATTN", "0.26.0", "B200"),
     (f"{QWEN} {FP8} {FORCE} FLASH_ATTN", "0.33.0", "B200")),
    ("e4m3_needs_ada_in_triton",
     (f"{PHI} {FP8}", "0.26.0", "A10"), (f"{PHI} {FP8}", "0.26.0", "L4")),
    ("e4m3_needs_ada_in_triton",
     (f"{QWEN} {FP8} {FORCE} TRITON_ATTN", "0.33.0", "RTX 3090"),
     (f"{QWEN} {FORCE} TRITON_ATTN", "0.33.0", "RTX 3090")),
    ("checkpoint_turns_on_fp8",
     (MINIMAX, "0.33.0", A100), (f"{MINIMAX} --kv-cache-dtype bfloat16", "0.33.0", A100)),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "fires", "silent"), FLIPS)
def test_changing_the_decisive_value_flips_the_verdict(
    ask: Ask, rule: str, fires: tuple[str, str, str], silent: tuple[str, str, str]
) -> None:
    found = ask(rule, f"vllm serve {fires[0]}", f"vllm=={fires[1]}", gpu=fires[2])
    assert isinstance(found, Finding)
    assert ask(rule, f"vllm serve {silent[0]}", f"vllm=={silent[1]}", gpu=silent[2]) is None


@pytest.mark.parametrize(("version", "read"), [("0.14.1", True), ("0.15.0", False)])
def test_the_variable_for_the_backend_was_read_up_to_0_14(
    ask: Ask, version: str, read: bool
) -> None:
    command = f"VLLM_ATTENTION_BACKEND=FLASHINFER vllm serve {QWEN}"
    verdict = ask("backend_variable_is_not_read", command, f"vllm=={version}", gpu="A40")
    assert isinstance(verdict, Finding) is not read


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("flash_attention_below_sm80", f"{QWEN} {FORCE} FLASH_ATTN"),
        ("sparse_mla_without_backend", V32),
        ("triton_mla_refuses_fp8", f"{V3} {FP8}"),
        ("sparse_mla_fp8_spelling", f"{GLM} --kv-cache-dtype fp8_e4m3"),
        ("e4m3_needs_ada_in_triton", f"{PHI} {FP8}"),
    ],
)
def test_without_the_gpu_a_rule_that_asks_for_it_stays_open(
    ask: Ask, rule: str, command: str
) -> None:
    verdict = ask(rule, f"vllm serve {command}", "vllm==0.26.0")
    assert isinstance(verdict, Undecided)
    assert "GPU" in verdict.lacks


def test_a_change_that_names_a_backend_says_it_as_the_release_reads_it(ask: Ask) -> None:
    rule, gpu = "flash_attention_below_sm80", "T4"
    new = ask(rule, f"vllm serve {QWEN} {FORCE} FLASH_ATTN", "vllm==0.26.0", gpu=gpu)
    old = ask(rule, f"VLLM_ATTENTION_BACKEND=FLASH_ATTN vllm serve {QWEN}", "vllm==0.11.0", gpu=gpu)
    assert isinstance(new, Finding)
    assert f"{FORCE} TRITON_ATTN" in new.fix
    assert isinstance(old, Finding)
    assert old.fix == "set VLLM_ATTENTION_BACKEND=TRITON_ATTN"


def test_no_rule_of_vllm_speaks_of_another_engine(ask: Ask) -> None:
    command = f"python -m sglang.launch_server --model-path {QWEN} --kv-cache-dtype fp8_e4m3"
    for rule in {rule for rule, *_ in FLIPS}:
        assert ask(rule, command, "sglang==0.5.17", gpu="T4") is None
