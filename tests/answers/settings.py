"""Questions with the settings that are rarely said: an engine's pools, its options, its lengths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from packaging.version import Version

from kvgate.architecture import Architecture, Quantization
from kvgate.architecture.released import model as released
from kvgate.attention import backends, head_sizes, preferred_block_size
from kvgate.attention.sglang import Model, Query, resolve
from kvgate.attention.sglang.release import Rules, rules
from kvgate.catalog.models import models
from kvgate.kvcache import size
from kvgate.kvcache.choice import choose_format
from kvgate.kvcache.length import length
from kvgate.kvcache.lines import sizing
from kvgate.kvcache.llamacpp import LlamaOptions
from kvgate.kvcache.sglang_options import SglangOptions
from kvgate.kvcache.trtllm import TrtllmOptions
from tests.answers.dice import Dice, said

__all__ = ["FORMATS", "LENGTHS", "formats", "hooks", "lengths", "options", "pools", "widths"]

OLD = ("0.9.2", "0.10.2", "0.11.0", "0.11.2", "0.12.0", "0.13.0", "0.14.0", "0.15.1", "0.16.0")
NEW = ("0.17.1", "0.18.1", "0.19.1", "0.20.2", "0.22.1", "0.25.1", "0.26.0", "0.29.0", "0.32.0")
CARDS = (
    "H100", "B200", "A100-80GB", "L40S", "RTX 5090", "T4", "GB10", "B300", "MI300X", "H20", "V100",
    "H100 PCIe", "L4",
)  # fmt: skip
GIB = 1 << 30


def _read(model: str, **asked: Any) -> str:
    """A sizing as a program and as a person read it, with the picture's points."""
    answer = size(model, **asked)
    return f"{answer.to_json()}\n{list(sizing(answer))}\n{answer.plot(points=3)}"


def pools(model: str) -> Iterator[str]:
    """Every engine's pools, with its own settings."""
    dice = Dice(f"pools {model}")
    whole = {
        "model": (model,),
        "tp": (1, 1, 2, 4, 8),
        "max_model_len": (None, 2048, 40_000, 200_000),
    }
    room = {"gpu": CARDS, "kv_cache_memory": (None, None, 3 * GIB, 50 * GIB)}
    for _ in range(3):
        asked = dice.some(
            **whole, **room, engine=[f"vllm=={version}" for version in (*OLD, *NEW, "0.33.0")],
            pp=(None, None, 2, 3), dcp=(None, None, None, 2), dtype=(None, None, "float32", "half"),
            kv_cache_dtype=("auto", "auto", "fp8", "fp8_e5m2", "int8_per_token_head", "nvfp4",
                            "turboquant_k8v4", "bfloat16"),
            ssm_dtype=(None, None, "float32"), block_size=(None, None, 16, 128),
            max_num_seqs=(None, 8, 2000), max_num_batched_tokens=(None, None, 512, 30_000),
            async_scheduling=(None, True, False), speculative_tokens=(None, None, 2),
            encoder_tokens=(None, 1500), weights_bytes=(None, None, 20 * GIB),
            checkpoint_bytes=(None, None, 30 * GIB), prefix_caching=(None, True, False),
            kv_cache_dtype_skip_layers=(None, None, ("0", "3"), ("sliding_window",)),
            mamba_cache_mode=(None, None, "none", "align", "all"),
            quantization=(None, None, "fp8", "bitsandbytes"),
        )  # fmt: skip
        yield said(_read, **asked)
    for _ in range(4):
        other = dice.some(
            mem_fraction_static=(None, None, 0.7), chunked_prefill_size=(None, 1024, 16_384),
            page_size=(None, None, 16, 64), max_running_requests=(None, None, 5, 300),
            max_total_tokens=(None, None, 70_000), disable_radix_cache=(None, True),
            disable_overlap_schedule=(None, True), disable_hybrid_swa_memory=(None, None, True),
            swa_full_tokens_ratio=(None, None, 0.3, 1.0), max_mamba_cache_size=(None, None, 90),
            mamba_full_memory_ratio=(0.9, 0.5, 3.0), enable_dp_attention=(None, None, True),
            mamba_strategy=("auto", "extra_buffer", "extra_buffer_lazy", "no_buffer"),
            dp_size=(1, 2), decode_graph=(True, False), decode_graph_max_bs=(None, None, 24, 400),
            prefill_graph=(None, True, False), prefill_graph_count=(None, None, 10),
            memory_mib=(None, None, 40_000), pre_load_gib=(None, None, 75.5),
            available_gib=(None, None, 31.25), vision_layers=(24, 48), vision_hidden=(1024, 1536),
        )  # fmt: skip
        drafted: dict[str, Any] = {"speculative_algorithm": "EAGLE"} | dice.some(
            speculative_num_steps=(2, 3), speculative_eagle_topk=(1, 4),
            speculative_num_draft_tokens=(4, 8), speculative_draft_layers=(1, 2),
        )  # fmt: skip
        asked = dice.some(
            **whole, **room, engine=("sglang==0.5.23", "sglang==0.5.12"), pp=(None, None, 2),
            kv_cache_dtype=("auto", "auto", "fp8_e4m3", "fp8_e5m2", "nvfp4", "mxfp8", "bf16"),
            max_num_seqs=(None, None, 7), ssm_dtype=(None, None, "bfloat16"),
            block_size=(None, None, 32),
        )  # fmt: skip
        settings = SglangOptions(**other, **(drafted if dice.pick((False, False, True)) else {}))
        yield said(_read, options=settings, **asked)
    for _ in range(2):
        asked = dice.some(
            **whole, **room, engine=("tensorrt-llm",), pp=(None, 2), block_size=(None, None, 64),
            kv_cache_dtype=("auto", "fp8", "nvfp4", "fp16"),
        )  # fmt: skip
        other = dice.some(
            free_gpu_memory_fraction=(0.9, 0.6), tokens_per_block=(32, 64, 7),
            max_attention_window=(None, (1024,), (4096, 1 << 18), (512, 512, 100_000)),
        )  # fmt: skip
        yield said(_read, options=TrtllmOptions(**other), **asked)
    for _ in range(2):
        asked = dice.some(**{**whole, "tp": (1,)}, **room, engine=("llama.cpp",), pp=(None, 2, 3))
        other = dice.some(
            slots=(1, 3), unified=(None, True), ubatch=(512, 2048), swa_full=(None, True),
            cache_type_k=("f16", "q8_0", "q4_0"), cache_type_v=("f16", "q8_0", "q5_1"),
            mla=(None, "latent", "expanded"),
        )  # fmt: skip
        yield said(_read, options=LlamaOptions(**other), **asked)


# Architectures that a rule of SGLang's names, in code or in a list.
_NAMED = (
    "GptOssForCausalLM", "Llama4ForConditionalGeneration", "Gemma4ForConditionalGeneration",
    "DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM", "DeepseekV4ForCausalLM", "LlamaForCausalLM",
    "GlmMoeDsaForCausalLM", "KimiK25ForConditionalGeneration", "KimiK3ForConditionalGeneration",
    "KimiLinearForCausalLM", "Qwen3MoeForCausalLM", "Qwen3NextForCausalLM", "Qwen2ForCausalLM",
    "Qwen3_5MoeForConditionalGeneration", "Qwen3_5ForConditionalGeneration", "Glm4MoeForCausalLM",
    "Qwen4ExpForConditionalGeneration", "Qwen3VLForConditionalGeneration", "Olmo2ForCausalLM",
    "MiniMaxM2ForCausalLM", "MiniMaxM3SparseForConditionalGeneration", "NemotronHForCausalLM",
    "MiMoV2FlashForCausalLM",
    "FalconH1ForCausalLM", "Lfm2ForCausalLM", "Exaone4ForCausalLM", "Cohere2MoeForCausalLM",
    "Cohere2VisionForConditionalGeneration", "MossVLForConditionalGeneration",
    "GraniteMoeHybridForCausalLM", "JetNemotronForCausalLM", "BailingMoeV2_5ForCausalLM",
)  # fmt: skip
_RARE: dict[str, tuple[Any, ...]] = {
    "moe_a2a_backend": ("none", "deepep"), "enable_hierarchical_cache": (True,),
    "disaggregation_mode": ("null", "decode", "prefill"), "pp_size": (2,), "dcp_size": (2,),
    "enable_deterministic_inference": (True,), "enable_mixed_chunk": (True,),
    "linear_attn_backend": ("triton", "flashinfer", "cutedsl"), "lora_paths": (["x"],),
    "linear_attn_decode_backend": ("triton", "flashinfer", "flashkda"),
    "mamba_track_interval": (64, 100),
    "chunked_prefill_size": (-1, 4096), "enable_dp_attention": (True,), "dp_size": (2,),
    "prefill_kv_cache_dequant_dtype": ("auto", "fp8_e4m3", "bf16"),
    "mamba_ssm_dtype": ("bfloat16",),
    "speculative_draft_attention_backend": ("triton", "flashinfer", "trtllm_mha", "fa3"),
    "speculative_attention_mode": ("decode",), "swa_full_tokens_ratio": (0.5,),
    "hicache_io_backend": ("kernel", "direct"), "enable_unified_memory": (True,),
    "language_model_only": (True,), "enable_multimodal": (True, False), "enable_lora": (True,),
    "disable_hybrid_swa_memory": (True,), "disable_cuda_graph": (True,), "enable_lmcache": (True,),
    "cuda_graph_backend_prefill": ("disabled", "full"), "max_running_requests": (64, 600),
    "cuda_graph_backend_decode": ("disabled", "full"), "enable_two_batch_overlap": (True,),
    "disaggregation_decode_enable_radix_cache": (True,),
    "attn_cp_size": (2,), "dtype": ("float16",),
}  # fmt: skip
_QUANTIZED = (None, None, "fp8", "mxfp4", "mxfp8", "modelopt_fp8", "modelopt_fp4", "awq",
              "modelopt_mixed")  # fmt: skip


def _asked(known: Rules, dice: Dice) -> dict[str, Any]:
    backend = (None, None, None, "triton", "flashinfer", "fa3", "fa4", "trtllm_mha", "trtllm_mla",
               "flashmla", "cutlass_mla", "cutedsl_mla", "dsa", "torch_native", "hpc_ops", "aiter",
               "flex_attention")  # fmt: skip
    flags = dice.some(
        kv_cache_dtype=("auto", "auto", "fp8_e4m3", "fp8_e5m2", "nvfp4", "mxfp8", "bfloat16"),
        attention_backend=backend, page_size=(None, None, None, 1, 32, 64, 128),
        prefill_attention_backend=(*[None] * 20, *backend),
        decode_attention_backend=(*[None] * 20, *backend),
        moe_runner_backend=(None, None, None, "flashinfer_trtllm", "flashinfer_cutlass", "triton",
                            "flashinfer_mxfp4", "flashinfer_trtllm_routed", "deep_gemm"),
        quantization=(*[None] * 4, *_QUANTIZED), tp_size=(None, None, 2, 8),
        disable_radix_cache=(None, None, None, True), disable_overlap_schedule=(None, None, True),
        mamba_radix_cache_strategy=(None, None, "extra_buffer", "no_buffer", "extra_buffer_lazy"),
    )  # fmt: skip
    if dice.pick((False, False, True)):
        name = dice.pick(("EAGLE", "EAGLE", "NEXTN", "NGRAM", "DFLASH", "STANDALONE"))
        flags |= {"speculative_algorithm": name} | dice.some(
            speculative_eagle_topk=(None, 1, 1, 4), speculative_num_steps=(None, 3),
            speculative_num_draft_tokens=(None, 4, 8),
            speculative_ngram_max_bfs_breadth=(None, 1, 5),
        )  # fmt: skip
    for _ in range(2):
        name = dice.pick(tuple(_RARE))
        flags[name] = dice.pick(_RARE[name])
    return {name: value for name, value in flags.items() if _has(known, name, value)}


def _has(known: Rules, name: str, value: object) -> bool:
    """Whether the release has the option and takes the value; a few are asked all the same."""
    entry = known.options.get(name)
    return entry is not None and (not entry.get("choices") or value in entry["choices"])


def options(version: str) -> Iterator[str]:
    """What a release of SGLang makes of models that its rules name, with options of every kind."""
    engine = f"sglang=={version}"
    dice, known = Dice(f"options {version}"), rules(engine)
    for name in _NAMED:
        for _ in range(24):
            latent = "Deepseek" in name or "Kimi" in name or "Glm" in name
            sparse = name in ("DeepseekV32ForCausalLM", "GlmMoeDsaForCausalLM")
            model = Model(
                name, dice.pick(("x", "gemma4", "llama")), latent=latent and "Glm4" not in name,
                state=dice.pick((None, "gdn", "mamba2", "kda", "short_conv")),
                sinks=name.startswith("Gpt") or dice.pick((False, False, False, True)),
                asymmetric=dice.pick((False, False, False, True)), sliding=dice.pick((True, False)),
                multimodal=dice.pick((False, False, True)), index_topk=2048 if sparse else None,
                quantization=dice.pick(_QUANTIZED), kv_fp8=dice.pick((False, False, True)),
                experts=dice.pick((None, None, "mxfp4", "nvfp4", "int4_group32", "w4a16_nvfp4")),
                dtype=dice.pick(("bfloat16", "bfloat16", "float16", "float32", None)),
                heads=dice.pick((None, (32, 8, 128, 128), (64, 4, 192, 128), (8, 1, 256, 256))),
            )  # fmt: skip
            sm = dice.pick(((8, 0), (8, 9), (9, 0), (9, 0), (10, 0), (10, 0), (10, 3), (11, 0),
                            (12, 0), (12, 1)))  # fmt: skip
            memory = dice.pick((None, 15_360, 49_140, 81_559, 183_359))
            yield said(resolve, Query(model, sm, engine, _asked(known, dice), memory))


FORMATS = ("plain", "latent", "sparse", "glm", "compressed", "states", "windows", "checkpoint")
_OF_FORMAT = {
    "plain": "meta-llama/Llama-3.1-8B-Instruct", "latent": "deepseek-ai/DeepSeek-V3",
    "sparse": "deepseek-ai/DeepSeek-V3.2", "glm": "zai-org/GLM-5",
    "compressed": "deepseek-ai/DeepSeek-V4-Flash", "windows": "openai/gpt-oss-20b",
    "states": "Qwen/Qwen3-Next-80B-A3B-Instruct", "checkpoint": "meta-llama/Llama-3.1-8B-Instruct",
}  # fmt: skip
_KV = (
    "auto", "auto", "auto", "fp8", "fp8", "fp8_e4m3", "fp8_e5m2", "fp8_ds_mla", "nvfp4_ds_mla",
    "nvfp4", "bfloat16", "bf16", "float16", "mxfp8", "f16", "q8_0", "q8_0/q4_0", "iq4_nl", "fp16",
    "turboquant_4bit_nc", "int4_per_token_head", "octave_k3v4", "fp9", "fp4_e2m1",
)  # fmt: skip


def formats(kind: str) -> Iterator[str]:
    """The KV format of a dtype, over engines, releases and devices."""
    dice, arch = Dice(f"formats {kind}"), released(_OF_FORMAT[kind])
    for _ in range(400):
        engine = dice.pick(
            ("vllm", "vllm", "vllm", "sglang", "sglang", "llama.cpp", "tensorrt-llm")
        )
        version = dice.pick((None, *OLD, *NEW, "0.33.0"))
        asked = arch
        if kind == "checkpoint":
            held = Quantization(
                dice.pick(("modelopt", "modelopt_mixed", "compressed-tensors", "fp8")),
                kv_cache=dice.pick(("fp8", "fp8_e4m3", "nvfp4", "int8", None)),
                kv_cache_key=dice.pick(("kv_cache_scheme", None)),
            )  # fmt: skip
            asked = replace(arch, quantization=held)
        dtype = dice.pick(
            (arch.dtype, arch.dtype, "float32", "float16", "torch.half", None, "int8")
        )
        yield said(
            choose_format, replace(asked, dtype=dtype), engine=engine,
            version=Version(version) if version and engine == "vllm" else None,
            sm=dice.pick((None, (7, 5), (8, 0), (9, 0), (10, 0), (10, 3), (12, 0))),
            kv_cache_dtype=dice.pick(_KV), dtype=dice.pick(("auto", "auto", "half", "float", "x")),
        )  # fmt: skip


LENGTHS = (
    "yarn",
    "linear",
    "dynamic",
    "llama3",
    "longrope",
    "su",
    "deepseek_yarn",
    "mrope",
    "none",
)


def lengths(kind: str) -> Iterator[str]:
    """The length that an engine derives of a config with a kind of RoPE."""
    dice, arch = Dice(f"lengths {kind}"), released("meta-llama/Llama-3.1-8B-Instruct")
    for _ in range(80):
        rope = dice.some(
            factor=(4.0, 2, 1.5, None), original_max_position_embeddings=(8192, None),
            rope_type=(kind, kind, None), type=(kind, None),
        )  # fmt: skip
        engine = dice.pick(("vllm", "vllm", "sglang", "llama.cpp", "tensorrt-llm"))
        version = dice.pick(
            ("0.29.0", "0.30.0", "0.33.0") if engine == "vllm" else ("0.5.9", "0.5.23")
        )
        asked: Architecture = replace(
            arch, rope=tuple(rope.items()) if kind != "none" else (),
            max_position_embeddings=dice.pick((None, 4096, 32_768, 32_768)),
            model_type=dice.pick(("llama", "gemma3_text", "phi3")),
        )  # fmt: skip
        tokens = dice.pick((None, None, 0, 1, 4096, 4097, 70_000))
        yield said(length, asked, tokens, engine=engine, version=Version(version))


def widths(version: str) -> Iterator[str]:
    """The head sizes that each backend of a vLLM release takes, its blocks, and rare settings."""
    engine, dice = f"vllm=={version}", Dice(f"widths {version}")
    names = ("FLASH_ATTN", "FLASHINFER", "TRITON_ATTN", "FLEX_ATTENTION", "FLASHMLA", "TRITON_MLA",
             "FLASHINFER_MLA", "FLASHMLA_SPARSE", "CUTLASS_MLA", "FLASH_ATTN_MLA")  # fmt: skip
    for name in names:
        yield said(lambda of: sorted(head_sizes(of, engine=engine)), name)
        for sm in ((8, 0), (9, 0), (10, 0), (12, 0)):
            yield said(
                preferred_block_size, name, engine=engine, sm=sm,
                head_size=dice.pick((64, 128, 256)), mla="MLA" in name,
                kv_cache_dtype=dice.pick(("auto", "fp8")),
            )  # fmt: skip
    known = sorted(models())
    for _ in range(40):
        asked = dice.some(
            gpu=("H100", "B200", "A100-80GB", "RTX 5090", "T4", "MI300X"), tp=(1, 1, 2, 8),
            dtype=("auto", "float16", "float32"), kv_cache_dtype=("auto", "fp8", "fp8_e5m2"),
            batch_invariant=(None, None, True), kv_connector=(None, None, True),
            non_causal=(None, None, True), adaptive_verification=(None, None, True),
            flash_attn_version=(None, None, 2, 3, 4), trtllm=(None, None, "no-cubins", "off"),
            text_only=(None, True), dcp=(None, None, 2), pcp=(None, None, None, 2),
            skip_layers=(None, None, ("0",), ("sliding_window",)), block_size=(None, None, 48, 64),
        )  # fmt: skip
        yield said(backends, dice.pick(known), engine=engine, **asked)


# Models that a hook of vLLM's names, and the catalogue's model whose layers they have here.
_HOOKED = (
    ("google/gemma-4-31B-it", "Gemma4ForConditionalGeneration", "gemma4"),
    ("google/gemma-4-31B-it", "DiffusionGemmaForBlockDiffusion", "diffusion_gemma"),
    ("google/gemma-4-31B-it", "EmbeddingGemma2Model", "gemma4_text"),
    ("google/gemma-3-27b-it", "Gemma3ForConditionalGeneration", "gemma3"),
    ("google/gemma-3-27b-it", "PaliGemmaForConditionalGeneration", "paligemma"),
    ("Qwen/Qwen3-8B", "MolmoForCausalLM", "molmo2"),
    ("Qwen/Qwen3-8B", "Bagel", "bagel"),
    ("Qwen/Qwen3-8B", "Moondream3ForCausalLM", "moondream3"),
    ("Qwen/Qwen3-8B", "Other", "other"),
    ("deepseek-ai/DeepSeek-V3.2", "DeepseekV32ForCausalLM", "deepseek_v32"),
    ("deepseek-ai/DeepSeek-V3.2", "Glm5NextForCausalLM", "glm5_next"),
    ("zai-org/GLM-5", "GlmMoeDsaForCausalLM", "glm_moe_dsa"),
    ("deepseek-ai/DeepSeek-V3", "DeepseekV3ForCausalLM", "deepseek_v3"),
    ("deepseek-ai/DeepSeek-V3", "Dots3NoteForCausalLM", "dots3_note"),
    ("deepseek-ai/DeepSeek-V4-Flash", "DeepseekV4ForCausalLM", "deepseek_v4"),
    ("XiaomiMiMo/MiMo-V2-Flash", "MiMoV2FlashForCausalLM", "mimo_v2_flash"),
    ("Qwen/Qwen3-Next-80B-A3B-Instruct", "Qwen3NextForCausalLM", "qwen3_next"),
    ("openai/gpt-oss-20b", "GptOssForCausalLM", "gpt_oss"),
)


def hooks(version: str) -> Iterator[str]:
    """What a vLLM release makes of models that its own code treats apart."""
    engine, dice = f"vllm=={version}", Dice(f"hooks {version}")
    checkpoints = tuple(
        Quantization(method, kv_cache=kv, kv_cache_key="kv_cache_scheme")
        for method in ("modelopt", "compressed-tensors", "fp8") for kv in ("fp8", "nvfp4", "int8")
    )  # fmt: skip
    for name, architecture, model_type in _HOOKED:
        for _ in range(6):
            arch = released(name)
            held = dice.pick((arch.quantization,) * 12 + checkpoints)
            arch = replace(
                arch, architectures=(architecture,), model_type=model_type, quantization=held,
                mm_prefix=arch.mm_prefix or model_type in ("paligemma", "molmo2", "bagel",
                                                           "moondream3", "other"),
            )  # fmt: skip
            asked = dice.some(
                gpu=("H100", "H100", "B200", "B200", "A100-80GB", "RTX 5090", "T4", "L40S",
                     "MI300X"),
                kv_cache_dtype=("auto", "auto", "fp8", "fp8_e4m3", "fp8_e5m2", "bfloat16", "nvfp4",
                                "turboquant_k8v4", "fp8_ds_mla"),
                force=(None, None, None, None, "FLASHINFER", "FLASH_ATTN", "TRITON_ATTN",
                       "FLASHMLA_SPARSE", "FLASHINFER_MLA_SPARSE", "FLASHMLA", "FLASHINFER_MLA",
                       "FLASH_ATTN_DIFFKV", "TRITON_MLA", "FLEX_ATTENTION", "CUTLASS_MLA"),
                block_size=(None, None, 16, 32, 48, 64, 128), tp=(1, 2, 8),
                dcp=(None, None, None, 2), pcp=(None, None, None, 2), text_only=(None, None, True),
                flash_attn_version=(None, None, None, 2, 3, 4), dtype=(None, None, "float16"),
                batch_invariant=(None, None, None, True), kv_connector=(None, None, None, True),
                skip_layers=(None, None, None, ("1", "sliding_window")),
            )  # fmt: skip
            yield said(backends, arch, engine=engine, **asked)
