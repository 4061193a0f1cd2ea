"""Environment variables: those that set what flags set, and those that only look as if."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kvgate.catalog.flags import Flag, FlagTable
from kvgate.deployment.model import Given
from kvgate.deployment.problems import problem
from kvgate.deployment.script import Word
from kvgate.deployment.starts import Start
from kvgate.deployment.values import read_value
from kvgate.errors import Diagnostic, InputError

__all__ = ["from_environment", "not_read"]

_TRUE = {"1", "true", "on", "yes", "enabled"}
# What Ollama hands to its llama.cpp runners (ollama/ollama envconfig/config.go and llm/server.go).
_OLLAMA = {
    "OLLAMA_NUM_PARALLEL": ("parallel",),
    "OLLAMA_FLASH_ATTENTION": ("flash_attn",),
    "OLLAMA_KV_CACHE_TYPE": ("cache_type_k", "cache_type_v"),
    "OLLAMA_CONTEXT_LENGTH": ("ctx_size",),
}


def from_environment(start: Start, table: FlagTable, given: Sequence[Given]) -> list[Given]:
    """Settings that come by the environment where the command line leaves them open.

    llama.cpp reads ``LLAMA_ARG_…`` (the command line wins); Ollama hands its own variables to its
    runners, the context length once for each parallel request.
    """
    if start.engine != "llama.cpp":
        return []
    set_already = {one.dest for one in given}
    found = []
    for flag in table.flags():
        for name in flag.env:
            word = start.env.get(name)
            if word is not None and flag.dest not in set_already:
                found.append(_given(flag, name, word, table.engine))
    if start.launcher == "ollama serve":
        found += _ollama(start.env, table, set_already | {one.dest for one in found})
    return found


def _given(flag: Flag, name: str, word: Word, engine: str) -> Given:
    if word.unresolved:
        return Given(name, flag.dest, None, word.text, word.place, "environment", unresolved=True)
    value: Any = word.text
    if flag.nargs == 0:
        value = word.text.strip().casefold() in _TRUE
    else:
        try:
            value = read_value(flag, (word.text,), engine=engine)
        except InputError:
            value = word.text
    return Given(name, flag.dest, value, word.text, word.place, "environment")


def _ollama(env: Mapping[str, Word], table: FlagTable, already: set[str]) -> list[Given]:
    found: list[Given] = []
    for name, dests in _OLLAMA.items():
        word = env.get(name)
        for dest in dests if word is not None else ():
            flag = table.dest(dest)
            if word is None or flag is None or dest in already:
                continue
            one = _given(flag, name, word, table.engine)
            if name == "OLLAMA_FLASH_ATTENTION" and not one.unresolved:
                value = word.text.strip().casefold() in _TRUE
                one = Given(name, dest, value, word.text, word.place, "environment")
            if name == "OLLAMA_CONTEXT_LENGTH" and isinstance(one.value, int):
                slots = next((f.value for f in found if f.dest == "parallel"), 1)
                length = one.value * (slots if isinstance(slots, int) and slots > 0 else 1)
                one = Given(name, dest, length, word.text, word.place, "environment")
            found.append(one)
    return found


def not_read(start: Start, table: FlagTable, flags: Mapping[str, Any]) -> list[Diagnostic]:
    """Variables of a container that are named like a flag, which vLLM and SGLang do not read.

    Not reported: variables that the same text uses, which a script may turn into flags.
    """
    if start.engine not in ("vllm", "sglang") or not start.around.container:
        return []
    found = []
    for name, word in start.env.items():
        dest = name.casefold()
        # HF_TOKEN and its like are read, by the Hugging Face library.
        own = name.isupper() and "_" in name and not name.startswith(("HF_", "HUGGING", "VLLM_"))
        flag = table.dest(dest) if own else None
        if flag is None or name in start.used:
            continue
        what = f"; {flag.name} is given too" if dest in flags else ""
        found.append(
            problem(
                "KV419",
                word.place,
                f"{start.engine} does not read {name} from the environment{what}",
                f"write {flag.name} {word.text}".rstrip() if flag.nargs != 0 else flag.name,
            )
        )
    return found
