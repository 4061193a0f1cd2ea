"""What a log says of its own deployment: engine, version, model, GPU and settings."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from kvgate.diagnose.logtext import clean, log_lines
from kvgate.diagnose.redact import redact

__all__ = ["Context", "context"]

_LINE = 20_000
_VLLM = re.compile(
    r"Initializing a V\d LLM engine(?: \(v?([^)\s]+)\))?|vLLM API server version v?(\S+)"
    r"|\bvLLM (?:version )?v?(\d+\.\d+\.\d+\S*)"
)
_SGLANG = re.compile(
    r"\bserver_args=ServerArgs\(|\bsglang(?:==| v?)(\d+\.\d+\.\d+\S*)|\bsglang\."
    r"|\bmax_total_num_tokens=|\bmem_fraction_static\b|The server is fired up and ready to roll"
)
_LLAMA = re.compile(
    r"^\s*build: (\d{3,6}) \(|\bllama_(?:context|model_loader|kv_cache)\b|\bsrv\s+load"
)
_TRTLLM = re.compile(r"\[TRT-LLM\]|TensorRT-LLM(?: version:?)? v?(\d+\.\d+\S*)|\btensorrt_llm\b")
_SETTING = re.compile(
    r"\b(model|model_path|tensor_parallel_size|tp_size|pipeline_parallel_size|dtype|kv_cache_dtype"
    r"|max_seq_len|max_model_len|context_length|quantization|attention_backend|block_size|page_size"
    r"|enable_prefix_caching|speculative_algorithm|decode_context_parallel_size"
    r"|enable_hierarchical_cache|disable_radix_cache|enable_dp_attention"
    r"|disable_hybrid_swa_memory)"
    r"=('[^']{0,200}'|\"[^\"]{0,200}\"|[\w./+-]{1,200})"
)
_NON_DEFAULT = re.compile(r"non-default args: (\{.*\})")
_ARCHITECTURE = re.compile(r"Resolved architecture: (\w+)|\btype=(\w+For\w+)")
_COMMAND = re.compile(
    r"(?:^|[\s$+>])((?:vllm serve|sglang serve|trtllm-serve|llama-server"
    r"|python3? -m (?:vllm|sglang)\.\S+)\s.{1,4000})$"
)
_GPU = re.compile(
    r"\b(?:(?:NVIDIA|AMD)\s+(?:GeForce\s+|Instinct\s+|Tesla\s+)?|(?:Tesla|GeForce|Instinct)\s+)"
    r"((?:RTX|GTX|[A-Z]{1,3}\d{2,4})[\w -]{0,40}?)(?=[,;:()|']|\s{2}|$| \(| with| is\b)"
)
# PyTorch's warning of a card that its build has no code for, and what it says of its memory.
_GENERATION = re.compile(r"\bCUDA capability (sm_\d{2,3})\b")
_MEMORY = re.compile(
    r"\btotal capacity of (\d{1,4}\.\d{1,3}) GiB"
    r"|\bFree memory on device [^(]{0,20}\(-?[\d.]{1,9}/(\d{1,4}\.\d{1,3}) GiB\)"
)
# vLLM's name for a setting -> SGLang's, where a log shows the other's.
_FLAGS = {
    "vllm": {"max_seq_len": "max_model_len", "tp_size": "tensor_parallel_size"},
    "sglang": {"tensor_parallel_size": "tp_size", "model": "model_path"},
}
_COMMANDS = {"vllm": "vllm serve", "sglang": "python -m sglang.launch_server"}
_PLAIN = {"None", "auto", "null", ""}


@dataclass(frozen=True, slots=True)
class Context:
    """What was read: empty texts where the log doesn't say.

    ``generation`` is the card's as PyTorch names it, ``sm_70``; ``memory_gib`` its memory, 0 where
    the log doesn't say. ``settings`` are the engine's own names with their values as text;
    ``command`` is the command line that the log shows, where it shows one.
    """

    engine: str = ""
    version: str = ""
    model: str = ""
    gpu: str = ""
    architecture: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    command: str = ""
    generation: str = ""
    memory_gib: float = 0.0

    @property
    def line(self) -> str:
        """A command line that stands for the log's deployment; empty where nothing can."""
        if self.command:
            return self.command
        start = _COMMANDS.get(self.engine)
        if start is None or not self.model:
            return ""
        words = [
            start,
            *([f"--model-path {self.model}"] if self.engine == "sglang" else [self.model]),
        ]
        for name, value in self.settings:
            if name not in ("model", "model_path", "model_tag"):
                words += self._flag(name.replace("_", "-"), value)
        return " ".join(words)

    def _flag(self, name: str, value: str) -> list[str]:
        match value:
            case "True":
                return [f"--{name}"]
            case "False":  # of the others' flags none takes a thing back
                return [f"--no-{name}"] if self.engine == "vllm" else []
            case _:
                return [f"--{name} {shlex.quote(value)}"]

    def grounds(self) -> str:
        """What was read, in words and redacted: on what grounds an answer was chosen."""
        facts = [
            f"{self.engine} {self.version}".strip(),
            self.model or self.architecture,
            self.gpu,
            *(
                f"{name}={value}"
                for name, value in self.settings
                if name not in ("model", "model_path")
            ),
        ]
        # Settings hold keys and paths as well: what is said of them is shown.
        return redact(", ".join(dict.fromkeys(fact for fact in facts if fact)))


def context(text: str) -> Context:
    """Read what a log says of its deployment. Never raises: a log is anybody's text."""
    engine = version = gpu = architecture = command = generation = ""
    memory = 0.0
    settings: dict[str, str] = {}
    for line in _lines(text):
        for name, pattern in (
            ("vllm", _VLLM), ("sglang", _SGLANG), ("llama.cpp", _LLAMA), ("tensorrt-llm", _TRTLLM),
        ):  # fmt: skip
            found = pattern.search(line)
            if found and engine in ("", name):
                engine = name
                version = version or next((g for g in found.groups() if g), "").rstrip(".,;:")
        if "=" in line:
            for key, value in _SETTING.findall(line):
                plain = value.strip("'\"").removeprefix("torch.")
                if plain not in _PLAIN:
                    settings.setdefault(key, plain)
        found = _NON_DEFAULT.search(line)
        if found:
            settings |= {k: v for k, v in _dictionary(found.group(1)) if v not in _PLAIN}
            engine = engine or "vllm"
        found = _ARCHITECTURE.search(line)
        architecture = architecture or (next(filter(None, found.groups())) if found else "")
        found = _COMMAND.search(line)
        command = command or (found.group(1) if found else "")
        found = _GPU.search(line)
        gpu = gpu or (found.group(1).strip() if found else "")
        found = _GENERATION.search(line)
        generation = generation or (found.group(1) if found else "")
        found = _MEMORY.search(line)
        memory = memory or (float(next(filter(None, found.groups()))) if found else 0.0)
    names = _FLAGS.get(engine, {})
    settings = {names.get(k, k): v for k, v in settings.items()}
    model = settings.get("model") or settings.get("model_path") or settings.get("model_tag") or ""
    return Context(
        engine, version, model, gpu, architecture, tuple(settings.items()), command, generation,
        memory,
    )  # fmt: skip


def _lines(text: str) -> Iterator[str]:
    for line in log_lines(text):
        if line.strip():
            yield clean(line[:_LINE])


def _dictionary(text: str) -> Iterator[tuple[str, str]]:
    """The values of a printed dictionary, those that are objects as JSON.

    Where it holds what is no literal of Python, its plain values are found one by one.
    """
    try:
        read = ast.literal_eval(text[:_LINE])
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        yield from _plain_values(text[:_LINE])
        return
    for key, value in read.items() if isinstance(read, dict) else ():
        if isinstance(value, (str, int, float)):
            yield str(key), str(value)
        elif isinstance(value, dict):
            with suppress(TypeError, ValueError):
                yield str(key), json.dumps(value)


def _plain_values(text: str) -> Iterator[tuple[str, str]]:
    for key, value in re.findall(
        r"'(\w{1,60})': ('[^']{0,300}'|[\d.]{1,30}|True|False)(?=[,}])", text
    ):
        with suppress(ValueError, SyntaxError):
            yield key, str(ast.literal_eval(value))
