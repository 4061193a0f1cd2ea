"""A deployment's command line written anew, with a setting changed: what a fix looks like."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping

from kvgate.deployment.model import Deployment

__all__ = ["changed", "program"]

# Files whose arguments are items of a list or of one string, not a shell's.
_MANIFESTS = (".yaml", ".yml", ".json")
# Spellings of one setting, so that the short one is replaced too. The rest is found by its name.
_SHORT = {
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
    "-dcp": "--decode-context-parallel-size",
    "-q": "--quantization",
    "-ac": "--attention-config",
    "-c": "--ctx-size",
    "-np": "--parallel",
    "-fa": "--flash-attn",
}


def changed(deployment: Deployment, flags: Mapping[str, str | None]) -> str:
    """The command with each flag of ``flags`` set to its value, or left out where that is None.

    Flags that the command has are changed in place, others come last; of one given more than once
    the last counts, and the others go. Of a manifest the arguments
    to change are named, as YAML takes them and with their lines; of a chart's values the flags.
    """
    # A flag is one, with dashes or with underscores; what is there already stays as it is written.
    last = {_name(g.written): g for g in deployment.given}
    written = {name: g.written.split("=")[0] for name, g in last.items()}
    left = {written.get(_name(flag), flag): value for flag, value in flags.items()}
    if deployment.place.path.casefold().endswith(_MANIFESTS):
        return "; ".join(_argument(deployment, name, value) for name, value in left.items())
    if not deployment.given or any(g.origin != "command line" for g in deployment.given):
        return ", ".join(f"{k} {v}" if v is not None else f"without {k}" for k, v in left.items())
    words = program(deployment.launcher).split()
    positional = [g for g in deployment.given if not g.written.startswith("-")]
    words += [shlex.quote(g.text) for g in positional]
    for given in deployment.given:
        if given in positional:
            continue
        name = written[_name(given.written)]
        if name in left:
            value = left[name]
            if value is not None and given is last[_name(given.written)]:
                words += [name, shlex.quote(value)]
            continue
        words.append(given.written)
        if given.text and given.text != given.written:
            words.append(shlex.quote(given.text))
    for name, value in left.items():
        if value is not None and name not in written.values():
            words += [name, shlex.quote(value)]
    return " ".join(words)


def program(launcher: str) -> str:
    """How a launcher is called: a module of Python isn't a program by itself.

    >>> program("sglang.launch_server"), program("vllm serve")
    ('python -m sglang.launch_server', 'vllm serve')
    """
    module = "." in launcher or launcher == "huggingfaceserver"
    return f"python -m {launcher}" if module else launcher


def _argument(deployment: Deployment, name: str, value: str | None) -> str:
    """One argument of a manifest: ``arguments, line 14: "--max-model-len=32768"``."""
    found = [g for g in deployment.given if _name(g.written) == _name(name)]
    same = found and found[-1].place.path == deployment.place.path
    where = f"arguments, line {found[-1].place.line}" if same else "arguments"
    if value is None:
        return f"{where}: without {name}"
    item = json.dumps(f"{name}={value}" if value else name, ensure_ascii=False)
    return f"{where}: {item}" if found else f"{where}, add {item}"


def _name(written: str) -> str:
    flag = written.split("=")[0]
    return _SHORT.get(flag, flag.replace("_", "-"))
