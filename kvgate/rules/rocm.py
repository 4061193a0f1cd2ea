"""vLLM and SGLang on AMD: AITER's switch and its kernels, blocks, sinks, windows, fp8 encodings.

Sources: vllm 0.12.0 to 0.33.0, platforms/rocm.py, _aiter_ops.py,
v1/attention/backends/rocm_attn.py, rocm_aiter_fa.py and mla/rocm_aiter_mla.py; each release named
here was read.
"""

from __future__ import annotations

from collections.abc import Mapping

from kvgate.architecture.layers import Attention
from kvgate.plan.model import Plan
from kvgate.rules.facts import (
    between,
    is_latent,
    is_sparse,
    keeps_state,
    number,
    on_amd,
    text,
    truthy,
    window_layers,
)
from kvgate.rules.verdict import Finding, Undecided, Verdict
from kvgate.rules.vllm_facts import (
    block_size,
    gfx,
    has_sinks,
    latent_heads,
    named_backend,
    seen,
)

__all__ = ["RULES"]

_SWITCH, _MHA = "VLLM_ROCM_USE_AITER", "VLLM_ROCM_USE_AITER_MHA"
_UNIFIED = "VLLM_ROCM_USE_AITER_UNIFIED_ATTENTION"
_SHUFFLE = "VLLM_ROCM_SHUFFLE_KV_CACHE_LAYOUT"
_BACKEND = "VLLM_ATTENTION_BACKEND"
_SPLIT = "VLLM_V1_USE_PREFILL_DECODE_ATTENTION"
_CDNA = ("gfx942", "gfx950")


def aiter_mla_head_count(plan: Plan) -> Verdict:
    """AITER's MLA kernel gets a number of heads that it wasn't written for."""
    if plan.arch is None or not is_latent(plan.arch) or not _amd(plan):
        return None
    forced = (plan.forced_backend or text(plan.get("attention_backend"))).upper()
    if plan.runs("vllm"):
        asked = forced == "ROCM_AITER_MLA" or (not forced and _on(plan, _SWITCH))
        if not asked or is_sparse(plan.arch) or between(plan, first="0.29.0"):
            return None
        fix = named_backend(plan, "TRITON_MLA")
    elif plan.runs("sglang"):
        # What SGLang hands over is AITER's to refuse; its own choice avoids other numbers.
        if forced != "AITER" or between(plan, first="0.5.10"):
            return None
        fix = plan.with_flag("--attention-backend", "triton")
    else:
        return None
    heads = latent_heads(plan)
    if heads is None or _aiter_takes(plan, heads):
        return None
    total = plan.arch.query_heads
    good = [n for n in (1, 2, 4, 8, 16, 32) if total % n == 0 and _aiter_takes(plan, total // n)]
    return Finding(
        f"{plan.arch.id} has {total} heads, {heads} on each of {plan.tp} ranks, and AITER's MLA "
        f"kernel of this release takes {_taken(plan)}",
        (f"tensor parallel sizes that fit: {', '.join(map(str, good)) or 'none'}",),
        fix,
    )


def rocm_attn_refuses_sinks(plan: Plan) -> Verdict:
    """A ROCm backend without sinks is forced on a model that has them."""
    if not plan.runs("vllm") or plan.arch is None or not has_sinks(plan.arch) or not _amd(plan):
        return None
    without = {"ROCM_ATTN"} if between(plan, "0.19.0") else set()
    if between(plan, "0.18.0", "0.23.0"):
        without.add("ROCM_AITER_FA")
    if plan.forced_backend not in without:
        return None
    return Finding(
        f"{plan.arch.id} has attention sinks, which {plan.forced_backend} doesn't take in "
        f"{seen(plan)}",
        ("TRITON_ATTN and ROCM_AITER_UNIFIED_ATTN take them",),
        named_backend(plan, "TRITON_ATTN"),
    )


def rocm_attn_odd_block(plan: Plan) -> Verdict:
    """ROCM_ATTN gets a block of a hybrid model that is no power of two."""
    if not _hybrid_on_rocm_attn(plan, first="0.11.0", fixed="0.14.0"):
        return None
    block = block_size(plan)
    if block is None:
        return Undecided(plan.lacks("size") or "the block size")
    if block & (block - 1) == 0:
        return None
    return Finding(
        f"the block of {plan.arch.id if plan.arch else 'the model'} becomes {block:,} tokens, and "
        f"ROCM_ATTN of {seen(plan)} computes with powers of two: the first request fails",
        ("a block must hold a state of the linear layers, which decides its size",),
        named_backend(plan, "TRITON_ATTN"),
    )


def rocm_attn_writes_odd_blocks_wrong(plan: Plan) -> Verdict:
    """ROCM_ATTN writes a block of a size that isn't on its list with the wrong kernel."""
    if not _hybrid_on_rocm_attn(plan, first="0.14.0", fixed="0.18.0"):
        return None
    block = block_size(plan)
    if block is None:
        return Undecided(plan.lacks("size") or "the block size")
    if block in (16, 32, 544) or block & (block - 1) == 0:
        return None
    return Finding(
        f"the block of {plan.arch.id if plan.arch else 'the model'} becomes {block:,} tokens, "
        f"which ROCM_ATTN of {seen(plan)} doesn't list: values are written in another layout than "
        "they are read, and answers are garbage",
        ("16, 32 and 544 are listed", "nothing is logged"),
        named_backend(plan, "TRITON_ATTN"),
    )


def aiter_is_off(plan: Plan) -> Verdict:
    """An Instinct card without AITER's kernels, because nobody switched them on."""
    if not plan.runs("vllm") or gfx(plan) not in _CDNA or plan.gpu is None:
        return None
    if _SWITCH in plan.deployment.env:
        return None
    forced = plan.forced_backend or ""
    if "AITER" in forced:
        return None
    return Finding(
        f"{_SWITCH} isn't set, and {seen(plan)} leaves AITER's kernels off on {plan.gpu.name}: "
        "attention and experts run on slower ones, and no line says so",
        ("the variable is off by default, also in AMD's images",),
        f"set {_SWITCH}=1"
        + ("" if _sparse_or_latent(plan) else " and --attention-backend ROCM_AITER_UNIFIED_ATTN"),
    )


def dense_default_is_no_longer_aiter(plan: Plan) -> Verdict:
    """AITER is on, and since 0.19 plain attention takes ROCM_ATTN first all the same."""
    if not plan.runs("vllm") or plan.arch is None or gfx(plan) not in _CDNA:
        return None
    if not between(plan, first="0.19.0") or plan.forced_backend is not None:
        return None
    if not _on(plan, _SWITCH) or _sparse_or_latent(plan):
        return None
    sizes = set(plan.arch.head_sizes())
    # Where ROCM_ATTN itself refuses, the next one is AITER's.
    if has_sinks(plan.arch) or not sizes or max(sizes) > 256 or plan.arch.mm_prefix:
        return None
    if plan.get("kv_transfer_config") is not None:
        return None
    return Finding(
        f"{_SWITCH} is on, and {seen(plan)} still takes ROCM_ATTN for {plan.arch.id}: up to 0.18 "
        "the variable also chose ROCM_AITER_FA",
        ("ROCM_ATTN stands first in the list since 0.19",),
        named_backend(plan, "ROCM_AITER_FA"),
    )


def sparse_indexer_needs_aiter(plan: Plan) -> Verdict:
    """The indexer of sparse attention has no other code on ROCm than AITER's."""
    if not plan.runs("vllm") or plan.arch is None or not is_sparse(plan.arch) or not on_amd(plan):
        return None
    arch = gfx(plan)
    if not between(plan, first="0.15.1") or (_on(plan, _SWITCH) and arch in _CDNA):
        return None
    if arch and (arch == "gfx950" or arch.startswith("gfx11")) and between(plan, first="0.30.0"):
        return None
    if arch in _CDNA:
        return Finding(
            f"{plan.arch.id} has an indexer, for which {seen(plan)} has AITER's code only on "
            f"{arch}, and {_SWITCH} isn't 1",
            ("the first step raises; the message is literally right here",),
            f"set {_SWITCH}=1",
        )
    return Finding(
        f"{plan.arch.id} has an indexer, for which {seen(plan)} has AITER's code only, and AITER "
        f"isn't used on {arch} whatever {_SWITCH} says",
        ("the advice in the message can't be followed on this card",),
        "an Instinct card of gfx942 or gfx950",
    )


def fnuz_cache_read_as_fn(plan: Plan) -> Verdict:
    """gfx942 writes fp8 in another encoding than MiniMax-M3's sparse layers read."""
    if not plan.runs("vllm") or plan.arch is None or gfx(plan) != "gfx942" or not plan.reads_fp8:
        return None
    if not any(name.startswith("MiniMaxM3") for name in plan.arch.architectures):
        return None
    if not between(plan, fixed="0.24.0"):
        return None
    return Finding(
        f"{plan.gpu.name if plan.gpu else 'gfx942'} writes its cache as float8_e4m3fnuz, and the "
        f"sparse layers of {plan.arch.id} read it as float8_e4m3fn in {seen(plan)}: keys and "
        "values change, and answers with them",
        ("gfx950 writes the encoding that is read",),
        plan.with_flag("--kv-cache-dtype", "bfloat16"),
    )


def shuffled_layout_needs_block_16(plan: Plan) -> Verdict:
    """AITER's shuffled layout with a block size that its paged kernel has no entry for."""
    if not plan.runs("vllm") or not _on(plan, _SHUFFLE):
        return None
    if plan.gpu is not None and not on_amd(plan):
        return None
    block = number(plan.get("block_size"))
    if block == 16:
        return None
    what = f"--block-size {block}" if block else "no --block-size"
    return Finding(
        f"{_SHUFFLE} is on with {what}, and AITER's paged kernel has an entry for blocks of 16 in "
        "that layout",
        ("AMD's recipe sets both together",),
        plan.with_flag("--block-size", "16"),
    )


def aiter_fa_refuses_sparse_blocks(plan: Plan) -> Verdict:
    """ROCM_AITER_FA works in blocks of 16 or 32, and a layer's index cache needs 128."""
    if not plan.runs("vllm") or plan.arch is None or plan.forced_backend != "ROCM_AITER_FA":
        return None
    if not between(plan, first="0.16.0"):
        return None
    block = number(plan.get("block_size"))
    indexed = any(
        isinstance(g.layer, Attention) and g.layer.indexer is not None for g in plan.arch.groups
    )
    if not indexed and (block is None or block % 16 == 0):
        return None
    if indexed and _on(plan, _SHUFFLE) and between(plan, "0.29.0", "0.32.0"):
        return Undecided("whether AITER's gluon kernel serves this model, for blocks of 128")
    need = 128 if indexed else block
    return Finding(
        f"ROCM_AITER_FA works in blocks of 16 or 32 tokens, and {plan.arch.id} needs {need}: there "
        "is no common block size",
        ("its layers choose blocks of tokens by an index cache",) if indexed else (),
        named_backend(plan, "TRITON_ATTN"),
    )


def aiter_decode_ignores_windows(plan: Plan) -> Verdict:
    """AITER's paged decode was called without the window in releases before 0.12."""
    if not plan.runs("vllm") or plan.arch is None or not on_amd(plan):
        return None
    if not window_layers(plan.arch) or not between(plan, fixed="0.12.0"):
        return None
    forced = (plan.deployment.env_value(_BACKEND) or "").upper() or None
    by_switch = forced is None and _on(plan, _SWITCH) and _MHA not in _off(plan)
    if not by_switch and forced != "ROCM_AITER_FA":
        return None
    if by_switch and _on(plan, _UNIFIED):
        return None
    return Finding(
        f"{window_layers(plan.arch)} layers of {plan.arch.id} have a window, and ROCM_AITER_FA of "
        f"{seen(plan)} decodes without it: past the window they attend to everything",
        ("shorter prompts are answered as they should be, so that small tests pass",),
        f"set {_MHA}=0",
    )


def _hybrid_on_rocm_attn(plan: Plan, *, first: str, fixed: str) -> bool:
    if not plan.runs("vllm") or plan.arch is None or not _amd(plan):
        return False
    if not keeps_state(plan.arch) or not between(plan, first, fixed):
        return False
    forced = plan.forced_backend or (plan.deployment.env_value(_BACKEND) or "")
    if forced:
        return forced.upper() == "ROCM_ATTN"
    # The older way to ask for the same backend. AITER's switches went first.
    options = plan.get("attention_config")
    asked = isinstance(options, Mapping) and options.get("use_prefill_decode_attention") is True
    split = asked or (_on(plan, _SPLIT) and between(plan, fixed="0.15.0") is True)
    return split and not _on(plan, _SWITCH)


def _amd(plan: Plan) -> bool:
    """Whether it runs on AMD's GPUs: the GPU says so, or, where it isn't known, the backend."""
    if plan.gpu is not None:
        return on_amd(plan)
    return (plan.forced_backend or "").startswith("ROCM_")


def _aiter_takes(plan: Plan, heads: int) -> bool:
    if plan.runs("sglang") or between(plan, fixed="0.18.0"):
        return heads in (16, 128)
    if between(plan, fixed="0.20.2"):
        return heads in (4, 8) or (heads % 16 == 0 and heads <= 128)
    if between(plan, fixed="0.27.0"):
        return heads % 16 == 0 if heads >= 16 else 16 % heads == 0
    return heads < 16 or heads % 16 == 0


def _taken(plan: Plan) -> str:
    if plan.runs("sglang") or between(plan, fixed="0.18.0"):
        return "16 or 128"
    if between(plan, fixed="0.20.2"):
        return "4, 8 and multiples of 16 up to 128"
    if between(plan, fixed="0.27.0"):
        return "multiples and divisors of 16"
    return "up to 15 and multiples of 16"


def _sparse_or_latent(plan: Plan) -> bool:
    return plan.arch is not None and is_latent(plan.arch)


def _on(plan: Plan, name: str) -> bool:
    return truthy(plan.deployment.env_value(name))


def _off(plan: Plan) -> set[str]:
    """The variables that say no."""
    return {
        name
        for name, variable in plan.deployment.env.items()
        if variable.value is not None and not truthy(variable.value)
    }


RULES = (
    aiter_mla_head_count,
    rocm_attn_refuses_sinks,
    rocm_attn_odd_block,
    rocm_attn_writes_odd_blocks_wrong,
    aiter_is_off,
    dense_default_is_no_longer_aiter,
    sparse_indexer_needs_aiter,
    fnuz_cache_read_as_fn,
    shuffled_layout_needs_block_16,
    aiter_fa_refuses_sparse_blocks,
    aiter_decode_ignores_windows,
)
