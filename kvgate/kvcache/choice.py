"""Which KV format an engine makes of a ``--kv-cache-dtype``: each engine's own rules for ``auto``.

The weights' quantisation does not decide it. What does: the flag, what the checkpoint says of its
KV cache, the model family's hook in the engine, the engine's version, and the GPU generation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from packaging.version import Version

from kvgate.architecture.layers import MLA, Attention, CompressedAttention, NoCache
from kvgate.architecture.model import Architecture
from kvgate.catalog.formats import KvFormat, kv_format
from kvgate.errors import InputError, nearest
from kvgate.units import whole_number

__all__ = ["KvChoice", "choose_format", "model_dtype", "plain_layers"]

_VLLM_NAMES = (
    "auto", "float16", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc", "fp8_ds_mla",
    "nvfp4_ds_mla", "turboquant_k8v4", "turboquant_4bit_nc", "turboquant_k3v4_nc",
    "turboquant_3bit_nc", "int4_per_token_head", "int8_per_token_head", "fp8_per_token_head",
    "nvfp4", "nvfp4_4over6",
)  # fmt: skip
_VLLM_UNSIZED = ("octave_k3v4", "octave_k3v3", "octave_k3v3_compact", "ultraquant_4bit")
_SGLANG_NAMES = (
    "auto", "fp8_e5m2", "fp8_e4m3", "bf16", "bfloat16", "fp4_e2m1", "nvfp4", "mxfp8",
    "fp4_mx_block16",
)  # fmt: skip
_LLAMA_NAMES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")
_TRTLLM_NAMES = ("auto", "fp8", "nvfp4", "bf16", "bfloat16", "fp16", "float16")
_PLAIN = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
_CACHED = (Attention, MLA, CompressedAttention)
_DTYPES = {
    "float16": "float16", "half": "float16", "fp16": "float16",
    "bfloat16": "bfloat16", "bf16": "bfloat16",
    "float32": "float32", "float": "float32", "fp32": "float32",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class KvChoice:
    """The KV format an engine writes, and why.

    ``flag`` is the effective dtype in the engine's words. ``window`` is the format of the raw
    window of a compressed layer, where it differs from ``format``; ``indexer`` the indexer's
    format. ``assumed`` says what was taken for granted, empty where nothing was.
    """

    flag: str
    format: KvFormat
    because: str
    window: KvFormat | None = None
    indexer: KvFormat | None = None
    assumed: tuple[str, ...] = ()

    @property
    def dtype(self) -> str:
        """The dtype by name, where ``flag`` may still say ``auto``."""
        return _PLAIN.get(self.format.name, self.flag)


def model_dtype(
    arch: Architecture, engine: str, dtype: str = "auto", sm: tuple[int, int] | None = None
) -> tuple[str, str]:
    """The dtype a model runs in, and what was assumed for it (empty where nothing was).

    vLLM takes float16 by itself on a GPU of compute capability ``sm`` below 8.0.
    Raises InputError for a dtype that no engine knows.
    """
    if dtype != "auto":
        if dtype not in _DTYPES:
            raise InputError(f"unknown dtype {dtype!r}", hint=nearest(dtype, ["auto", *_DTYPES]))
        return _DTYPES[dtype], ""
    given = arch.dtype.removeprefix("torch.") if arch.dtype else None
    if engine == "vllm" and sm is not None and sm < (8, 0) and given != "float16":
        return "float16", "the GPU has no bfloat16: vLLM falls back to float16"
    if given is None:
        return "bfloat16", "the config names no dtype; bfloat16 is assumed (2 bytes, as float16)"
    if given == "float32" and engine in ("vllm", "sglang"):
        return "bfloat16", "the checkpoint is float32; the engine runs it in 16 bits"
    if given not in _DTYPES:
        return "bfloat16", f"the config's dtype {given} is no KV dtype; bfloat16 is assumed"
    return _DTYPES[given], ""


def choose_format(
    arch: Architecture,
    *,
    engine: str = "vllm",
    version: Version | None = None,
    sm: tuple[int, int] | None = None,
    kv_cache_dtype: str = "auto",
    dtype: str = "auto",
) -> KvChoice:
    """The KV format that ``engine`` writes for this model on a GPU of compute capability ``sm``.

    ``version`` None means the newest rules known. Raises InputError for a dtype name the engine
    does not have, for a format whose bytes are not known, and for a name that writes no such model.
    """
    runs_in, assumed = model_dtype(arch, engine, dtype, sm)
    notes = (assumed,) if assumed else ()
    asked = kv_cache_dtype.strip()
    match engine:
        case "vllm":
            return _vllm(arch, version, sm, asked, runs_in, notes)
        case "sglang":
            return _sglang(arch, sm, asked, runs_in, notes)
        case "llama.cpp":
            return _llama(arch, asked, notes)
        case "tensorrt-llm":
            return _trtllm(arch, asked, runs_in, notes)
    raise InputError(f"kvgate knows no KV dtypes of engine {engine!r}")


def plain_layers(arch: Architecture, choice: KvChoice, asked: Sequence[str] = ()) -> frozenset[int]:
    """The attention layers that vLLM leaves in the model's dtype, by index.

    ``asked`` is ``--kv-cache-dtype-skip-layers``: layer indices, or ``sliding_window``. TurboQuant
    spares the first and last two layers of a model without states. Raises InputError for anything
    else. Source: vllm 0.33.0, engine/arg_utils.py.
    """
    attention = {
        index: group.layer.kind
        for group in arch.groups
        if isinstance(group.layer, Attention)
        for index in group.indices
    }
    spared: set[int] = set()
    for word in asked:
        if (index := whole_number(word)) is not None:
            spared.add(index)
        elif word == "sliding_window":
            spared |= {index for index, kind in attention.items() if kind == "sliding"}
        else:
            raise InputError(
                f"kvgate does not know the layers {word!r} to skip",
                hint="name layer indices, or sliding_window",
            )
    hybrid = any(not isinstance(g.layer, (*_CACHED, NoCache)) for g in arch.groups)
    if choice.flag.startswith("turboquant_") and not hybrid:
        last = arch.num_layers
        edge = min(2, last // 2)
        spared |= {*range(edge), *range(last - edge, last)}
    return frozenset(spared & attention.keys())


def _vllm(
    arch: Architecture,
    version: Version | None,
    sm: tuple[int, int] | None,
    asked: str,
    runs_in: str,
    notes: tuple[str, ...],
) -> KvChoice:
    if asked in _VLLM_UNSIZED:
        raise InputError(
            f"kvgate does not know the bytes of --kv-cache-dtype {asked} (ROCm only)",
            hint="ask for auto, fp8 or nvfp4",
        )
    flag = _known(asked, _VLLM_NAMES, "vllm")
    why = f"--kv-cache-dtype {flag}"
    if flag == "auto":
        flag, why = _vllm_auto(arch, version, sm)
    if any(isinstance(g.layer, CompressedAttention) for g in arch.groups):
        return _vllm_compressed(arch, sm, flag, why, notes)
    mla = next((g.layer for g in arch.groups if isinstance(g.layer, MLA)), None)
    indexer = kv_format("indexer_fp8") if mla is not None and mla.sparse else None
    if mla is not None and mla.sparse:
        flag, why = _vllm_sparse(version, sm, flag, why)
    if flag in ("fp8_ds_mla", "nvfp4_ds_mla") and (mla is None or not mla.sparse):
        raise InputError(
            f"--kv-cache-dtype {flag} is for sparse MLA models; {arch.id} is none",
            hint="use fp8 or nvfp4",
        )
    name = runs_in if flag == "auto" else flag
    if flag == "fp8_ds_mla" and mla is not None and mla.qk_rope_head_dim == 0:
        name = "glm53_nope_fp8"
    if flag == "auto":
        why = f"{why}: the model's dtype, {runs_in}"
    return KvChoice(flag, kv_format(name), why, indexer=indexer, assumed=notes)


def _vllm_auto(
    arch: Architecture, version: Version | None, sm: tuple[int, int] | None
) -> tuple[str, str]:
    said = arch.quantization
    if said is not None and said.kv_cache is not None:
        key = said.kv_cache_key or "the checkpoint's KV scheme"
        modelopt = said.method.startswith("modelopt")
        # ModelOpt's are read since 0.14 (its nvfp4 since 0.20), compressed-tensors' since 0.15.
        since = (0, 20) if said.kv_cache == "nvfp4" else (0, 14) if modelopt else (0, 15)
        if version is not None and version.release < since:
            return "auto", f"auto; vLLM {version} does not read {key}"
        if said.method == "compressed-tensors" and said.kv_cache != "fp8":
            raise InputError(
                f"vLLM refuses this checkpoint's KV scheme, {key}: it takes num_bits=8, type=float",
                hint="use a checkpoint without it, or with FP8",
            )
        if modelopt or said.method == "compressed-tensors":
            known = {"fp8": "fp8", "fp8_e4m3": "fp8", "nvfp4": "nvfp4"}
            if said.kv_cache in known:
                return known[said.kv_cache], f"auto, and the checkpoint asks for it ({key})"
            return "auto", f"auto; vLLM ignores the checkpoint's {key}={said.kv_cache}"
        return "auto", f"auto; vLLM reads {key} only of ModelOpt and compressed-tensors checkpoints"
    sm10 = sm is not None and sm[0] == 10
    new = version is None or version.release >= Version("0.29").release
    if new and sm10 and "GlmMoeDsaForCausalLM" in arch.architectures:
        return "fp8_e4m3", "auto; vLLM's GlmMoeDsa hook takes fp8_e4m3 on SM10x"
    return "auto", "auto"


def _vllm_sparse(
    version: Version | None, sm: tuple[int, int] | None, flag: str, why: str
) -> tuple[str, str]:
    """Sparse MLA: what the backend that reads the cache makes of the flag."""
    if flag == "bfloat16":
        return "auto", f"{why}; for sparse MLA the model's dtype"
    old = version is not None and version.release < Version("0.17").release
    if version is not None and version.release < Version("0.12").release and flag == "auto":
        return "fp8_ds_mla", f"auto; vLLM {version} takes fp8_ds_mla for DeepSeek V3.2"
    if flag == "auto" and sm is not None and sm[0] == 12:
        return "fp8_ds_mla", "auto; FLASHINFER_MLA_SPARSE_SM120 always writes fp8_ds_mla"
    if not flag.startswith("fp8") or flag == "fp8_ds_mla":
        return flag, why
    if old or sm is None or sm[0] == 12:
        return "fp8_ds_mla", f"{why}; the sparse backend writes fp8_ds_mla"
    if sm[0] == 10:
        return flag, f"{why}; FLASHINFER_MLA_SPARSE keeps plain fp8 latents on SM10x"
    if flag == "fp8_e4m3" and (version is None or version.release >= Version("0.26").release):
        return flag, f"{why}; FLASHINFER_MLA_SPARSE_SM90 keeps plain fp8 latents"
    return "fp8_ds_mla", f"{why}; FLASHMLA_SPARSE writes fp8_ds_mla"


def _vllm_compressed(
    arch: Architecture,
    sm: tuple[int, int] | None,
    flag: str,
    why: str,
    notes: tuple[str, ...],
) -> KvChoice:
    """DeepSeek V4 and V4.1: one flag, and records that depend on the model and the GPU."""
    v41 = any(
        isinstance(g.layer, CompressedAttention) and g.layer.version == "v4.1" for g in arch.groups
    )
    sm10 = sm is not None and sm[0] == 10
    indexer = kv_format("indexer_fp8")
    if flag == "nvfp4_ds_mla":
        if not (v41 and sm10):
            raise InputError(
                "nvfp4_ds_mla needs DeepSeek V4.1's KV records, which are written on SM10x only",
                hint="use fp8_ds_mla",
            )
        return KvChoice(
            flag, kv_format("v41_fp4"), f"{why}: 528 bytes in the window, 288 compressed",
            window=kv_format("v41_fp8_inline"), indexer=indexer, assumed=notes,
        )  # fmt: skip
    if flag not in ("auto", "fp8", "fp8_e4m3", "fp8_ds_mla"):
        raise InputError(
            f"kvgate does not know the records that {flag} gives DeepSeek V4", hint="use fp8_ds_mla"
        )
    if v41 and sm is None:
        notes = (*notes, "no GPU given: V4.1 records are 584 bytes, but 528 on SM10x")
    if v41 and sm10:
        return KvChoice(
            "fp8_ds_mla", kv_format("v41_fp8_inline"), f"{why}; V4.1 writes 528 bytes on SM10x",
            indexer=indexer, assumed=notes,
        )  # fmt: skip
    record = "584 bytes (V4.1 writes 528 only on SM10x)" if v41 else "584 bytes"
    return KvChoice(
        "fp8_ds_mla", kv_format("fp8_ds_mla_v4"), f"{why}; DeepSeek V4 writes records of {record}",
        indexer=indexer, assumed=notes,
    )  # fmt: skip


def _sglang(
    arch: Architecture,
    sm: tuple[int, int] | None,
    asked: str,
    runs_in: str,
    notes: tuple[str, ...],
) -> KvChoice:
    flag = _known(asked, _SGLANG_NAMES, "sglang")
    compressed = any(isinstance(g.layer, CompressedAttention) for g in arch.groups)
    mla = next((g.layer for g in arch.groups if isinstance(g.layer, MLA)), None)
    sparse = mla is not None and mla.sparse
    indexer = kv_format("indexer_fp8") if sparse or compressed else None
    if compressed:
        if flag not in ("auto", "fp8_e4m3"):
            raise InputError(f"{flag} is not supported for {arch.architectures[0]} in SGLang")
        return KvChoice(
            "fp8_e4m3", kv_format("fp8_ds_mla_v4"), "SGLang keeps DeepSeek V4 in fp8 records",
            indexer=indexer, assumed=notes,
        )  # fmt: skip
    why = f"--kv-cache-dtype {flag}"
    said = arch.quantization.kv_cache if arch.quantization else None
    if flag == "auto" and sparse:
        # The DSA hook decides before the checkpoint does.
        new = sm is not None and sm[0] >= 10
        flag, why = ("fp8_e4m3" if new else "bfloat16"), "auto; SGLang's sparse-MLA rule"
    elif flag == "auto" and said in ("fp8", "fp8_e4m3"):
        flag, why = "fp8_e4m3", "auto, and the checkpoint asks for FP8"
    if sparse and flag not in ("bf16", "bfloat16", "fp8_e4m3"):
        raise InputError("DeepSeek DSA only supports bf16/bfloat16 or fp8_e4m3 kv_cache_dtype")
    # GLM-5 on SM12x goes through flashinfer_sparse_mla, all else from SM10 on through trtllm.
    glm = any(name.startswith("Glm") for name in arch.architectures)
    plain = sm is not None and sm[0] >= 10 and not (glm and sm[0] == 12)
    if sparse and flag == "fp8_e4m3" and not plain:
        return KvChoice(
            flag, kv_format("fp8_ds_mla"), f"{why}; scaled 656-byte records",
            indexer=indexer, assumed=notes,
        )  # fmt: skip
    name = runs_in if flag in ("auto", "bf16", "bfloat16") else flag
    return KvChoice(flag, kv_format(name), why, indexer=indexer, assumed=notes)


def _llama(arch: Architecture, asked: str, notes: tuple[str, ...]) -> KvChoice:
    """``K/V`` where keys and values have types of their own, as --cache-type-k and -v say."""
    if asked == "auto":
        return KvChoice("f16", kv_format("f16"), "llama.cpp's default", assumed=notes)
    names = tuple(_known(name, _LLAMA_NAMES, "llama.cpp") for name in asked.split("/", 1))
    if len(set(names)) == 1:
        return KvChoice(names[0], kv_format(names[0]), f"--cache-type {names[0]}", assumed=notes)
    keys, values = (kv_format(name) for name in names)
    why = f"--cache-type-k {names[0]}, --cache-type-v {names[1]}"
    if any(isinstance(group.layer, MLA) for group in arch.groups):
        # A latent is kept once, as keys.
        return KvChoice(names[0], keys, why, assumed=notes)
    both = replace(
        keys, name=asked, scales=f"keys: {keys.scales}; values: {values.scales}",
        parts=(*(replace(part, side="key") for part in keys.parts),
               *(replace(part, side="value") for part in values.parts)),
    )  # fmt: skip
    return KvChoice(asked, both, why, assumed=notes)


def _trtllm(arch: Architecture, asked: str, runs_in: str, notes: tuple[str, ...]) -> KvChoice:
    flag = _known(asked, _TRTLLM_NAMES, "tensorrt-llm")
    said = arch.quantization.kv_cache if arch.quantization else None
    if flag == "auto" and said in ("fp8", "nvfp4"):
        return KvChoice(
            said, kv_format(said), "auto, and the checkpoint asks for it", assumed=notes
        )
    name = runs_in if flag == "auto" else flag
    return KvChoice(flag, kv_format(name), f"kv_cache dtype {flag}", assumed=notes)


def _known(name: str, names: tuple[str, ...], engine: str) -> str:
    if name not in names:
        raise InputError(f"{engine} has no KV dtype {name!r}", hint=nearest(name, names))
    return name
