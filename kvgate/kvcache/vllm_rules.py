"""vLLM's sizing rules by version: what changed, and from which release on.

Each boundary was read in the Python sources of the releases on both sides of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from packaging.version import Version

from kvgate.errors import InputError
from kvgate.units import GiB

__all__ = ["OLDEST", "VllmRules", "batch_defaults", "vllm_rules"]

OLDEST = Version("0.9")
# Models whose Mamba layers could cache every block ("all" mode) where prefix caching was on.
_ALL_MODE = (
    "bamba", "nemotron_h", "jamba", "mamba2", "mamba", "zamba2", "granitemoehybrid", "falcon_h1",
    "falcon_mamba",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class VllmRules:
    """The rules of one version.

    What it prints: ``reports_concurrency``: "GPU KV cache size" is concurrency x max_model_len;
    before, it was blocks // groups x the smallest block. ``sums_group_blocks``: a request's blocks
    are the sum of the groups'; before, their bytes were added up and divided by the first's page.

    Pages: ``value_widths``: values narrower than keys take their own width; before, they were
    padded. ``scales_blocks``: a smaller page that divides the largest gets a larger block.
    ``pads_pages``: pages that do not divide it are padded, ``pads_states`` states too,
    ``pads_latents`` MLA latents too. ``falls_back``: where that fails, windows beside MLA are kept
    whole. ``pads_windows``: of mixed pages, windows' are as large as a full layer's.
    ``in_flight``: windows reserve for every batch in flight, not for one; ``retains_drafts``: and
    for the tokens that several draft modules fill again. ``whole_images``: where image tokens see
    each other, a batch by default holds the largest item of any modality.

    Groups: ``group_ratio``: buckets less than this many times the smallest are padded up instead of
    split. ``packs``: mixed pages lie side by side in block-outermost layouts. ``mixed_blocks``: how
    large a block of DeepSeek V4's mixed pages is: whole tuples of one page of each size, slots of
    each size, or the widest group.

    The start-up check: ``needs_by_group``: it counts blocks of the groups, before it added up the
    layers; ``needs_by_stage``: on each pipeline stage by itself, not the whole model against the
    smallest memory (vLLM issue 34076); ``needs_all_groups``: of all groups, not of the first as if
    it stood for all; ``null_block``: one block is set aside.
    """

    version: Version
    gpu_memory_utilization: float
    reports_concurrency: bool
    group_ratio: float | None
    in_flight: bool
    retains_drafts: bool
    whole_images: bool
    async_by_default: bool
    value_widths: bool
    scales_blocks: bool
    pads_pages: bool
    pads_states: bool
    pads_latents: bool
    pads_windows: bool
    falls_back: bool
    packs: bool
    null_block: bool
    needs_by_group: bool
    needs_by_stage: bool
    needs_all_groups: bool
    sums_group_blocks: bool
    mixed_blocks: Literal["tuples", "slots", "widest"]
    hybrid_prefix_caching: bool
    mamba_modes: bool
    mamba_all_mode: bool
    prefill_checkpoints: bool
    chunked_hybrid: bool
    mla_hybrid_align: int | None
    graphs_reserved: bool
    large_card_tier: bool
    gb10_small_tier: bool

    def mamba_mode(
        self, model_type: str, prefix_caching: bool, speculative: int, asked: str = "none"
    ) -> str:
        """``none``, ``align`` or ``all``: how Mamba states are kept.

        ``all`` that was ``asked`` for is ``align`` where a family does not support it.
        """
        if not prefix_caching:
            return "none"
        family = any(model_type.startswith(name) for name in _ALL_MODE)
        if asked != "none":
            return asked if family else "align"
        if not self.mamba_modes:
            # Before the modes had names, models with support cached every block.
            return "all" if family and self.version.release >= (0, 12) else "none"
        if not (self.mamba_all_mode and family):
            return "align"
        aligned = self.version.release[:2] in ((0, 20), (0, 21)) and speculative
        return "align" if aligned else "all"


@lru_cache(maxsize=128)
def vllm_rules(version: Version) -> VllmRules:
    """The rules of a version; a nightly or release candidate counts as its release.

    Raises InputError for a version older than the oldest rules known.
    """
    if version.release < OLDEST.release:
        raise InputError(
            f"vLLM {version} is older than the oldest allocator kvgate knows, {OLDEST}",
            hint="kvgate does not guess backwards",
        )

    def since(text: str) -> bool:
        return version.release >= Version(text).release

    return VllmRules(
        version=version,
        gpu_memory_utilization=0.92 if since("0.20") else 0.9,
        reports_concurrency=since("0.20.1"),
        group_ratio=1.5 if since("0.18") else 1.25 if since("0.12") else None,
        in_flight=since("0.26"),
        retains_drafts=since("0.28"),
        whole_images=since("0.22"),
        async_by_default=since("0.14"),
        value_widths=since("0.20"),
        scales_blocks=since("0.12"),
        pads_pages=since("0.24"),
        pads_states=since("0.26"),
        pads_latents=since("0.24") and not since("0.29"),
        pads_windows=not since("0.27"),
        falls_back=since("0.27"),
        packs=since("0.29"),
        null_block=since("0.29"),
        needs_by_group=since("0.14"),
        needs_by_stage=since("0.17"),
        needs_all_groups=since("0.19"),
        sums_group_blocks=since("0.27"),
        mixed_blocks="widest" if since("0.27") else "slots" if since("0.23") else "tuples",
        hybrid_prefix_caching=since("0.26"),
        mamba_modes=since("0.15"),
        mamba_all_mode=not since("0.28"),
        prefill_checkpoints=since("0.29"),
        chunked_hybrid=since("0.14"),
        mla_hybrid_align=128 if since("0.27") else None if since("0.20") else 64,
        graphs_reserved=since("0.20.2"),
        large_card_tier=since("0.28"),
        gb10_small_tier=since("0.33"),
    )


def batch_defaults(rules: VllmRules, memory_bytes: int, gpu: str) -> tuple[int, int]:
    """(max_num_batched_tokens, max_num_seqs) of the API server on a card of that memory and name.

    Source: vllm engine/arg_utils.py. Before V1's API server took over, smaller cards already had
    2,048 and 256.
    """
    name = gpu.casefold()
    if rules.large_card_tier and memory_bytes >= 160 * GiB:
        return 16384, 1024
    small = "a100" in name or (rules.gb10_small_tier and ("gb10" in name or "spark" in name))
    if memory_bytes >= 70 * GiB and not small:
        return 8192, 1024
    return 2048, 256
