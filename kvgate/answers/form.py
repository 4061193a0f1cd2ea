"""What the planner's form holds, and the command line that it stands for."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from kvgate.architecture import Architecture, parse, read_json
from kvgate.catalog.engines import ENGINES
from kvgate.errors import InputError, nearest
from kvgate.units import parse_count

__all__ = ["OWN_MODEL", "Form", "architecture"]

OWN_MODEL = "my-model"
"""What a command line calls the model whose config.json was pasted."""

_LONGEST = 2**20

# Each engine's own names for what the form asks: model, ranks, stages, length, dtype, share.
_LINES: dict[str, tuple[str, dict[str, str]]] = {
    "vllm": ("vllm serve {model}", {
        "tp": "--tensor-parallel-size", "pp": "--pipeline-parallel-size",
        "context": "--max-model-len", "kv": "--kv-cache-dtype",
        "util": "--gpu-memory-utilization",
    }),
    "sglang": ("python -m sglang.launch_server --model-path {model}", {
        "tp": "--tp-size", "pp": "--pp-size", "context": "--context-length",
        "kv": "--kv-cache-dtype", "util": "--mem-fraction-static",
    }),
    "tensorrt-llm": ("trtllm-serve {model}", {
        "tp": "--tp_size", "pp": "--pp_size", "context": "--max_seq_len",
        "util": "--kv_cache_free_gpu_memory_fraction",
    }),
    "llama.cpp": ("llama-server -m {model}", {"context": "--ctx-size", "kv": "--cache-type-k"}),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The fields of the planner, as text; empty where nothing is said.

    ``line`` is a pasted command line, which goes before what the fields below it say. ``config`` is
    the text of a config.json, which goes before ``model``. ``engine`` is an engine's name and
    ``version`` its version; ``more`` holds further flags.
    """

    line: str = ""
    config: str = ""
    model: str = ""
    gpu: str = ""
    engine: str = "vllm"
    version: str = ""
    tp: str = ""
    pp: str = ""
    context: str = ""
    kv: str = ""
    util: str = ""
    more: str = ""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Form:
        """A form from plain values. Raises InputError for a field it doesn't have."""
        known = [field.name for field in fields(cls)]
        for key, value in values.items():
            if key not in known:
                raise InputError(f"the planner has no field {key!r}", hint=nearest(key, known))
            if not isinstance(value, str):
                raise InputError(f"the field {key!r} is text, not {json.dumps(value)[:80]}")
        form = cls(**{key: value.strip() for key, value in values.items() if value.strip()})
        if form.engine not in ENGINES:
            raise InputError(f"unknown engine {form.engine!r}", hint=nearest(form.engine, ENGINES))
        return form

    @property
    def spec(self) -> str:
        """The engine and its version, such as ``vllm==0.33.0``."""
        return f"{self.engine}=={self.version}" if self.version else self.engine

    def command(self) -> str:
        """The command line: the pasted one, or the engine's own words for the fields.

        Raises InputError for a field that isn't what it should be.
        """
        if self.line:
            return self.line
        if not (self.model or self.config):
            raise InputError("no model is named", hint="choose one, or paste its config.json")
        start, flags = _LINES[self.engine]
        words = [start.format(model=shlex.quote(OWN_MODEL if self.config else self.model))]
        for name, value in self._settings():
            if name not in flags:
                continue  # no flag says it: its own file of options does, or the GPUs it sees
            words += [flags[name], shlex.quote(value)]
            if flags[name] == "--cache-type-k":
                words += ["--cache-type-v", shlex.quote(value)]
        return " ".join([*words, *self.more.split()])

    def _settings(self) -> list[tuple[str, str]]:
        """The fields that say something, as the engines read them."""
        found = []
        for name in ("tp", "pp"):
            text = getattr(self, name)
            if text and ranks(text) > 1:
                found.append((name, text))
        if self.context:
            found.append(("context", str(parse_count(self.context))))
        if self.kv and self.kv != "auto":
            found.append(("kv", self.kv))
        if self.util:
            if "util" not in _LINES[self.engine][1]:
                raise InputError(
                    f"{self.engine} takes the memory that its context needs, and no share of it",
                    hint="leave that field empty",
                )
            found.append(("util", str(share(self.util))))
        return found


def ranks(text: str) -> int:
    """A number of GPUs; 1 for an empty text. Raises InputError for what is none."""
    if not text:
        return 1
    if not (text.isascii() and text.isdigit() and 0 < int(text[:8]) <= 4096):
        raise InputError(f"{text[:40]!r} is no number of GPUs")
    return int(text)


def share(text: str) -> float:
    """A share of memory, above 0 and up to 1. Raises InputError for what is none."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise InputError(f"{text[:40]!r} is no share of memory", hint="above 0, and 1 at most")
    return value


def architecture(config: str) -> Architecture | None:
    """The model of a config.json's text, None for an empty one.

    Raises InputError for what is no such file, or describes a model that kvgate doesn't know.
    """
    if not config:
        return None
    if len(config) > _LONGEST:
        raise InputError("this is too long for a config.json", code="KV003")
    return _parsed(config)


@lru_cache(maxsize=4)
def _parsed(config: str) -> Architecture:
    return parse(read_json(config, path="config.json"), id=OWN_MODEL)
