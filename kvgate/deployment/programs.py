"""The programs and modules that start an engine, and where in a command their arguments begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Found", "find_engine", "program"]

_MODULES = {
    "vllm.entrypoints.openai.api_server": ("vllm", "vllm.entrypoints.openai.api_server"),
    "vllm.entrypoints.api_server": ("vllm", "vllm.entrypoints.api_server"),
    "vllm.entrypoints.cli.main": ("vllm", "vllm"),
    "sglang.launch_server": ("sglang", "sglang.launch_server"),
    "sglang_router.launch_server": ("sglang", "sglang_router.launch_server"),
    "sglang.cli.main": ("sglang", "sglang"),
    "tensorrt_llm.commands.serve": ("tensorrt-llm", "trtllm-serve"),
    "dynamo.vllm": ("vllm", "dynamo.vllm"),
    "dynamo.sglang": ("sglang", "dynamo.sglang"),
    "dynamo.trtllm": ("tensorrt-llm", "dynamo.trtllm"),
    "huggingfaceserver": ("vllm", "huggingfaceserver"),
}
_PROGRAMS = {
    "trtllm-serve": ("tensorrt-llm", "trtllm-serve"),
    "llama-server": ("llama.cpp", "llama-server"),
    "llama-cli": ("llama.cpp", "llama-cli"),
}
_WITH_COMMAND = {
    ("vllm", "serve"): ("vllm", "vllm serve"),
    ("sglang", "serve"): ("sglang", "sglang serve"),
    ("ollama", "serve"): ("llama.cpp", "ollama serve"),
    ("ollama", "start"): ("llama.cpp", "ollama serve"),
    ("llama", "serve"): ("llama.cpp", "llama-server"),
    ("llama", "server"): ("llama.cpp", "llama-server"),
    ("llama", "cli"): ("llama.cpp", "llama-cli"),
    ("tools.sh", "--server"): ("llama.cpp", "llama-server"),
    ("tools.sh", "-s"): ("llama.cpp", "llama-server"),
    ("tools.sh", "--run"): ("llama.cpp", "llama-cli"),
    ("tools.sh", "-r"): ("llama.cpp", "llama-cli"),
}
_SCRIPTS = {
    "vllm/entrypoints/openai/api_server.py": ("vllm", "vllm.entrypoints.openai.api_server"),
    "sglang/launch_server.py": ("sglang", "sglang.launch_server"),
}
_NO_SERVER = {"disaggregated", "disaggregated_mpi_worker", "mm_embedding_serve", "grpc", "--help"}


@dataclass(frozen=True, slots=True)
class Found:
    """An engine, the program that starts it ("" where it starts no server), where that program
    stands among the words, and where its arguments begin."""

    engine: str
    launcher: str
    at: int
    behind: int


def find_engine(words: Sequence[str]) -> Found | None:
    """The first engine that a command's words start, whatever wrappers stand in front of it.

    >>> find_engine(["srun", "-n1", "vllm", "serve", "org/model"])
    Found(engine='vllm', launcher='vllm serve', at=2, behind=4)
    """
    for index, word in enumerate(words):
        following = words[index + 1] if index + 1 < len(words) else ""
        base, behind = program(word), index + 1
        found = _WITH_COMMAND.get((base, following))
        if found is not None:
            behind = index + 2
        elif word == "-m" and following in _MODULES:
            found, behind = _MODULES[following], index + 2
            if found[1] in ("vllm", "sglang"):
                serve = words[behind] if behind < len(words) else ""
                found, behind = _WITH_COMMAND.get((found[1], serve)), behind + 1
        elif base in _PROGRAMS:
            found = _PROGRAMS[base]
        elif word.endswith(".py"):
            path = word.replace("\\", "/")
            found = next((v for k, v in _SCRIPTS.items() if path.endswith(k)), None)
        elif base == "server" and any(w.casefold().endswith(".gguf") for w in words[:60]):
            found = ("llama.cpp", "llama-server")
        if found is None:
            continue
        engine, launcher = found
        if launcher == "trtllm-serve" and behind < len(words):
            launcher = "" if words[behind] in _NO_SERVER else launcher
            behind += words[behind] == "serve"
        return Found(engine, launcher, index, behind)
    return None


def program(text: str) -> str:
    """The name of a program without its folder and ``.exe``."""
    base = text.replace("\\", "/").rsplit("/", 1)[-1]
    return base[:-4].casefold() if base.casefold().endswith(".exe") else base
