"""The longest sequence that an engine takes of a model, where nobody names one.

Sources: vllm 0.11.2 to 0.33.0 config/model.py (_get_and_verify_max_len), sglang 0.5.23
srt/utils/hf_transformers/common.py (get_context_length).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from packaging.version import Version

from kvgate.architecture.model import Architecture
from kvgate.errors import InputError

__all__ = ["Length", "derived_length", "length"]

_ORIGINAL = "original_max_position_embeddings"
_UNSCALED = ("su", "longrope", "llama3")
# From 0.30 on, YaRN's own factor is taken to be in max_position_embeddings already.
_ALREADY_SCALED = (*_UNSCALED, "yarn", "deepseek_yarn", "deepseek_llama_scaling")
_YARN_AS_WRITTEN = Version("0.30.0")
_NESTED_ROPE = Version("0.5.10")
# What vLLM and SGLang take where the config has no key for it at all.
_NO_KEY = 2048


@dataclass(frozen=True, slots=True)
class Length:
    """The length that is sized, the most that the engine takes, and what to say about them."""

    tokens: int
    limit: int | None
    notes: tuple[str, ...] = ()


def length(arch: Architecture, asked: int | None, *, engine: str, version: Version) -> Length:
    """The length for ``asked`` tokens, or for the engine's own default where that is None.

    Raises InputError where neither the caller, the config nor the engine names one.
    """
    if asked is not None and asked < 1:
        raise InputError(f"max_model_len is {asked}; it must be at least 1")
    limit = derived_length(arch, engine=engine, version=version)
    if asked is not None:
        return Length(asked, limit, _beyond(arch, asked, limit, engine))
    if limit is None:
        if not arch.head_sizes() and engine in ("vllm", "sglang"):
            note = f"the config of {arch.id} names no maximum length: {engine} takes {_NO_KEY:,}"
            return Length(_NO_KEY, None, (note,))
        raise InputError(
            f"the config of {arch.id} names no maximum length", hint="say max_model_len"
        )
    short = _short(arch) if engine == "vllm" else None
    if short is not None and short < limit:
        note = (
            f"without a max_model_len vllm serves {short:,} tokens of a model with LongRoPE, not "
            f"the {limit:,} that its config gives"
        )
        return Length(short, limit, (note,))
    own = arch.max_position_embeddings
    if own is not None and own != limit:
        note = f"{engine} derives {limit:,} tokens from the {own:,} of the config and its RoPE"
        return Length(limit, limit, (note,))
    return Length(limit, limit)


def _beyond(arch: Architecture, asked: int, limit: int | None, engine: str) -> tuple[str, ...]:
    if limit is None or asked <= limit:
        return ()
    gives = "gives" if limit == arch.max_position_embeddings else f"gives {engine}"
    return (
        f"{asked:,} tokens is beyond the {limit:,} that the config of {arch.id} {gives}; "
        "engines refuse that unless told otherwise",
    )


def _short(arch: Architecture) -> int | None:
    """Where LongRoPE's short table ends, for a model that has it."""
    rope = dict(arch.rope)
    original = rope.get(_ORIGINAL)
    return original if rope.get("type") == "longrope" and isinstance(original, int) else None


def derived_length(
    arch: Architecture, *, engine: str, version: Version, rope: Mapping[str, Any] | None = None
) -> int | None:
    """The length in tokens that an engine derives: the config's, times a RoPE factor that isn't in
    it yet; None where the config names none.

    ``rope`` stands in for the config's own RoPE block (an override's), by the keys of a config.
    """
    own = arch.max_position_embeddings
    rope = dict(arch.rope) if rope is None else rope
    kind = str(rope.get("rope_type") or rope.get("type") or "")
    factor, original = rope.get("factor"), rope.get(_ORIGINAL)
    if own is None or not isinstance(factor, int | float):
        return own
    # Gemma 3's 128K has its factor already: vLLM says so. SGLang multiplied until it came with
    # transformers 5, which keeps the factor under the kind of layer (5.3.0 with sglang 0.5.10).
    if "gemma3" in arch.model_type and (engine != "sglang" or version >= _NESTED_ROPE):
        return own
    if engine == "sglang":
        return own if original is not None or kind == "llama3" else int(own * factor)
    if engine != "vllm" or not kind:
        return own
    if version >= _YARN_AS_WRITTEN:
        return own if kind in _ALREADY_SCALED else int(own * factor)
    if kind in _UNSCALED:
        return own
    if kind == "yarn" and isinstance(original, int):
        return int(original * factor)
    return int(own * factor)
