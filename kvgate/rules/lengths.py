"""vLLM: the context length it derives, and the RoPE settings that make a longer one.

Source: vllm 0.9.2 to 0.33.0, config/model.py (_get_and_verify_max_len) and
model_executor/layers/rotary_embedding/.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kvgate.kvcache.length import derived_length
from kvgate.kvcache.request import NEWEST
from kvgate.plan.model import Plan
from kvgate.rules.facts import between, engine_version, number, truthy
from kvgate.rules.verdict import Finding, Undecided, Verdict

__all__ = ["ALLOW_LONG", "RULES", "derived"]

_ORIGINAL = "original_max_position_embeddings"
ALLOW_LONG = "VLLM_ALLOW_LONG_MAX_MODEL_LEN"
_DUAL_CHUNK = ("qwen2.5-7b-instruct-1m", "qwen2.5-14b-instruct-1m")


def _override(plan: Plan) -> Mapping[str, Any] | None:
    """The RoPE block of --hf-overrides, at the top or under text_config."""
    given = plan.get("hf_overrides")
    inner = given.get("text_config") if isinstance(given, dict) else None
    for part in (given, inner):
        for key in ("rope_parameters", "rope_scaling"):
            if isinstance(part, dict) and isinstance(part.get(key), dict):
                found: Mapping[str, Any] = part[key]
                return found
    return None


def _rope(plan: Plan) -> Mapping[str, Any]:
    own: Mapping[str, Any] = dict(plan.arch.rope) if plan.arch is not None else {}
    return _override(plan) or own


def _kind(rope: Mapping[str, Any]) -> str:
    return str(rope.get("rope_type") or rope.get("type") or "")


def derived(plan: Plan) -> int | None:
    """The length that this release derives; None where the config isn't known."""
    if plan.arch is None:
        return None
    version = engine_version(plan) or NEWEST["vllm"]
    return derived_length(plan.arch, engine="vllm", version=version, rope=_rope(plan))


def max_model_len_above_the_derived(plan: Plan) -> Verdict:
    """--max-model-len is above what the config gives."""
    length = number(plan.get("max_model_len"))
    if not plan.runs("vllm") or length is None:
        return None
    most = derived(plan)
    if most is None:
        return Undecided(plan.lacks("model") or "the model's max_position_embeddings")
    if length <= most:
        return None
    if plan.arch is not None and plan.arch.model_type.startswith(("cohere", "command")):
        return Undecided("the config's model_max_length, which goes before")
    if truthy(plan.deployment.env_value(ALLOW_LONG)):
        if _kind(_rope(plan)) not in ("", "default"):
            return None
        return Finding(
            f"--max-model-len {length:,} is above the {most:,} positions of the model, and "
            f"{ALLOW_LONG} lifts the check without stretching anything",
            ("no RoPE scaling is set, in the config or by --hf-overrides",),
            plan.with_flag("--max-model-len", str(most)),
        )
    return Finding(
        f"--max-model-len {length:,} is above the {most:,} that vLLM {engine_version(plan)} "
        "derives from the model's config: it stops",
        (f"{ALLOW_LONG} would lift the check, and change nothing about positions",),
        plan.with_flag("--max-model-len", str(most)),
    )


def rope_flag_is_gone(plan: Plan) -> Verdict:
    """--rope-scaling and --rope-theta, which went in 0.11.1."""
    written = [
        given.written
        for given in plan.deployment.given
        if given.written.replace("_", "-").split("=")[0] in ("--rope-scaling", "--rope-theta")
    ]
    if not plan.runs("vllm") or not written:
        return None
    known = between(plan, first="0.11.1")
    if known is None:
        return Undecided("the version of vLLM")
    if not known:
        return None
    names = dict.fromkeys(name.split("=")[0] for name in written)
    return Finding(
        f"{', '.join(names)} is unknown to vLLM {engine_version(plan)}",
        ("it went in 0.11.1; model cards and recipes still show it",),
        _by_override(plan),
    )


def _by_override(plan: Plan) -> str:
    """The command with what the flags that went said, as an override of the config."""
    key = "rope_parameters" if between(plan, first="0.13.0") else "rope_scaling"
    said = {g.written.replace("_", "-").split("=")[0]: g.text for g in plan.deployment.given}
    try:
        block = json.loads(said.get("--rope-scaling") or "null")
        theta = json.loads(said.get("--rope-theta") or "null")
    except ValueError:
        block = theta = None
    own = plan.get("hf_overrides") or {}
    if not isinstance(block, dict) or not isinstance(own, dict):
        return (
            f'--hf-overrides \'{{"{key}": {{…}}}}\', under "text_config" for a multimodal model, '
            "with --max-model-len"
        )
    if "type" in block:
        block = {"rope_type": block["type"], **{k: v for k, v in block.items() if k != "type"}}
    inner: dict[str, Any] = {key: block if theta is None else {**block, "rope_theta": theta}}
    original, factor = block.get(_ORIGINAL), block.get("factor")
    length = number(plan.get("max_model_len"))
    if length is None and isinstance(original, int) and isinstance(factor, int | float):
        length = int(original * factor)
    flags: dict[str, str | None] = {"--rope-scaling": None, "--rope-theta": None}
    if length is not None and plan.arch is not None:
        version = engine_version(plan) or NEWEST["vllm"]
        stretched = derived_length(plan.arch, engine="vllm", version=version, rope=block)
        if stretched is not None and stretched < length:
            # From 0.30.0 on the block changes positions and not the limit.
            inner["max_position_embeddings"] = length
        flags["--max-model-len"] = str(length)
    multimodal = plan.arch is not None and plan.arch.multimodal
    override = {**own, **({"text_config": inner} if multimodal else inner)}
    flags["--hf-overrides"] = json.dumps(override)
    return plan.with_flags(flags)


def yarn_factor_counted_twice(plan: Plan) -> Verdict:
    """A YaRN of another name multiplied a length that was stretched already."""
    if not plan.runs("vllm") or plan.arch is None or not between(plan, fixed="0.30.0"):
        return None
    rope = _rope(plan)
    kind, factor, original = _kind(rope), rope.get("factor"), rope.get(_ORIGINAL)
    own = plan.arch.max_position_embeddings
    if "yarn" not in kind or kind == "yarn" or own is None:
        return None
    if not isinstance(factor, int | float) or factor <= 1 or not isinstance(original, int):
        return None
    if own <= original:
        return None
    length = number(plan.get("max_model_len"))
    if length is not None and length <= own:
        return None
    return Finding(
        f"the config stretches {original:,} to {own:,} positions by {kind}, and vLLM "
        f"{engine_version(plan)} multiplies once more: it derives {int(own * factor):,}",
        ("only rope_type yarn is taken by its original length before 0.30.0",),
        plan.with_flag("--max-model-len", str(own)),
    )


def longrope_chooses_by_the_limit(plan: Plan) -> Verdict:
    """LongRoPE takes its short or its long table once, by --max-model-len."""
    if not plan.runs("vllm") or plan.arch is None or _kind(_rope(plan)) != "longrope":
        return None
    original = _rope(plan).get(_ORIGINAL)
    if not isinstance(original, int) or not between(plan, first="0.11.1"):
        return None
    length = number(plan.get("max_model_len"))
    own = plan.arch.max_position_embeddings or original
    if length is None:
        if own <= original:
            return None
        return Finding(
            f"without --max-model-len vLLM serves {original:,} tokens of {plan.arch.id}, not the "
            f"{own:,} of its card: the short table of LongRoPE ends there",
            ("one limit above that switches all requests to the long table",),
            plan.with_flag("--max-model-len", str(own)),
        )
    if length <= original:
        return None
    return Finding(
        f"--max-model-len {length:,} is above {original:,}, so that every request of "
        f"{plan.arch.id} is computed with LongRoPE's long table, short prompts too",
        ("the table is chosen once, at the start",),
        plan.with_flag("--max-model-len", str(original)),
    )


def dual_chunk_has_no_backend(plan: Plan) -> Verdict:
    """Models with dual chunk attention, whose backend went with the V0 engine."""
    name = plan.deployment.model.casefold().rsplit("/", 1)[-1]
    if not plan.runs("vllm") or name not in _DUAL_CHUNK:
        return None
    given = plan.get("hf_overrides")
    if isinstance(given, dict) and "dual_chunk_attention_config" in given:
        return None
    if between(plan, first="0.11.0") is not True:
        # Up to 0.10.2 the V0 engine still had the backend, for those who chose it.
        return None if between(plan, fixed="0.9.0") else Undecided("whether the V0 engine runs")
    return Finding(
        f"the config of {plan.deployment.model} asks for dual chunk attention, which vLLM "
        f"{engine_version(plan)} has no backend for: building the first layer fails",
        ("its models still hand the key on to a backend that doesn't know it",),
        "a copy of the model without dual_chunk_attention_config, inside the trained length",
    )


def legacy_rope_key_in_an_override(plan: Plan) -> Verdict:
    """An override that says ``type`` where the release wants ``rope_type``."""
    rope = _override(plan)
    if not plan.runs("vllm") or rope is None or "rope_type" in rope or "type" not in rope:
        return None
    known = between(plan, fixed="0.10.0")
    if known is None:
        return Undecided("the version of vLLM")
    if not known:
        return None
    return Finding(
        f"the override says type: {rope['type']}, and vLLM {engine_version(plan)} reads rope_type: "
        "it stops with a KeyError",
        ("the config's own block is translated, an override's isn't",),
        "rope_type in place of type",
    )


RULES = (
    max_model_len_above_the_derived,
    rope_flag_is_gone,
    yarn_factor_counted_twice,
    longrope_chooses_by_the_limit,
    dual_chunk_has_no_backend,
    legacy_rope_key_in_an_override,
)
