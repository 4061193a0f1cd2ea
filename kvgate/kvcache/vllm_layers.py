"""One layer as vLLM's cache specs: what its page holds, in bytes."""

from __future__ import annotations

from dataclasses import dataclass

from kvgate.architecture.layers import (
    MLA,
    Attention,
    CompressedAttention,
    GatedDeltaNet,
    KimiDelta,
    Layer,
    Mamba2,
    NoCache,
    StreamConv,
)
from kvgate.catalog.formats import KvFormat
from kvgate.errors import InputError
from kvgate.kvcache.choice import KvChoice
from kvgate.kvcache.cost import (
    INDEXER_KEY_BYTES,
    compressor_state_bytes,
    kv_heads_on_rank,
    latent_format,
)
from kvgate.kvcache.page import Page
from kvgate.kvcache.states import state_bytes, state_dtypes
from kvgate.kvcache.vllm_rules import VllmRules

__all__ = ["ATTENTION", "Setup", "attention_pages", "layer_pages", "state_size"]

ATTENTION = (Attention, MLA, CompressedAttention)


@dataclass(frozen=True, slots=True)
class Setup:
    """What decides the pages besides the layers.

    ``mamba_mode``: ``none``, ``align``, ``all``. ``retained``: tokens below a window that several
    draft modules may fill again.
    """

    rules: VllmRules
    choice: KvChoice
    tp: int
    block_size: int
    max_model_len: int
    model_type: str
    model_dtype: str
    sm: tuple[int, int] | None = None
    mamba_mode: str = "none"
    ssm_dtype: str = "auto"
    speculative: int = 0
    plain: KvFormat | None = None
    spared: frozenset[int] = frozenset()
    retained: int = 0


def layer_pages(layer: Layer, setup: Setup, padded: int | None) -> list[Page]:
    """The pages of one layer; ``padded`` is what a state's page is widened to."""
    block = setup.block_size
    match layer:
        case NoCache():
            return []
        case Attention():
            return attention_pages(layer, setup, None)
        case MLA():
            fmt = latent_format(layer, setup.choice)
            # A record with scales is as long as it is; only plain rows are widened.
            row = layer.head_size if fmt.kind == "record" else layer.row or layer.head_size
            latent = fmt.latent_bytes(row)
            key = ("latent", row, latent)
            if layer.window is not None:
                return [
                    Page(
                        "sliding_mla", block, block * latent, key, layer.window,
                        retained=setup.retained,
                    )
                ]  # fmt: skip
            pages = [Page("mla", block, block * latent, key)]
            if layer.indexer is not None and not layer.shares_indexer:
                keys = layer.indexer.head_dim + 4 * -(-layer.indexer.head_dim // 128)
                pages.append(Page("mla", block, block * keys, ("indexer", layer.indexer.head_dim)))
            return pages
        case CompressedAttention():
            return _compressed_pages(layer, setup)
        case StreamConv():
            return [_stream_page(layer, setup.tp)]
        case _:
            size = state_size(layer, setup)
            mode = setup.mamba_mode
            states: int | None = {"none": 1, "align": 2}.get(mode)
            if states is not None:
                states += setup.speculative if setup.rules.mamba_modes else 0
                states += _checkpoints(layer, setup) if mode == "align" else 0
            tokens = setup.max_model_len if mode == "none" else block
            drafts = mode == "all" and setup.rules.version.release >= (0, 22)
            extra = setup.speculative if drafts else 0
            return [
                Page("state", tokens, size, ("state", layer.kind), padded=padded, states=states,
                     retained=extra)
            ]  # fmt: skip


def _stream_page(layer: StreamConv, tp: int) -> Page:
    """Inkling's convolutions as vLLM keeps them: a window of ``kernel`` tokens in blocks as long.

    The four streams lie packed in each KV head, widened to a power of two, always in bfloat16.
    Source: vllm 0.33.0, models/inkling/nvidia/sconv_swa_attn.py.
    """
    if layer.kv_heads % tp:
        raise InputError(
            f"vLLM keeps Inkling's convolutions for tensor parallel sizes that divide "
            f"{layer.kv_heads} KV heads, not {tp}"
        )
    packed = 2 * layer.head_dim + 2 * (layer.hidden // layer.kv_heads)
    width = 1 << (packed - 1).bit_length()
    size = layer.kernel * (layer.kv_heads // tp) * width * 2
    return Page("sliding", layer.kernel, size, ("streams", width), layer.kernel)


def attention_pages(
    layer: Attention, setup: Setup, shared: int | None, *, plain: KvFormat | None = None
) -> list[Page]:
    """The pages of one attention layer; ``shared`` is the page that windowed ones fill up."""
    heads = kv_heads_on_rank(layer.kv_heads, setup.tp)
    fmt = plain or setup.choice.format
    values = layer.v_head_dim if setup.rules.value_widths else layer.head_dim
    per_token = heads * fmt.head_bytes(layer.head_dim, values)
    key = (heads, layer.head_dim, values, fmt.name)
    block = setup.block_size
    # Only windowed layers choose a block of their own, and pad it up to the shared page.
    padded = shared if layer.kind == "sliding" else None
    if padded is not None and shared is not None:
        block = max(16, shared // per_token // 16 * 16)
    match layer.kind:
        case "sliding":
            page = Page(
                "sliding", block, block * per_token, key, layer.window, padded,
                retained=setup.retained,
            )  # fmt: skip
        case "chunked":
            page = Page("chunked", block, block * per_token, key, layer.window, padded)
        case "cross":
            page = Page("cross", block, block * per_token, key)
        case _:
            page = Page("full", block, block * per_token, key)
    if layer.indexer is None:
        return [page]
    keys = layer.indexer.head_dim * INDEXER_KEY_BYTES
    return [page, Page("mla", setup.block_size, setup.block_size * keys, ("index keys", keys))]


def _compressed_pages(layer: CompressedAttention, setup: Setup) -> list[Page]:
    """DeepSeek V4: window cache, compressed cache, compressor scratch, indexer and its scratch."""
    fmt = setup.choice.format
    window = setup.choice.window or fmt
    if layer.version == "v4.1":
        raise InputError(
            "kvgate does not know how vLLM packs DeepSeek V4.1's caches into a pool",
            hint="what the model needs is still computed: kvgate.kvcache.needs",
        )
    align = fmt.page_multiple

    def aligned(size: int) -> int | None:
        rounded = -(-size // align) * align
        return rounded if rounded != size else None

    def page(kind: str, block: int, size: int, key: str, reach: int | None = None) -> Page:
        kept = setup.retained if kind == "sliding_mla" else 0
        return Page(kind, block, size, (key,), reach, aligned(size), retained=kept)  # type: ignore[arg-type]

    raw = 64 * (window.record_bytes or 0)
    pages = [page("sliding_mla", 64, raw, "window", layer.window)]
    if not layer.ratio:
        return pages
    block = setup.block_size
    rows = block // layer.ratio
    overlap = 2 if layer.ratio == 4 else 1
    tail, reach = (4, overlap * layer.ratio) if layer.ratio == 4 else (8, layer.ratio)
    pages.append(page("mla", block, rows * (fmt.record_bytes or 0), f"compressed {layer.ratio}"))
    scratch = compressor_state_bytes(layer)
    pages.append(page("sliding_mla", tail, tail * scratch, "compressor", reach))
    if layer.indexer is not None:
        keys = layer.indexer.head_dim + 4
        pages.append(page("mla", block, rows * keys, "indexer"))
        small = 2 * overlap * layer.indexer.head_dim * 4
        pages.append(page("sliding_mla", tail, tail * small, "indexer compressor", reach))
    return pages


def _checkpoints(layer: Layer, setup: Setup) -> int:
    """State blocks that a request holds for checkpoints inside a prefill."""
    release = setup.rules.version.release
    new_card = setup.sm is not None and setup.sm[0] in (9, 10, 12)
    match layer:
        case Mamba2():
            return int(release >= (0, 32))
        case GatedDeltaNet():
            return int(release >= (0, 33) and new_card)
        case KimiDelta():
            known = setup.model_type.startswith(("kimi_k3", "glm5"))
            return int(release >= (0, 29) and new_card and known)
        case _:
            return 0


def state_size(layer: Layer, setup: Setup) -> int:
    """Bytes that a state layer keeps of one sequence on a rank."""
    assert not isinstance(layer, (*ATTENTION, NoCache, StreamConv))
    dtypes = state_dtypes(
        layer, engine="vllm", model_type=setup.model_type, model_dtype=setup.model_dtype,
        version=setup.rules.version, ssm_dtype=setup.ssm_dtype,
    )  # fmt: skip
    return state_bytes(layer, dtypes, setup.tp, speculative=setup.speculative)
