"""One model on one GPU under SGLang: what is chosen, and what becomes of every other backend."""

from __future__ import annotations

from kvgate.architecture.layers import MLA, Attention, CompressedAttention, Layer
from kvgate.architecture.model import Architecture
from kvgate.attention.report import BackendVerdict, Failure, Group, Report
from kvgate.attention.sglang.model import Model, model_facts
from kvgate.attention.sglang.outcome import Outcome
from kvgate.attention.sglang.pipeline import Query, resolve
from kvgate.attention.sglang.release import Rules, rules
from kvgate.catalog.gpus import Gpu, gpu
from kvgate.errors import InputError, nearest

__all__ = ["report"]

# Offered by the command line on every platform, made for another one.
_ELSEWHERE = frozenset({"aiter", "wave", "ascend", "intel_amx", "intel_xpu"})
_LATENT_ONLY = frozenset({"flashmla", "cutlass_mla"})
_SPARSE_ONLY = frozenset({"qsa"})
_BACKENDS = ("attention_backend", "prefill_attention_backend", "decode_attention_backend")
# Words that kvgate's own calls use for every engine.
_COMMON = {"tp": "tp_size", "block_size": "page_size", "force": "attention_backend"}


def report(
    architecture: Architecture, where: str | Gpu, engine: str = "sglang", **flags: object
) -> Report:
    """What SGLang makes of a model on a GPU; ``flags`` are its own options by name.

    ``tp``, ``block_size`` and ``force`` stand for ``tp_size``, ``page_size`` and
    ``attention_backend``. ``selected`` is ``prefill=fa3, decode=flashinfer`` where the two differ.
    A refusal that comes only after the weights are loaded is in ``error`` and in ``then_fails``.
    Raises InputError for an unknown GPU, release or option, and for a GPU that isn't NVIDIA's: only
    the CUDA paths of SGLang are read.
    """
    device = where if isinstance(where, Gpu) else gpu(where)
    if device.sm is None:
        raise InputError(
            f"how SGLang resolves its backends on {device.name} is not known to kvgate",
            hint="only the CUDA paths of SGLang are read",
        )
    said = rules(engine)
    named = {_COMMON.get(name, name): value for name, value in flags.items() if value is not None}
    asked = Query(model_facts(architecture), device.sm, engine, named, device.memory_mib)
    outcome = resolve(asked)
    if outcome.stage == "argparse":
        raise _unknown_value(said, named)
    others = _others(said, asked)
    return Report(
        engine=f"sglang=={said.read}",
        gpu=device.name,
        groups=tuple(
            _group(group.indices, group.layer, outcome, others) for group in architecture.groups
        ),
        error=outcome.error,
        warnings=outcome.warnings,
        then_fails=_late(outcome, said, architecture),
        notes=_notes(said, asked, outcome),
    )


def _unknown_value(said: Rules, named: dict[str, object]) -> InputError:
    """The first value that the release's parser doesn't take, and the nearest it does."""
    for name, value in named.items():
        option = said.option(name)
        choices = option.get("choices")
        if choices and value not in choices:
            told = f"sglang {said.read} has no {option['flags'][0]} {value!r}"
            return InputError(told, hint=nearest(str(value), map(str, choices)))
    raise AssertionError("the parser refused a value that no list of choices lacks")


def _group(
    layers: tuple[int, ...], layer: Layer, outcome: Outcome, others: tuple[BackendVerdict, ...]
) -> Group:
    size = _head_size(layer)
    return Group(
        layers=layers,
        kind=layer.kind,
        head_size=size,
        backends=others if size else (),
        selected=outcome.selected if size else None,
        error=outcome.error if size else None,
        kv_cache_dtype=outcome.kv_dtype if size else None,
        block_size=outcome.page_size if size else None,
    )


def _head_size(layer: Layer) -> int | None:
    if isinstance(layer, MLA):
        return layer.kv_lora_rank + layer.qk_rope_head_dim
    if isinstance(layer, (Attention, CompressedAttention)):
        return layer.head_dim
    return None


def _late(outcome: Outcome, said: Rules, architecture: Architecture) -> tuple[Failure, ...]:
    layers = tuple(n for g in architecture.groups if _head_size(g.layer) for n in g.indices)
    if outcome.error is not None and outcome.stage in ("kv_dtype", "registry"):
        source = f"sglang {said.read}, {outcome.when}"
        return (Failure("", "kv-cache", outcome.error, source, True, layers),)
    source = f"sglang {said.read}, when the backend is built: after the weights are loaded"
    return tuple(
        Failure(later.backend, "kv-cache", later.text, source, True, layers)
        for later in outcome.then_fails
    )


def _others(said: Rules, asked: Query) -> tuple[BackendVerdict, ...]:
    kept = {
        name: value
        for name, value in asked.flags.items()
        if said.option(name)["dest"] not in _BACKENDS
    }
    found = []
    for name in said.choices("attention_backend"):
        if name not in _ELSEWHERE:
            flags = {**kept, "attention_backend": name}
            outcome = resolve(Query(asked.model, asked.sm, asked.engine, flags, asked.memory_mib))
            found.append(_verdict(name, outcome, said.aliases))
    return tuple(found)


def _verdict(name: str, outcome: Outcome, aliases: dict[str, str]) -> BackendVerdict:
    if outcome.error is not None:
        return BackendVerdict(name, False, (outcome.error,))
    if outcome.selected not in (name, aliases.get(name)):
        return BackendVerdict(name, False, (f"SGLang runs {outcome.selected} instead",))
    if outcome.then_fails:
        return BackendVerdict(name, False, tuple(later.text for later in outcome.then_fails))
    return BackendVerdict(name, True)


def _notes(said: Rules, asked: Query, outcome: Outcome) -> tuple[str, ...]:
    notes = [said.note] if said.note else []
    if outcome.error is not None:
        notes.append(f"it stops {outcome.when}")
    notes += [str(note) for note in outcome.notes]
    notes += [f"unknown: {what}" for what in outcome.unknown]
    notes += _ungated(said, asked.model)
    return tuple(notes)


def _ungated(said: Rules, model: Model) -> list[str]:
    offered = said.choices("attention_backend")
    notes = []
    latent = [name for name in offered if name in _LATENT_ONLY]
    if latent and not model.latent:
        notes.append(f"made for MLA models, and no gate says so: {', '.join(latent)}")
    sparse = [name for name in offered if name in _SPARSE_ONLY]
    if sparse and model.index_topk is None:
        notes.append(f"made for sparse attention, and no gate says so: {', '.join(sparse)}")
    return notes
