"""SGLang's pools for DeepSeek V4: full tokens, a share of windowed ones, and compressor states."""

from __future__ import annotations

from dataclasses import dataclass

from kvgate.architecture.layers import CompressedAttention
from kvgate.architecture.model import Architecture
from kvgate.errors import InputError

__all__ = ["V4Pool", "v4_pool"]

_RECORD, _PAGE = 584, 576


@dataclass(frozen=True, slots=True)
class V4Pool:
    """Tokens of each pool, and what one costs (bytes per token, all layers, every rank alike)."""

    full: int
    swa: int
    c4: int
    c128: int
    c4_state: int
    c128_state: int
    bytes_per_full_token: float
    bytes_per_swa_token: float
    lines: tuple[str, ...]

    def extra(self) -> tuple[tuple[str, object], ...]:
        """The pools that other models don't have."""
        return (
            ("c4_tokens", self.c4), ("c128_tokens", self.c128),
            ("c4_state_rows", self.c4_state), ("c128_state_rows", self.c128_state),
        )  # fmt: skip


def v4_pool(
    arch: Architecture,
    budget: int,
    *,
    page: int,
    requests: int,
    ratio: float,
    speculative: bool,
    limit: int | None = None,
) -> V4Pool:
    """The pools that ``budget`` bytes give.

    ``ratio`` is the windowed pool's share of the full one, ``requests`` the request limit (states
    of ratio-128 layers are kept per request). Raises InputError for V4.1, which is not modelled,
    and for a page that isn't a multiple of 128 tokens.
    Source: sglang 0.5.23, pool_configurator.py (DSV4PoolConfigurator).
    """
    layers = [(g.layer, g.count) for g in arch.groups if isinstance(g.layer, CompressedAttention)]
    if any(layer.version != "v4" for layer, _ in layers):
        raise InputError("kvgate does not model SGLang's pools of DeepSeek V4.1")
    if page % 128:
        raise InputError(
            f"a page of {page} tokens holds no whole entry of DeepSeek V4's ratio-128 layers",
            hint="SGLang gives this model pages of 256 tokens",
        )
    head = layers[0][0].head_dim
    index = next((x.indexer.head_dim for x, _ in layers if x.indexer is not None), 0)
    total = sum(count for _, count in layers)
    of_ratio = {r: sum(count for layer, count in layers if layer.ratio == r) for r in (4, 128)}
    rings = (16, 256) if speculative else (8, 128)
    state4 = rings[0] / page * (2 * 2 * head * 4 + 2 * 2 * index * 4)
    per_swa = _paged(page) / page * total + state4 * of_ratio[4]
    c4, c128 = page // 4, page // 128
    per_full = ratio * per_swa
    per_full += of_ratio[4] * (_paged(c4) / c4 / 4 + (index + index // 128 * 4) / 4)
    per_full += of_ratio[128] * (_paged(c128) / c128 / 128)
    if speculative:
        scale = (total + 1) / total
        per_full *= scale
        per_swa *= scale
    rows = (requests + 1) * rings[1] + rings[1] + 1
    rows = -(-rows // 128) * 128
    fixed = rows * 2 * head * 4 * of_ratio[128]
    full = int(max(budget - fixed, 0) / per_full) // page * page
    if limit is not None:
        full = min(full, limit) // page * page
    swa = int(full * ratio) // page * page
    lines = (
        f"({budget:,} - {fixed:,} B of ratio-128 states) / {per_full:,.2f} B a token = {full:,} "
        f"full tokens, {swa:,} windowed",
    )
    return V4Pool(
        full=full, swa=swa, c4=full // 4, c128=full // 128, c4_state=swa // page * rings[0],
        c128_state=(requests + 1) * rings[1], bytes_per_full_token=per_full,
        bytes_per_swa_token=per_swa, lines=lines,
    )  # fmt: skip


def _paged(tokens: int) -> int:
    """Bytes of a page of records, rounded up as the decode kernel wants it."""
    return -(-tokens * _RECORD // _PAGE) * _PAGE
