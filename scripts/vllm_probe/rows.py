"""Answer rows of configurations with a release's own classes (runs in the release's environment).

A row has the field names of `kvgate backends --batch`; its answer is what the release's selector
says. The configuration object is a plain namespace with the values that gates read.
"""

from __future__ import annotations

import contextlib
import inspect
from types import SimpleNamespace
from typing import Any

from scripts.vllm_probe.fakes import fake_image_library

__all__ = ["MLA_DIMS", "Asker", "config_of", "members"]

# Head size -> kv_lora_rank, qk_rope_head_dim, qk_nope_head_dim and v_head_dim of a row without.
MLA_DIMS = {320: (256, 64, 64, 64), 512: (512, 0, 256, 256)}
DEEPSEEK_V3 = (512, 64, 128, 128)

# Members for other platforms: some would not refuse a CUDA device, but nobody means them there.
OTHER_PLATFORMS = ("ROCM_", "XPU_", "CPU_", "AMX_", "ULTRAQUANT")

ROCM_MEMBERS = ("ROCM_", "TRITON_ATTN", "TRITON_MLA", "TURBOQUANT", "ULTRAQUANT", "FLEX_")

# The row's word -> the selector's word.
_FLAGS = {
    "mla": "use_mla",
    "sink": "has_sink",
    "sparse": "use_sparse",
    "mm_prefix": "use_mm_prefix",
    "per_head_scales": "use_per_head_quant_scales",
    "window": "has_sliding_window",
    "non_causal": "use_non_causal",
    "batch_inv": "use_batch_invariant",
    "kv_connector": "use_kv_connector",
    "pcp": "use_pcp",
    "dcp": "use_dcp",
    "adaptive_verification": "use_adaptive_verification",
    "rswa": "use_rswa",
}


def members(release: Any) -> dict[str, Any]:
    """The members of the release's backend enumeration, in its order, aliases left out."""
    return dict(release.enum.__members__.items())


def config_of(row: dict[str, Any]) -> SimpleNamespace:
    """The engine configuration a row stands for."""
    size = row["head_size"]
    heads = row.get("num_heads", 32)
    text = SimpleNamespace(
        model_type="deepseek_v3" if row.get("mla") else "llama", attn_logit_softcapping=None
    )
    if row.get("mla"):
        rank, rope, nope, v = MLA_DIMS.get(size, DEEPSEEK_V3)
        text.kv_lora_rank = row.get("kv_lora_rank", rank)
        text.qk_rope_head_dim = row.get("qk_rope_head_dim", rope)
        text.qk_nope_head_dim = row.get("qk_nope_head_dim", nope)
        text.v_head_dim = row.get("v_head_dim", v)
        text.q_lora_rank = 1536
        topk = row.get("index_topk", 2048 if row.get("sparse") else None)
        if topk is not None:
            text.index_topk = topk
    kv_heads = 1 if row.get("mla") else row.get("num_kv_heads", max(1, heads // 4))
    block = row.get("block_size")
    model = SimpleNamespace(
        hf_text_config=text,
        hf_config=text,
        dtype=row.get("dtype", "bfloat16"),
        is_mm_prefix_lm=bool(row.get("mm_prefix")),
        is_diffusion=False,
        rswa_window=4096 if row.get("rswa") else None,
        use_mla=bool(row.get("mla")),
        max_model_len=131072,
        enforce_eager=False,
        is_hybrid=False,
        multimodal_config=None,
        model="model",
        quantization=None,
        get_head_size=lambda: size,
        get_num_attention_heads=lambda parallel=None: heads,
        get_num_kv_heads=lambda parallel=None: kv_heads,
        get_total_num_kv_heads=lambda: kv_heads,
        get_sliding_window=lambda: 4096 if row.get("window") else None,
        get_vocab_size=lambda: 32000,
        get_hidden_size=lambda: 4096,
    )
    parallel = SimpleNamespace(
        decode_context_parallel_size=2 if row.get("dcp") else 1,
        prefill_context_parallel_size=2 if row.get("pcp") else 1,
        tensor_parallel_size=1,
        pipeline_parallel_size=1,
        data_parallel_size=1,
        cp_kv_cache_interleave_size=1,
        dcp_kv_cache_interleave_size=1,
        enable_dbo=False,
        use_ubatching=False,
        num_ubatches=1,
    )
    cache = SimpleNamespace(
        cache_dtype=row.get("kv", "auto"),
        block_size=block or 16,
        user_specified_block_size=block is not None,
        kv_cache_dtype_skip_layers=[],
        enable_prefix_caching=True,
        calculate_kv_scales=False,
        sliding_window=None,
        is_attention_free=False,
        num_gpu_blocks=None,
    )
    attention = SimpleNamespace(
        backend=None,
        backend_per_kind={},
        flash_attn_version=row.get("flash_attn_version"),
        use_trtllm_attention=False if row.get("trtllm") == "off" else None,
        use_prefill_decode_attention=False,
        flash_attn_max_num_splits_for_cuda_graph=32,
        use_cudnn_prefill=False,
        use_trtllm_ragged_deepseek_prefill=False,
        disable_flashinfer_prefill=True,
        disable_flashinfer_q_quantization=False,
        mla_prefill_backend=None,
        use_non_causal=bool(row.get("non_causal")),
        use_prefill_query_quantization=False,
        indexer_kv_dtype="auto",
        sparse_mla_force_mqa=False,
        minimax_m3_msa_decode_backend="triton",
        use_fp4_indexer_cache=False,
        tokenspeed_mla_min_split_kv=1,
        flex_attn_block_m=None,
        flex_attn_block_n=None,
        hisparse_config=None,
    )
    scheduler = SimpleNamespace(
        max_num_batched_tokens=8192,
        max_num_seqs=256,
        async_scheduling=True,
        max_num_encoder_input_tokens=8192,
        enable_chunked_prefill=True,
        is_multimodal_model=bool(row.get("mm_prefix")),
    )
    compilation = SimpleNamespace(
        cudagraph_mode=SimpleNamespace(
            has_full_cudagraphs=lambda: False,
            decode_mode=lambda: None,
            mixed_mode=lambda: None,
        ),
        static_forward_context={},
        max_cudagraph_capture_size=512,
        cudagraph_capture_sizes=[1, 2, 4, 8],
        fast_moe_cold_start=False,
        pass_config=SimpleNamespace(fuse_attn_quant=False),
        custom_ops=["none"],
        enabled_custom_ops={},
        disabled_custom_ops={},
    )
    return SimpleNamespace(
        model_config=model,
        parallel_config=parallel,
        cache_config=cache,
        attention_config=attention,
        scheduler_config=scheduler,
        compilation_config=compilation,
        speculative_config=None,
        kv_transfer_config=SimpleNamespace(is_kv_transfer_instance=True)
        if row.get("kv_connector")
        else None,
        quant_config=None,
        num_speculative_tokens=0,
        use_v2_model_runner=False,
        device_config=SimpleNamespace(device="cuda"),
        instance_id="kvgate",
    )


class Asker:
    """Asks one release on one device. ``release`` is what `releases.open_release` returned."""

    def __init__(self, release: Any) -> None:
        self.release = release
        self.classes: dict[str, Any] = {}
        self.failures: dict[str, str] = {}
        self.order_arguments: tuple[str, ...] = ()
        for name, member in members(release).items():
            try:
                self.classes[name] = member.get_class()
            except Exception as error:  # whatever a stranger's import raises is the answer
                self.failures[name] = f"{type(error).__name__}: {error}"
        # Some classes live in model packages that import image libraries and kernels on the way.
        fake_image_library()
        for name in list(self.failures):
            if self.is_asked(name):
                with contextlib.suppress(Exception):
                    self.classes[name] = members(release)[name].get_class()
                    del self.failures[name]
        self.classes = {
            name: self.classes[name] for name in members(release) if name in self.classes
        }

    def is_asked(self, name: str) -> bool:
        """Whether users of this platform can mean the backend."""
        if self.release.platform.is_rocm():
            return name.startswith(ROCM_MEMBERS)
        return not name.startswith(OTHER_PLATFORMS)

    def selector_config(self, row: dict[str, Any]) -> dict[str, Any]:
        """The selector's keyword arguments, those this release knows."""
        import torch

        known = self.release.selector_fields
        values: dict[str, Any] = {
            "head_size": row["head_size"],
            "dtype": getattr(torch, row.get("dtype", "bfloat16")),
            "kv_cache_dtype": row.get("kv", "auto"),
            "block_size": row.get("block_size"),
            "attn_type": row.get("attn_type", "decoder"),
        }
        for word, name in _FLAGS.items():
            values[name] = bool(row.get(word))
        return {name: value for name, value in values.items() if name in known}

    def reasons(self, name: str, row: dict[str, Any]) -> list[str]:
        """Why this backend refuses the row; empty when it doesn't."""
        if name not in self.classes:
            raise ImportError(self.failures[name])
        return list(
            self.classes[name].validate_configuration(
                device_capability=self.release.capability, **self.selector_config(row)
            )
        )

    def priorities(self, row: dict[str, Any]) -> list[str]:
        """The backends the release tries for this row, in its order."""
        function = self.release.priorities
        values = {
            "use_mla": bool(row.get("mla")),
            "device_capability": self.release.capability,
            "num_heads": row.get("num_heads", 32) if row.get("mla") else None,
            "kv_cache_dtype": row.get("kv", "auto"),
            "use_non_causal": bool(row.get("non_causal")),
            "head_size": row["head_size"],
            "use_mm_prefix": bool(row.get("mm_prefix")),
            "use_sparse": bool(row.get("sparse")),
            "use_kv_connector": bool(row.get("kv_connector")),
        }
        if not self.order_arguments:
            self.order_arguments = tuple(inspect.signature(function).parameters)
            unknown = set(self.order_arguments) - set(values)
            if unknown:
                raise LookupError(f"the priority function asks for {sorted(unknown)}")
        return [b.name for b in function(**{k: values[k] for k in self.order_arguments})]

    def flash_attention(self, row: dict[str, Any]) -> int | None:
        """The FlashAttention version this release takes for the row's head size."""
        function = self.release.fa_version
        known = inspect.signature(function).parameters
        values = {
            "head_size": row["head_size"],
            "kv_cache_block_size": row.get("block_size"),
            "has_sinks": bool(row.get("sink")),
            "supports_fa4_hd256": True,
        }
        version: int | None = function(**{k: v for k, v in values.items() if k in known})
        return version

    def answer(self, row: dict[str, Any]) -> dict[str, Any]:
        """The row's answer, in the words of the batch form."""
        with self.release.configured(config_of(row), row):
            tried = self.priorities(row)
            valid, invalid = [], {}
            for name in tried:
                try:
                    reasons = self.reasons(name, row)
                except (ImportError, OSError) as error:
                    reasons = [f"{type(error).__name__}: {error}"]
                if reasons:
                    invalid[name] = reasons
                else:
                    valid.append(name)
            extra = []
            for name in self.classes:
                if name in tried or not self.is_asked(name):
                    continue
                try:
                    if not self.reasons(name, row):
                        extra.append(name)
                except Exception:
                    continue
            out: dict[str, Any] = {
                "valid": valid,
                "auto": valid[0] if valid else None,
                "invalid": invalid,
                "forced_ok_extra": extra,
            }
            if not row.get("mla"):
                out["fa"] = self.flash_attention(row)
        return out
