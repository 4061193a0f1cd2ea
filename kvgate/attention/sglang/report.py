"""One model on one GPU under SGLang: what is chosen, and what becomes of every other backend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kvgate.architecture.layers import MLA, Attention, CompressedAttention, Layer
from kvgate.architecture.model import Architecture
from kvgate.attention.sglang.model import Model, model_facts
from kvgate.attention.sglang.outcome import Outcome
from kvgate.attention.sglang.pipeline import Query, resolve
from kvgate.attention.sglang.release import Rules, rules
from kvgate.catalog.gpus import Gpu, gpu
from kvgate.errors import InputError

__all__ = ["GroupReport", "Report", "Verdict", "report"]

# Offered by the command line on every platform, made for another one.
_ELSEWHERE = frozenset({"aiter", "wave", "ascend", "intel_amx", "intel_xpu"})
_LATENT_ONLY = frozenset({"flashmla", "cutlass_mla"})
_SPARSE = {"nsa": "DeepSeek sparse attention", "dsa": "DeepSeek sparse attention",
           "dsv4": "DeepSeek-V4", "compressed": "DeepSeek-V4", "qsa": "one Qwen model"}  # fmt: skip
_BACKENDS = ("attention_backend", "prefill_attention_backend", "decode_attention_backend")


@dataclass(frozen=True, slots=True)
class Verdict:
    """One ``--attention-backend`` value: whether SGLang takes it, and its own reasons if not.

    ``note`` says what no gate of SGLang looks at.
    """

    name: str
    valid: bool
    reasons: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class GroupReport:
    """Layers that share a head size; ``backends`` is empty for layers without an attention cache."""

    layers: tuple[int, ...]
    kind: str
    head_size: int | None
    backends: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """SGLang's answer.

    ``selected`` is the backend, ``prefill=fa3, decode=flashinfer`` where the two differ, None where
    SGLang stops; ``error`` is then its text and ``when`` says how late it comes. ``then_fails`` is
    the text where the arguments are taken first and the refusal comes after the weights are loaded.
    """

    engine: str
    selected: str | None
    error: str | None
    when: str
    then_fails: str | None
    groups: tuple[GroupReport, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    unknown: tuple[str, ...]
    outcome: Outcome


def report(
    architecture: Architecture,
    where: str | Gpu,
    engine: str = "sglang",
    **flags: object,
) -> Report:
    """What SGLang makes of a model on a GPU; ``flags`` are its own options by name.

    Raises InputError for an unknown GPU, release or option, and for a GPU that isn't NVIDIA's:
    only the CUDA paths of SGLang are read.
    """
    device = where if isinstance(where, Gpu) else gpu(where)
    if device.sm is None:
        raise InputError(
            f"how SGLang resolves its backends on {device.name} is not known to kvgate",
            hint="only the CUDA paths of SGLang are read",
        )
    said = rules(engine)
    facts = model_facts(architecture)
    asked = Query(facts, device.sm, engine, flags, device.memory_mib)
    outcome = resolve(asked)
    verdicts = _verdicts(said, asked)
    late = outcome.stage in ("kv_dtype", "registry")
    return Report(
        engine=f"sglang=={said.read}",
        selected=outcome.selected,
        error=outcome.error,
        when=outcome.when,
        then_fails=outcome.error if late else None,
        groups=tuple(
            GroupReport(
                group.indices,
                group.layer.kind,
                _head_size(group.layer),
                verdicts if _head_size(group.layer) else (),
            )
            for group in architecture.groups
        ),
        warnings=outcome.warnings,
        notes=(*([said.note] if said.note else []), *(str(note) for note in outcome.notes)),
        unknown=outcome.unknown,
        outcome=outcome,
    )


def _head_size(layer: Layer) -> int | None:
    if isinstance(layer, MLA):
        return layer.kv_lora_rank + layer.qk_rope_head_dim
    if isinstance(layer, (Attention, CompressedAttention)):
        return layer.head_dim
    return None


def _verdicts(said: Rules, asked: Query) -> tuple[Verdict, ...]:
    others: Mapping[str, object] = {
        name: value
        for name, value in asked.flags.items()
        if said.option(name)["dest"] not in _BACKENDS
    }
    found = []
    for name in said.choices("attention_backend"):
        if name in _ELSEWHERE:
            continue
        flags = {**others, "attention_backend": name}
        outcome = resolve(Query(asked.model, asked.sm, asked.engine, flags, asked.memory_mib))
        found.append(_verdict(name, outcome, asked.model))
    return tuple(found)


def _verdict(name: str, outcome: Outcome, model: Model) -> Verdict:
    if outcome.error is not None:
        return Verdict(name, False, (outcome.error,), outcome.when)
    if outcome.selected != name:
        return Verdict(name, False, (f"SGLang runs {outcome.selected} instead",), "")
    if name in _LATENT_ONLY and not model.latent:
        return Verdict(name, True, (), "made for MLA models; no gate of SGLang says so")
    if name in _SPARSE and model.index_topk is None:
        return Verdict(name, True, (), f"made for {_SPARSE[name]}; no gate of SGLang says so")
    return Verdict(name, True)
