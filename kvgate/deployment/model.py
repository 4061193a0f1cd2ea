"""What somebody asked for: one engine, its flags and environment, its image and GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from packaging.version import Version

from kvgate.errors import Diagnostic, Place

__all__ = ["Deployment", "EnvVar", "Given"]

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Given:
    """One flag as it was given.

    ``written`` is its spelling, ``dest`` the engine's own name for the setting ("" where the engine
    has none), ``value`` what was read from ``text``. ``origin`` says by what way it came: "command
    line", "config file", "chart values", "chart default" or "environment". ``unresolved`` means
    that the value stands behind a shell expansion; ``refused`` that the engine does not take it.
    """

    written: str
    dest: str
    value: Any
    text: str
    place: Place
    origin: str
    unresolved: bool = False
    refused: bool = False


@dataclass(frozen=True, slots=True)
class EnvVar:
    """One variable of the engine's environment; ``value`` is None where it is not in the text
    (a secret, a field of the pod, an expansion)."""

    name: str
    value: str | None
    place: Place


@dataclass(frozen=True, slots=True)
class Deployment:
    """One engine that somebody starts.

    - ``engine``: vllm, sglang, tensorrt-llm or llama.cpp; ``launcher``: the program in front of it
      ("vllm serve", "dynamo.vllm", "ollama serve", …).
    - ``version`` and ``version_source``: from "engine option" or "image tag"; None and "" where
      nothing tells.
    - ``model``: as written: a repository, a path, a URI; "" where none is given.
    - ``gpu``: the catalogue's name of the GPU, "" where none is named; ``gpu_text`` as written;
      ``gpu_count``: GPUs of one instance, None where it isn't said. ``nodes``: hosts of a group.
    - ``role``: prefill, decode or both.
    - ``flags``: the settings by the engine's own names, the last one given each. A flag that the
      engine has renamed since stands under its new name; ``given`` has every one as written, those
      included that the engine refuses.
    - ``config``: what a file of the engine's own options holds (TensorRT-LLM's), as plain data.
    - ``env``: the environment by name. ``host_memory_bytes``: the container's limit.
    - ``hidden``: what may hold more settings that aren't in the text (a config file that wasn't
      given, ``$EXTRA_ARGS``). Where it isn't empty, a flag that isn't in ``flags`` may be set.
    - ``problems``: what was found while reading, KV401 and following.
    """

    engine: str
    launcher: str
    version: Version | None
    version_source: str
    model: str
    role: str
    place: Place
    name: str = ""
    image: str = ""
    gpu: str = ""
    gpu_text: str = ""
    gpu_count: int | None = None
    nodes: int = 1
    host_memory_bytes: int | None = None
    flags: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    given: tuple[Given, ...] = ()
    config: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    env: Mapping[str, EnvVar] = field(default_factory=lambda: _NOTHING)
    hidden: tuple[str, ...] = ()
    problems: tuple[Diagnostic, ...] = ()

    @property
    def spec(self) -> str:
        """``vllm==0.33.0``, or the bare engine where the version isn't known."""
        return f"{self.engine}=={self.version}" if self.version is not None else self.engine

    def get(self, dest: str, default: Any = None) -> Any:
        """The value of a setting, or the default where it isn't given or isn't resolved."""
        return self.flags.get(dest, default)

    def env_value(self, name: str) -> str | None:
        """The value of an environment variable; None where it is not set or not in the text."""
        variable = self.env.get(name)
        return variable.value if variable is not None else None

    def last(self, dest: str) -> Given | None:
        """The last flag given for a setting, resolved or not; None where there is none."""
        return next((g for g in reversed(self.given) if g.dest == dest), None)

    def written(self, spelling: str) -> Given | None:
        """The last flag given with that spelling, dashes and underscores alike."""
        wanted = spelling.replace("_", "-")
        return next((g for g in reversed(self.given) if _dashed(g.written) == wanted), None)

    def is_unresolved(self, dest: str) -> bool:
        """Whether the setting is given, but its value stands behind a shell expansion."""
        last = self.last(dest)
        return last is not None and last.unresolved


def _dashed(spelling: str) -> str:
    return spelling.replace("_", "-") if spelling.startswith("--") else spelling
