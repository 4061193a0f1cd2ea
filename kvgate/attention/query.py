"""What is asked of an engine's backend selection: one layer configuration on one device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["MLA_WIDTHS", "Query", "mla_widths"]

# Latent width -> (kv_lora_rank, qk_rope_head_dim, qk_nope_head_dim, v_head_dim) of the models that
# have it; any other width is taken for DeepSeek V3's proportions.
MLA_WIDTHS = {320: (256, 64, 64, 64), 512: (512, 0, 256, 256), 576: (512, 64, 128, 128)}


def mla_widths(head_size: int) -> tuple[int, int, int, int]:
    """The MLA widths a latent of ``head_size`` elements stands for where none are given."""
    return MLA_WIDTHS.get(head_size, MLA_WIDTHS[576])


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One layer configuration, in the words of the engine's own selector.

    ``sm`` is the compute capability. ``head_size`` is the width of one key (MLA: of the latent),
    ``num_heads`` and ``num_kv_heads`` are one rank's. ``block_size`` is what the user set, None
    where nobody did. ``dcp`` and ``pcp`` are the sizes of the context-parallel groups.
    ``flash_attn_version`` is the user's wish, None for the engine's own choice. ``trtllm`` says
    whether FlashInfer's TRT-LLM kernels can be had: ``auto`` (yes, where the device has them),
    ``no-cubins`` (their binaries cannot be fetched) or ``off`` (switched off by the user).
    ``model_head_size`` and ``run_kv_cache_dtype`` are the model's and the run's where a layer
    differs from them: kernel block sizes look at those. The MLA widths are zero for other layers.
    ``arch`` is an AMD device's gfx name (``sm`` is then what vLLM's platform derives from it), and
    ``aiter`` whether AMD's kernel package is installed (``found``) and switched on (``on``).
    """

    sm: tuple[int, int]
    head_size: int
    kv_cache_dtype: str = "auto"
    dtype: str = "bfloat16"
    block_size: int | None = None
    mla: bool = False
    sink: bool = False
    sparse: bool = False
    mm_prefix: bool = False
    per_head_scales: bool = False
    attn_type: str = "decoder"
    window: bool = False
    non_causal: bool = False
    batch_inv: bool = False
    kv_connector: bool = False
    adaptive_verification: bool = False
    rswa: bool = False
    dcp: int = 1
    pcp: int = 1
    num_heads: int = 32
    num_kv_heads: int = 8
    head_size_v: int | None = None
    kv_lora_rank: int = 0
    qk_rope_head_dim: int = 0
    qk_nope_head_dim: int = 0
    v_head_dim: int = 0
    index_topk: int | None = None
    softcap: bool = False
    diffusion: bool = False
    flash_attn_version: int | None = None
    trtllm: Literal["auto", "no-cubins", "off"] = "auto"
    model_head_size: int | None = None
    run_kv_cache_dtype: str | None = None
    device: str = ""
    arch: str = ""
    aiter: Literal["none", "found", "on"] = "found"

    @property
    def capability(self) -> str:
        """``9.0`` for CUDA, ``gfx942`` for ROCm."""
        return self.arch or f"{self.sm[0]}.{self.sm[1]}"

    @property
    def device_name(self) -> str:
        """The GPU's name; a made-up one where the query names none."""
        return self.device or f"Fake{self.arch or f'SM{self.sm[0]}{self.sm[1]}'}"
