"""SGLang 0.5.23's own memory fractions, budgets, tokens, splits, slots and request limits."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kvgate.architecture import Architecture, model, parse
from kvgate.errors import InputError
from kvgate.kvcache.choice import choose_format
from kvgate.kvcache.sglang import SglangPool, sglang_pool
from kvgate.kvcache.sglang_options import (
    SglangOptions,
    chunked_prefill_default,
    mem_fraction_static,
)

_ROOT = Path(__file__).resolve().parents[2]
_ORACLE = _ROOT / "../shared/oracle/sglang_pool_0.5.23.jsonl"
_CONFIGS = _ROOT / "../shared/data/configs"
_GOLDEN = _ROOT / "tests/golden/kvcache-sglang-0.5.23.jsonl"

# The oracle's names, the config each was run on, and the vision layers and width its rule reads.
_MODELS: dict[str, tuple[str, tuple[int, int] | None]] = {
    "qwen3_8b": ("Qwen--Qwen3-8B", None),
    "llama31_70b": ("meta-llama--Meta-Llama-3.1-70B", None),
    "dense_h64": ("meta-llama--Llama-3.2-1B-Instruct", None),
    "gemma2_27b": ("google--gemma-2-27b-it", None),
    "gemma3_27b": ("google--gemma-3-27b-it", None),
    "gemma4_31b": ("google--gemma-4-31B-it", (27, 1152)),
    "gemma4_26b_a4b": ("google--gemma-4-26B-A4B-it", (27, 1152)),
    "gemma4_e4b": ("google--gemma-4-E4B-it", (16, 768)),
    "llama4_scout": ("meta-llama--Llama-4-Scout-17B-16E-Instruct", None),
    "mimo_v2": ("XiaomiMiMo--MiMo-V2-Flash", None),
    "mla_v3": ("deepseek-ai--DeepSeek-V3", None),
    "mla_v2lite": ("deepseek-ai--DeepSeek-V2-Lite", None),
    "kimi_k25": ("moonshotai--Kimi-K2.5", (27, 1152)),
    "dsa_v32": ("deepseek-ai--DeepSeek-V3.2", None),
    "glm5": ("zai-org--GLM-5", None),
    "qwen3_next": ("Qwen--Qwen3-Next-80B-A3B-Instruct", None),
    "qwen35_27b": ("Qwen--Qwen3.5-27B", (24, 1152)),
    "nemotronh_30b": ("nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", None),
    "nemotronh_super_fp8": ("nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8", None),
    "kimi_linear": ("moonshotai--Kimi-Linear-48B-A3B", None),
    "dsv4_flash": ("deepseek-ai--DeepSeek-V4-Flash", None),
    "glm45_air": ("zai-org--GLM-4.5-Air", None),
    "qwen3_30b_a3b": ("Qwen--Qwen3-30B-A3B-FP8", None),
    "minimax_m25": ("MiniMaxAI--MiniMax-M2.5", None),
    "mistral7b": ("mistralai--Mistral-7B-Instruct-v0.3", None),
    "gptoss20b": ("openai--gpt-oss-20b", None),
    "gptoss120b": ("openai--gpt-oss-120b", None),
    "qwen3_vl_8b": ("Qwen--Qwen3-VL-8B-Instruct", (24, 1152)),
    "qwen35_35b": ("Qwen--Qwen3.5-122B-A10B", (24, 1152)),
}

Row = dict[str, Any]


def _rows() -> list[Row]:
    if not _ORACLE.exists():
        pytest.skip("the shared facts are not beside this checkout")
    return [json.loads(line) for line in _ORACLE.read_text(encoding="utf-8").splitlines()]


@cache
def _arch(name: str) -> Architecture:
    if "/" in name:
        return _without_side_file(model(name))
    file, _ = _MODELS[name]
    config = json.loads((_CONFIGS / f"{file}.json").read_text(encoding="utf-8"))
    if name == "qwen35_35b":
        # The 35B is the 122B's layout with other counts; its config is not in the corpus.
        config["text_config"] |= {
            "num_hidden_layers": 40, "linear_num_value_heads": 32, "linear_num_key_heads": 16,
            "num_key_value_heads": 2, "head_dim": 256,
            "layer_types": config["text_config"]["layer_types"][:40],
        }  # fmt: skip
    return parse(config, id=name)


def _without_side_file(arch: Architecture) -> Architecture:
    # SGLang was asked with each config.json alone; the catalogue also read hf_quant_config.json.
    said = arch.quantization
    if said is None or not (said.kv_cache_key or "").startswith("hf_quant_config.json"):
        return arch
    return replace(arch, quantization=replace(said, kv_cache=None, kv_cache_key=None))


def _options(row: Row) -> SglangOptions:
    ext: dict[str, Any] = dict(row.get("ext") or {})
    names = {
        "mamba_radix_cache_strategy": "mamba_strategy",
        "cuda_graph_max_bs_decode": "decode_graph_max_bs",
    }
    known: dict[str, Any] = {
        names.get(key, key): value
        for key, value in ext.items()
        if key not in ("page_size", "context_length", "mamba_ssm_dtype", "attention_backend",
                       "cuda_graph_backend_decode", "cuda_graph_backend_prefill")
    }  # fmt: skip
    vision = row.get("vision") or _MODELS.get(row["model"], ("", None))[1]
    if vision is not None:
        known |= {"vision_layers": vision[0], "vision_hidden": vision[1]}
    if ext.get("cuda_graph_backend_decode") == "disabled":
        known["decode_graph"] = False
    return SglangOptions(**known)


def _pool(row: Row) -> SglangPool | str:
    arch = _arch(row["model"])
    sm = tuple(int(n) for n in row["sm"].split("."))
    try:
        choice = choose_format(
            arch, engine="sglang", sm=sm, kv_cache_dtype=row["kv_in"],  # type: ignore[arg-type]
            dtype=row["kv_torch"] if row["kv_torch"] in ("bfloat16", "float16") else "auto",
        )  # fmt: skip
    except InputError as error:
        return error.message
    return sglang_pool(
        arch, choice, _options(row), tp=row["tp"], context=row["ctx"], page=row["page"],
        pre_load_gib=row["pre_model_load_gb"], available_gib=row["avail_gb"],
        memory_mib=row["gpu_mib"], ssm_dtype=(row.get("ext") or {}).get("mamba_ssm_dtype", "auto"),
    )  # fmt: skip


def _got(pool: SglangPool) -> Row:
    extra = dict(pool.extra)
    return {
        "mem_fraction_static": pool.mem_fraction_static,
        "budget_bytes": pool.budget,
        "max_total_num_tokens": pool.tokens,
        "swa_max_total_num_tokens": pool.swa_tokens,
        "max_mamba_cache_size": pool.slots,
        "mamba_slots_per_req": pool.slots_per_request,
        "max_running_requests": pool.max_running_requests,
        "c4_max_total_num_tokens": extra.get("c4_tokens"),
        "c128_max_total_num_tokens": extra.get("c128_tokens"),
        "c4_state_pool_size": extra.get("c4_state_rows"),
        "c128_state_pool_size": extra.get("c128_state_rows"),
        "cell_bytes": pool.cell,
    }


def _differences(row: Row) -> Row:
    pool = _pool(row)
    if isinstance(pool, str):
        return {"error": pool}
    if "error" in row:
        # The engine's text may go on; what it starts with is what we say.
        start = (pool.error or "none").split(" (")[0][:60]
        return {} if start and start in row["error"] else {"error": (pool.error, row["error"])}
    if pool.error:
        return {"error": pool.error}
    return {
        key: (value, row[key])
        for key, value in _got(pool).items()
        if key in row and row[key] != value
    }


def test_every_pool_is_sglangs_own() -> None:
    rows = [r for r in _rows() if r["kind"] == "pool" and "kv_torch" in r]
    wrong = [(r["model"], r.get("ext"), d) for r in rows if (d := _differences(r))]
    assert len(rows) > 1000
    assert wrong == []


def _fractions(rows: list[Row]) -> list[tuple[Row, float]]:
    """The rows whose memory fraction isn't ours, with ours."""
    wrong = []
    for row in rows:
        options = _options(row)
        decode, prefill = row["graph"].split("/")
        fraction = mem_fraction_static(
            _arch(row["model"]),
            SglangOptions(
                chunked_prefill_size=row["chunked_prefill"], decode_graph=decode != "disabled",
                decode_graph_max_bs=row["decode_graph_max_bs"], prefill_graph=prefill != "disabled",
                prefill_graph_count=row["prefill_graph_n"], vision_layers=options.vision_layers,
                vision_hidden=options.vision_hidden,
            ),
            memory_mib=row["gpu_mib"], tp=row["tp"],
        )  # fmt: skip
        if fraction != row["mem_fraction_static"]:
            wrong.append((row, fraction))
    return wrong


def _chosen(row: Row) -> Row:
    """What SGLang took by itself for the card and the ranks, as kvgate takes it."""
    arch, memory = _arch(row["model"]), row["gpu_mib"]
    vision = dict(zip(("vision_layers", "vision_hidden"), row.get("vision", ()), strict=False))
    known = SglangOptions(prefill_graph="/disabled" not in row["graph"], **vision)
    ours = mem_fraction_static(arch, known, memory_mib=memory, tp=row["tp"])
    return {"chunked_prefill": chunked_prefill_default(memory), "mem_fraction_static": ours}


def test_every_default_memory_fraction_is_sglangs_own() -> None:
    rows = [r for r in _rows() if r["kind"] == "defaults"]
    assert len(rows) > 500
    assert _fractions(rows) == []


def _shipped() -> list[Row]:
    return [json.loads(line) for line in _GOLDEN.read_text(encoding="utf-8").splitlines()]


def test_the_shipped_golden_rows_are_sglangs_own() -> None:
    rows = [r for r in _shipped() if r.get("kind") != "defaults"]
    wrong = [(r["model"], r.get("ext"), d) for r in rows if (d := _differences(r))]
    assert len(rows) >= 700
    assert wrong == []


def test_the_shipped_defaults_are_sglangs_own() -> None:
    rows = [r for r in _shipped() if r.get("kind") == "defaults"]
    assert len(rows) >= 200
    assert _fractions(rows) == []
    assert [(r, ours) for r in rows if (ours := _chosen(r)) | r != r] == []
