"""Prefill, decode or both: what an engine does in a pair."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kvgate.deployment.script import Word

__all__ = ["role_of"]

_PREFILL = {"kv_producer", "prefill", "context", "ctx"}
_DECODE = {"kv_consumer", "decode", "generation", "gen"}
_NAME = {
    "prefill": re.compile(r"(?:\A|[^a-z])(?:prefill(?:er|s|worker)?|producer)(?:\Z|[^a-z])"),
    "decode": re.compile(r"(?:\A|[^a-z])(?:decode(?:r|rs|worker)?|consumer)(?:\Z|[^a-z])"),
}


def role_of(flags: Mapping[str, Any], env: Mapping[str, Word], names: Sequence[str]) -> str:
    """The role by the settings, else by the names around, nearest first: "prefill", "decode" or
    "both". A name that holds both words tells nothing."""
    for said in _said(flags, env):
        folded = said.casefold()
        if folded in _PREFILL:
            return "prefill"
        if folded in _DECODE:
            return "decode"
    for name in names:
        folded = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).casefold()
        roles = [role for role, pattern in _NAME.items() if pattern.search(folded)]
        if len(roles) == 1:
            return roles[0]
        if roles:
            break
    return "both"


def _said(flags: Mapping[str, Any], env: Mapping[str, Word]) -> list[str]:
    said = [flags.get("disaggregation_mode"), flags.get("server_role")]
    if flags.get("is_prefill_worker") is True:
        said.append("prefill")
    if flags.get("is_decode_worker") is True:
        said.append("decode")
    transfer = flags.get("kv_transfer_config")
    if isinstance(transfer, dict):
        said.append(transfer.get("kv_role"))
    for name in ("DYN_VLLM_DISAGGREGATION_MODE",):
        word = env.get(name)
        if word is not None and not word.unresolved:
            said.append(word.text)
    return [word for word in said if isinstance(word, str)]
