"""The vision tower of a multimodal model, where its config gives enough to count it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["tower"]


def tower(vision: Mapping[str, Any], hidden: int) -> int | None:
    """Parameters of a vision transformer and its projector, None where the config lacks its size.

    ``hidden`` is the text model's width. Each layer has four square projections and a feed-forward
    part; patch embedding, positions and the merger into the text model come on top.
    """
    width = _int(vision, "hidden_size", "vt_hidden_size", "width", "embed_dim")
    layers = _int(vision, "num_hidden_layers", "depth", "vt_num_hidden_layers", "layers")
    inner = _int(vision, "intermediate_size", "vt_intermediate_size")
    if width is None or layers is None:
        return None
    if inner is None:
        ratio = vision.get("mlp_ratio", 4)
        if isinstance(ratio, bool) or not isinstance(ratio, int | float) or not 0 < ratio < 100:
            return None
        inner = int(width * ratio)
    kind = str(vision.get("model_type", ""))
    gated = any(word in kind for word in ("pixtral", "qwen2_5_vl", "gemma4", "glm"))
    head = _int(vision, "head_dim")
    heads = _int(vision, "num_attention_heads", "num_heads", "vt_num_attention_heads", "heads")
    attention = 4 * width * (head * heads if head and heads else width)
    block = attention + (3 if gated else 2) * width * inner
    patch = _int(vision, "patch_size") or 14
    temporal = _int(vision, "temporal_patch_size") or 1
    total = layers * block + 3 * patch * patch * temporal * width
    image = _int(vision, "image_size")
    positions = _int(vision, "num_position_embeddings", "position_embedding_size")
    if positions is None and image is not None and patch:
        positions = (image // patch) ** 2
    total += (positions or 0) * width * (2 if "gemma4" in kind else 1)
    return total + _merger(vision, width, hidden)


def _merger(vision: Mapping[str, Any], width: int, hidden: int) -> int:
    merge = _int(vision, "spatial_merge_size")
    kernel = vision.get("merge_kernel_size")
    if merge is None and isinstance(kernel, list) and kernel and isinstance(kernel[0], int):
        merge = kernel[0]
    if merge is None:
        return width * hidden
    packed = width * merge * merge
    out = _int(vision, "out_hidden_size") or hidden
    deep = vision.get("deepstack_visual_indexes")
    copies = 1 + (len(deep) if isinstance(deep, list) else 0)
    return copies * (packed * packed + packed * out)


def _int(mapping: Mapping[str, Any], *keys: str) -> int | None:
    for key in keys:
        value = mapping.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**24:
            return value
    return None
