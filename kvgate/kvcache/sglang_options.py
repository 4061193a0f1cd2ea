"""SGLang's settings that decide its pools, and the memory fraction it takes by default."""

from __future__ import annotations

from dataclasses import dataclass

from kvgate.architecture.layers import MLA, CompressedAttention, KimiDelta
from kvgate.architecture.model import Architecture
from kvgate.errors import InputError, nearest

__all__ = [
    "MAMBA_STRATEGIES", "SglangOptions", "chunked_prefill_default", "mem_fraction_static",
    "runs_vision",
]  # fmt: skip

MAMBA_STRATEGIES = ("auto", "extra_buffer", "extra_buffer_lazy", "no_buffer")
# Chunked prefill size by the card's memory in MiB, and the largest decode graph for TP below 4 and
# from 4 on (sglang 0.5.23, srt/arg_groups and srt/server_args.py).
_TIERS = (
    (20480, 2048, (8, 8)),
    (35840, 4096, (48, 160)),
    (61440, 4096, (32, 160)),
    (92160, 8192, (256, 512)),
    (163840, 8192, (256, 512)),
)
_LARGEST = (16384, (512, 512))
# How many prefill graphs are captured for a chunk size; MLA models are charged 1536 MiB instead.
_PREFILL_GRAPHS = ((2048, 42), (4096, 50), (8192, 58), (16384, 74))

# Vision parts that need --enable-multimodal.
_TEXT_ONLY = (
    "Gemma3ForConditionalGeneration",
    "Llama4ForConditionalGeneration",
    "Step3VLForConditionalGeneration",
)


@dataclass(frozen=True, slots=True)
class SglangOptions:
    """SGLang's flags, None where not given (units: tokens, MiB of a card, bytes where named).

    ``page_size`` and ``attention_backend`` come from the backend choice where known.
    ``memory_mib`` is what nvidia-smi shows, ``pre_load_gib`` and ``available_gib`` the free memory
    before and after loading weights, in GiB as SGLang logs them; estimated when not given.
    ``speculative_draft_layers`` is the number of draft layers (1 for EAGLE and MTP).
    """

    mem_fraction_static: float | None = None
    chunked_prefill_size: int | None = None
    page_size: int | None = None
    max_running_requests: int | None = None
    max_total_tokens: int | None = None
    disable_radix_cache: bool = False
    disable_overlap_schedule: bool = False
    disable_hybrid_swa_memory: bool = False
    swa_full_tokens_ratio: float | None = None
    mamba_full_memory_ratio: float = 0.9
    max_mamba_cache_size: int | None = None
    mamba_strategy: str = "auto"
    dp_size: int = 1
    enable_dp_attention: bool = False
    speculative_algorithm: str | None = None
    speculative_num_steps: int = 0
    speculative_eagle_topk: int = 1
    speculative_num_draft_tokens: int = 0
    speculative_draft_layers: int = 1
    decode_graph: bool = True
    decode_graph_max_bs: int | None = None
    prefill_graph: bool | None = None
    prefill_graph_count: int | None = None
    memory_mib: int | None = None
    pre_load_gib: float | None = None
    available_gib: float | None = None
    vision_layers: int = 24
    vision_hidden: int = 1024

    def __post_init__(self) -> None:
        if self.mamba_strategy not in MAMBA_STRATEGIES:
            raise InputError(
                f"unknown Mamba cache strategy {self.mamba_strategy!r}",
                hint=nearest(self.mamba_strategy, MAMBA_STRATEGIES),
            )
        ratio = self.swa_full_tokens_ratio
        if ratio is not None and not 0 < ratio <= 1:
            raise InputError("--swa-full-tokens-ratio should be in range (0, 1.0]")

    @property
    def attention_dp(self) -> int:
        """How many data-parallel attention groups share the ranks."""
        return self.dp_size if self.enable_dp_attention else 1


def chunked_prefill_default(memory_mib: int) -> int:
    """The chunked prefill size on a card of so many MiB.

    >>> chunked_prefill_default(81559)
    8192
    """
    return next((chunk for below, chunk, _ in _TIERS if memory_mib < below), _LARGEST[0])


def runs_vision(arch: Architecture) -> bool:
    """Whether SGLang runs the model's vision part unasked: for a few families it does not."""
    return arch.multimodal and not any(name in _TEXT_ONLY for name in arch.architectures)


def mem_fraction_static(
    arch: Architecture, options: SglangOptions, *, memory_mib: int, tp: int, pp: int = 1
) -> float:
    """SGLang's ``mem_fraction_static`` where the user gives none.

    It sets aside 512 MiB, 1.5 MiB a token of the prefill chunk, 128 MiB a rank, 2 MiB a sequence of
    the largest decode graph, and the prefill graphs; at least 10 GiB on a card above 60 GiB. Vision
    models keep back more. Source: sglang 0.5.23, srt/server_args.py.
    """
    chunk = options.chunked_prefill_size or chunked_prefill_default(memory_mib)
    small, large = next((bs for below, _, bs in _TIERS if memory_mib < below), _LARGEST[1])
    batch = options.decode_graph_max_bs
    if batch is None:
        batch = large if tp >= 4 else small
        if options.max_running_requests is not None:
            batch = min(batch, options.max_running_requests // options.attention_dp or 1)
    reserved = 512 + 1.5 * max(chunk, 2048) + 128 * tp * pp
    if options.decode_graph:
        reserved += 2 * batch
    kinds = {type(group.layer) for group in arch.groups}
    prefill_graph = options.prefill_graph
    if prefill_graph is None:
        # Vision models go without, but for Qwen3.5, whose text part is a hybrid.
        vision = runs_vision(arch) and not arch.model_type.startswith("qwen3_5")
        prefill_graph = not vision and CompressedAttention not in kinds
    if MLA in kinds and KimiDelta not in kinds:
        # Charged even where the graph is switched off afterwards.
        reserved += 1536
    elif prefill_graph and KimiDelta not in kinds:
        graphs = options.prefill_graph_count
        if graphs is None:
            graphs = next((n for size, n in _PREFILL_GRAPHS if chunk <= size), 74)
        reserved += 8 * graphs
    if options.attention_dp > 1:
        reserved += batch * options.attention_dp * (4.5 if batch > 300 else 3)
    if memory_mib > 61440:
        reserved = max(reserved, 10240)
    fraction = round((memory_mib - reserved) / memory_mib, 3)
    if runs_vision(arch):
        scale = options.vision_layers * options.vision_hidden**2 / (24 * 1024**2)
        fraction *= 0.95 * min(max(1 - 0.1 * (scale - 1), 0.8), 1.05)
    return fraction
