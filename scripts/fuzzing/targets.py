"""Every reader of strangers' text as a function of bytes: it answers, or raises InputError.

The tests call these with texts made by Hypothesis, ``scripts/fuzz.py`` with what Atheris makes of
the seeds. Whatever else a target raises is a fault, and so is an answer that doesn't hold together.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kvgate.errors import InputError
from scripts.fuzzing import seeds

__all__ = ["TARGETS", "Target", "run"]

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Target:
    """A reader, texts it can read, and words of its grammar for whoever makes up more."""

    read: Callable[[str], object]
    seeds: tuple[str, ...]
    words: tuple[str, ...] = ()


def run(target: Target, data: bytes) -> None:
    """Read the bytes; kvgate's own error is an answer, whatever else comes out is a fault."""
    with contextlib.suppress(InputError):
        target.read(data.decode("utf-8", "replace"))


def _deployment(text: str) -> None:
    from kvgate.manifests import read_deployments

    for found in read_deployments(text, "<command line>"):
        assert found.engine in ("vllm", "sglang", "tensorrt-llm", "llama.cpp")
        for problem in found.problems:
            assert problem.place.line >= 1
            assert problem.place.column >= 1


def _manifest(text: str) -> None:
    from kvgate.manifests import documents

    documents(text, "f.yaml")


def _image(text: str) -> None:
    from kvgate.deployment.images import read_image

    read_image(text)


@cache
def _known() -> tuple[list[tuple[str, str]], dict[str, str], dict[str, Any]]:
    from kvgate.records.heads import known as records

    known = records()
    return list(known.signatures), dict(known.texts), dict(known.suspects)


def _log(text: str) -> None:
    from kvgate.diagnose import diagnose

    answer = diagnose([text], *_known())
    lines = text.count("\n") + 1
    assert all(1 <= match.line <= lines for match in answer.matches)
    json.dumps(answer.to_json(5))


def _log_bytes(text: str) -> None:
    from kvgate.diagnose.logtext import clean, decode, strip_prefix
    from kvgate.diagnose.redact import redact

    for data in (text.encode("utf-16", "replace"), text.encode("latin-1", "replace")):
        for line in decode(data).splitlines():
            redact(strip_prefix(clean(line)))


def _signature(text: str) -> None:
    from kvgate.diagnose.signature import Signature

    pattern, _, log = text.partition("\n")
    Signature(pattern).find(log)


def _config(text: str) -> None:
    from kvgate.architecture import parse
    from kvgate.architecture.source import read_json
    from kvgate.kvcache import size

    architecture = parse(read_json(text, path="config.json"), id="x")
    size(architecture, max_model_len=4096)


def _record(text: str) -> None:
    from kvgate.records.lint import lint

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sample-record.md"
        path.write_text(text, encoding="utf-8", newline="")
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for found in lint([path]):
            assert found.message
            assert 1 <= found.place.line <= len(lines)


def _links(text: str) -> None:
    from kvgate.records.scanner import scan
    from kvgate.records.wikilinks import find

    scan(text)
    find(text)


def _page(text: str) -> None:
    from kvgate.claims import default_namespace, find
    from kvgate.claims import run as compute

    report = compute(find(text, path="page.md"), default_namespace())
    assert all(found.place.line >= 1 for found in report.diagnostics)


def _claim(text: str) -> None:
    _page("```pycon\n" + "".join(f">>> {line}\n" for line in text.splitlines()) + "```\n")


def _units(text: str) -> None:
    from kvgate.units import format_bytes, parse_bytes, parse_count

    for read in (parse_bytes, parse_count):
        with contextlib.suppress(InputError):
            format_bytes(read(text))


def _versions(text: str) -> None:
    from kvgate.catalog.engines import release
    from kvgate.catalog.gpus import gpu
    from kvgate.records.versions import Range, parse_version

    for read in (parse_version, release, gpu):
        with contextlib.suppress(InputError):
            read(text)
    first, _, second = text.partition("\n")
    with contextlib.suppress(InputError):
        assert isinstance(first in Range("vllm", introduced="0.19.0", fixed=second), bool)


def _questions(text: str) -> None:
    from kvgate.cli.backends import answers

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_text(text, encoding="utf-8", newline="")
        assert all(json.loads(line) for line in answers(str(path)))


def _waivers(text: str) -> None:
    from kvgate.cli.waiver import read_waivers

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "waivers.toml"
        path.write_text(text, encoding="utf-8", newline="")
        read_waivers(str(path))


def _example() -> str:
    path = ROOT / "gotchas" / "flashinfer-rejects-large-head-dim.md"
    return path.read_text(encoding="utf-8")


TARGETS: dict[str, Target] = {
    "command line": Target(
        _deployment, seeds.COMMANDS, ("$(", "`", "${", "'", '"', "\\\n", "<<", "&&")
    ),
    "compose": Target(
        _deployment, (seeds.COMPOSE,), ("&a ", "*a", "<<: ", "!!", "|\n", "[", "{", "? ")
    ),
    "kubernetes": Target(
        _deployment, (seeds.KUBERNETES,), ("---\n", "kind: ", "args: ", "items: ")
    ),
    "helm": Target(
        _deployment, (seeds.HELM,), ("{{ .x }}", "modelSpec:", "decode: ", "vllmConfig: ")
    ),
    "dockerfile": Target(
        _deployment, (seeds.DOCKERFILE,), ("FROM ", "ENV ", "CMD [", "\\\n", "$V", "<<E")
    ),
    "unit file": Target(_deployment, (seeds.SYSTEMD,), ("[Service]\n", "ExecStart=", "%i", "\\\n")),
    "yaml": Target(
        _manifest, (seeds.COMPOSE, seeds.KUBERNETES), ("&a ", "*a", "!!binary ", "%YAML", "\ufeff")
    ),
    "image": Target(
        _image,
        (
            "vllm/vllm-openai:v0.20.2",
            "lmsysorg/sglang:v0.5.23-cu130@sha256:ab",
        ),
    ),
    "log": Target(_log, (seeds.LOG,), ("\x1b[", "\r", "ValueError: ", "{'", "\x00", "…")),
    "log line": Target(_log_bytes, (seeds.LOG,), ("\x1b[", "token=", "/home/", "@", "://")),
    "signature": Target(
        _signature, ("a {int} b {*} c {word}\na 1 b x c d",), ("{", "}", "{{", "{*}")
    ),
    "config.json": Target(
        _config, (seeds.CONFIG,), ("null", "1e999", "-1", "[", "NaN", '"layer_types":')
    ),
    "record": Target(
        _record, (_example(),), ("---\n", "```pycon\n", "[^", "[[", "<!--", "| a |\n")
    ),
    "wiki-link": Target(
        _links, ("[[a|b]] `[[c]]` [[d#e]]\n\n> [[f]]\n",), ("[[", "]]", "|", "#", "`")
    ),
    "page": Target(_page, (_example(),), ("```pycon\n", ">>> ", "... ", "# claim: ", "~~~")),
    "claim": Target(
        _claim, seeds.CLAIMS, ("**", "lambda", "__class__", "{x!r:>9}", " for ", "'%s' %")
    ),
    "units": Target(
        _units, ("24.0 KiB", "128K", "1,024", "1.5k"), ("9" * 40, "GiB", "_", "e9", "٣")
    ),
    "version": Target(
        _versions,
        ("0.22.0rc1+cu130", "vllm==0.33.0", "b7539", "H100-80GB", "llama.cpp==b1"),
        ("==", "!", ".post", "+", "9" * 40, "v"),
    ),
    "questions": Target(
        _questions,
        ('{"v": "0.33.0", "sm": "9.0", "head_size": 128, "kv": "auto", "mla": true}',),
        ('"forced":', '"block_size":', "null", "-1", "[]", '"sm": "gfx942"'),
    ),
    "waivers": Target(
        _waivers,
        ('[[waiver]]\nid = "KV440"\nreason = "r"\nuntil = 2026-12-31\n',),
        ("[[waiver]]", "until = ", "'''", "1979-05-27T07:32:00Z"),
    ),
}
