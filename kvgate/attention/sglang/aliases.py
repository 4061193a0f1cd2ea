"""Old names of attention backends that a release still takes, and what they imply."""

from __future__ import annotations

from kvgate.attention.sglang.state import State

__all__ = ["backend_aliases"]

_BACKENDS = (
    "attention_backend",
    "decode_attention_backend",
    "prefill_attention_backend",
    "speculative_draft_attention_backend",
)


def backend_aliases(state: State) -> None:
    """Deprecated names become today's, with a warning where the release gives one."""
    aliases = state.rules.aliases
    implied = "tokenspeed_mla" in aliases and "tokenspeed_mla" in (
        state["attention_backend"],
        state["decode_attention_backend"],
    )
    for setting in _BACKENDS:
        old = state[setting]
        if old in aliases:
            new = aliases[old]
            state.warn("w.alias.backend", attr=setting.replace("_", "-"), old=old, aliases=new)
            if setting == "prefill_attention_backend" and new == "cutedsl_mla":
                new = "trtllm_mla"  # cutedsl_mla decodes only
            state.change(setting, new, f"{old} is the old name", said=True)
    if implied and state["kv_cache_dtype"] != "fp8_e4m3":
        state.warn("w.alias.tokenspeed_kv")
        state.change("kv_cache_dtype", "fp8_e4m3", "tokenspeed_mla read FP8 only", said=True)
