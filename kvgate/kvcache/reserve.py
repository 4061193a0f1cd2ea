"""From a GPU to KV memory: what vLLM's start-up profiling leaves over, as a range.

vLLM asks for ``utilization`` of the memory CUDA shows, and takes from it the weights, the peak of a
dummy run, what lies outside PyTorch's allocator, and, from 0.20.2 on, an estimate of its CUDA
graphs. The dummy run peaks in one of two places: the forward pass over ``max_num_batched_tokens``
tokens, or the sampler over ``max_num_seqs`` rows of the whole vocabulary, which is what counts for
today's vocabularies. How many bytes a logit costs there is the sampler implementation's business:

* up to 0.11, FlashInfer's sampler where it is installed (the official images): 10 bytes;
* 0.12 to 0.16, a full sort: 37 bytes;
* from 0.17 on, a Triton kernel: 14 bytes (16 in float32).

These figures and the rest below were read off 70 start-up logs of known cards and settings; the
mechanism was read in the sources (v1/worker/gpu_worker.py, v1/worker/gpu_model_runner.py,
v1/sample/ops/topk_topp_sampler.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kvgate.architecture.layers import NoCache
from kvgate.architecture.model import Architecture
from kvgate.catalog.gpus import Gpu
from kvgate.errors import InputError
from kvgate.kvcache.answer import Range
from kvgate.kvcache.request import Request
from kvgate.kvcache.vllm_rules import VllmRules
from kvgate.units import GiB, MiB, format_bytes

__all__ = ["Reserve", "Terms", "available", "nothing_left", "reserve_terms", "visible_bytes"]

# What CUDA shows, in MiB, where a log or a torch reading gave it.
_VISIBLE_MIB = {
    "H100 SXM": 81091,  # 79.19 GiB in start-up logs
    "H100 PCIe": 81091,
    "A100 80GB SXM": 81221,
    "A100 80GB PCIe": 81221,
    "B200": 182630,
    "B300": 274115,  # 267.69 GiB in a start-up log
}
# Shared memory with the CPU: the catalogue's figure already is what CUDA shows.
_UNIFIED = ("GB10", "Jetson AGX Thor")
_VOCABULARY = 152_064
_WIDEST = 0.078  # of the card


@dataclass(frozen=True, slots=True)
class Terms:
    """The parts of what is not KV and not weights, in GiB: the dummy run's peak (the sampler's or
    the forward pass's), what lies outside PyTorch, and CUDA graphs."""

    sampler: float
    forward: float
    outside: float
    graphs: float

    @property
    def total(self) -> float:
        """All of it."""
        return max(self.sampler, self.forward) + self.outside + self.graphs


@dataclass(frozen=True, slots=True)
class Reserve:
    """KV memory per GPU and what it is made of, in bytes."""

    kv: Range
    visible: int
    requested: int
    weights: int
    other: Range
    lines: tuple[str, ...]
    assumptions: tuple[str, ...]


def visible_bytes(gpu: Gpu) -> int:
    """What CUDA shows of a card: a little less than the driver's total."""
    if gpu.name in _UNIFIED or gpu.vendor != "nvidia":
        return gpu.memory_bytes
    known = _VISIBLE_MIB.get(gpu.name)
    if known is not None:
        return known * MiB
    # Firmware and page tables keep a fixed part and one that grows with the card.
    return int(gpu.memory_bytes - 0.3 * GiB - 0.003 * gpu.memory_bytes)


def nothing_left(request: Request) -> str:
    """Why there is no memory for a cache, in words."""
    if request.memory is not None or request.gpu is None:
        return "there is no KV memory"
    if (request.weights_bytes or 0) > visible_bytes(request.gpu):
        return "the weights alone exceed the card"
    return "the weights leave nothing of the card"


def reserve_terms(
    arch: Architecture,
    rules: VllmRules,
    *,
    gpu: Gpu,
    tp: int,
    batched_tokens: int,
    seqs: int,
    float32: bool = False,
    eager: bool = False,
) -> Terms:
    """The most likely parts of the reserve of one rank."""
    vocabulary = arch.vocab_size or _VOCABULARY
    release = rules.version.release
    logit = 14 if release >= (0, 17) else 37 if release >= (0, 12) else 10
    sampler = min(seqs, batched_tokens) * vocabulary * (logit + 2 * float32) / GiB
    width = 4 if float32 else 2
    # Gate, up and down projections are sharded, the residual stream is not; the feed-forward is
    # taken to be 3.5 times as wide as the model.
    forward = batched_tokens * width * arch.hidden_size * (3 * 3.5 / tp + 4) / GiB
    base = 0.17 + (0.35 if arch.multimodal else 0.0)
    return Terms(
        sampler=sampler + base,
        forward=forward + base - 0.1,
        outside=_outside(rules, gpu, tp),
        graphs=0.0 if eager or not rules.graphs_reserved else _graphs(arch),
    )


def _outside(rules: VllmRules, gpu: Gpu, tp: int) -> float:
    """GiB outside PyTorch's allocator: contexts, kernels, buffers for talking to other ranks."""
    if tp == 1:
        return 0.25 if rules.version.release >= (0, 12) else 0.06
    if rules.version.release < (0, 12):
        return 0.12 + 0.05 * tp
    # Symmetric memory and fused all-reduce buffers need NVLink-class cards of SM 9.0 and newer.
    linked = gpu.sm is not None and gpu.sm[0] in (9, 10) and "PCIe" not in gpu.name
    return 2.1 if linked else 0.35


def _graphs(arch: Architecture) -> float:
    """GiB of CUDA graphs at the default capture sizes: so much a layer."""
    layers = sum(
        group.count
        for group in arch.groups
        if not (isinstance(group.layer, NoCache) and group.layer.reason == "no-op")
    )
    return 0.5 + 0.013 * min(layers, 120)


def available(
    request: Request, rules: VllmRules, batched_tokens: int, seqs: int, utilization: float
) -> Reserve:
    """KV memory per GPU that vLLM's profiling leaves, as a range.

    Raises InputError without a GPU, and where nobody knows the weights.
    """
    gpu = request.gpu
    if gpu is None:
        raise InputError("no GPU and no KV memory given", hint="say --gpu or --kv-cache-memory")
    if request.weights_bytes is None:
        raise InputError(
            f"the weights of {request.arch.id} are not known",
            hint="give the bytes of weights per GPU, or --kv-cache-memory",
        )
    visible = visible_bytes(gpu)
    requested = int(visible * utilization)
    terms = reserve_terms(
        request.arch, rules, gpu=gpu, tp=request.tp, batched_tokens=batched_tokens, seqs=seqs,
        float32=request.dtype in ("float32", "float"), eager=request.enforce_eager,
    )  # fmt: skip
    other = _spread(terms, rules, request, visible, seqs)
    left = requested - request.weights_bytes
    kv = Range(*(max(left - part, 0) for part in (other.high, other.likely, other.low)))
    asked = _Asked(request, rules, batched_tokens, seqs, utilization, request.enforce_eager)
    lines = (
        f"{format_bytes(visible)} that CUDA shows x {utilization:g} = {format_bytes(requested)}",
        f"minus {format_bytes(request.weights_bytes)} of weights and {format_bytes(other.likely)} "
        f"of the rest ({format_bytes(other.low)} to {format_bytes(other.high)}): {_words(terms)}",
    )
    return Reserve(
        kv, visible, requested, request.weights_bytes, other, lines, _moves(asked, kv.likely)
    )


def _spread(terms: Terms, rules: VllmRules, request: Request, visible: int, seqs: int) -> Range:
    likely = terms.total
    peak = max(terms.sampler, terms.forward)
    below = 0.6 + 0.3 * peak * (terms.sampler >= terms.forward) + 0.6 * terms.graphs
    above = 1.0 + 0.4 * peak + 0.6 * terms.graphs
    if request.tp > 1:
        below += 0.8 * terms.outside
        above += 0.6
    if request.pp > 1:
        # Only the last stage runs the sampler; the engine may log another one.
        below += max(terms.sampler - terms.forward, 0.0)
    if rules.version.release < (0, 12):
        # Without FlashInfer these versions sort the vocabulary, at 37 bytes a logit.
        above += 27 * seqs * (request.arch.vocab_size or _VOCABULARY) / GiB
    widest = _WIDEST * visible / GiB
    if below + above > widest:
        scale = widest / (below + above)
        below, above = below * scale, above * scale
    low = max(likely - below, 0.1)
    return Range(int(low * GiB), int(likely * GiB), int((likely + above) * GiB))


def _words(terms: Terms) -> str:
    peak = (
        f"{terms.sampler:.2f} GiB sampler over the vocabulary"
        if terms.sampler >= terms.forward
        else f"{terms.forward:.2f} GiB activations of one batch"
    )
    graphs = f", {terms.graphs:.2f} GiB CUDA graphs" if terms.graphs else ""
    return f"{peak}, {terms.outside:.2f} GiB outside PyTorch{graphs}"


@dataclass(frozen=True, slots=True)
class _Asked:
    """What decides the likely KV memory, for trying out other values."""

    request: Request
    rules: VllmRules
    batched_tokens: int
    seqs: int
    utilization: float
    eager: bool

    def kv(self) -> int:
        """The likely KV memory per GPU, in bytes."""
        gpu = self.request.gpu
        assert gpu is not None
        terms = reserve_terms(
            self.request.arch, self.rules, gpu=gpu, tp=self.request.tp,
            batched_tokens=self.batched_tokens, seqs=self.seqs,
            float32=self.request.dtype in ("float32", "float"), eager=self.eager,
        )  # fmt: skip
        asked = int(visible_bytes(gpu) * self.utilization)
        return int(asked - (self.request.weights_bytes or 0) - terms.total * GiB)


# A change of the KV memory that is worth telling.
_WORTH = 0.05


def _moves(asked: _Asked, likely: int) -> tuple[str, ...]:
    """What would move the KV memory by more than 5 %, and what was taken for granted."""
    notes = []
    if asked.request.arch.vocab_size is None:
        notes.append(f"the config names no vocabulary; {_VOCABULARY:,} tokens are assumed")
    if likely <= 0:
        return tuple(notes)
    share = asked.utilization
    others = {
        f"gpu_memory_utilization {share + 0.03:.2f}": replace(asked, utilization=share + 0.03),
        f"gpu_memory_utilization {share - 0.03:.2f}": replace(asked, utilization=share - 0.03),
        "max_num_seqs 256": replace(asked, seqs=256),
        "max_num_batched_tokens 2,048": replace(asked, batched_tokens=2048),
        "max_num_batched_tokens 32,768": replace(asked, batched_tokens=32768),
        "enforce_eager": replace(asked, eager=True),
    }
    moved = {name: other.kv() / likely - 1 for name, other in others.items() if other != asked}
    moved["1 GiB held by another process"] = -GiB / likely
    told = [f"{name} ({by:+.0%})" for name, by in moved.items() if abs(by) > _WORTH]
    if told:
        notes.append(f"what moves the KV memory by more than 5 %: {', '.join(told)}")
    else:
        notes.append("no one setting of the usual ones moves the KV memory by more than 5 %")
    return tuple(notes)
