"""The planner's page: its form with what can be chosen, and one answer made when it was built."""

from __future__ import annotations

import json
from functools import cache
from itertools import groupby

from markupsafe import Markup

from kvgate.answers.form import Form
from kvgate.answers.planner import planned
from kvgate.answers.planpage import plan_html
from kvgate.catalog.engines import ENGINES, release, releases
from kvgate.catalog.flags import flag_table
from kvgate.catalog.gpus import gpus
from kvgate.catalog.models import models
from kvgate.rules import Case
from kvgate.site.book import GONE, Book
from kvgate.site.fragments import fragment
from kvgate.site.record_page import path_of
from kvgate.site.virtual import To

__all__ = ["FIRST", "PLANNER", "choices", "code_path", "planner_block"]

PLANNER = "planner.md"
"""Where kvgate's own site has this block."""

FIRST = {
    "model": "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "gpu": "H100 SXM",
    "engine": "vllm",
    "tp": "4",
    "context": "128K",
}
"""The form as a reader meets it; the page shows its answer without any script."""

_TITLES = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "llama.cpp": "llama.cpp",
    "tensorrt-llm": "TensorRT-LLM",
}
_DTYPE_FLAGS = {"llama.cpp": "cache_type_k"}
# It is no flag of trtllm-serve; these are what its KV cache configuration takes.
_DTYPES = {"tensorrt-llm": ["fp8", "nvfp4"]}


def code_path(code: str) -> str:
    """The path, among the sources, of the page that explains a code on kvgate's own site."""
    return f"reference/codes/{code.lower()}.md"


def planner_block(book: Book, to: To, *, worker: bool) -> str:
    """The form, and the answer to `FIRST` with the rules of the book's records.

    Without a worker only the answer, and where to get others.
    """
    standing = [r for r in book.records if r.front.status not in GONE and r.front.rule]
    cases = tuple(
        Case(r.id, r.front.severity, r.title, r.front.rule or "")
        for r in sorted(standing, key=lambda r: r.id)
    )
    known = book.library.records

    def linked(id_: str) -> str | None:
        return to(path_of(id_)) if id_ in known else None

    answer = plan_html(planned(Form.of(FIRST), cases), linked)
    cards = {arch: [g.name for g in some] for arch, some in groupby(gpus(), key=lambda g: g.arch)}
    return fragment(
        "planner.html.j2", worker=worker, first=FIRST, models=models(), cards=cards,
        engines=[(name, _TITLES[name]) for name in ENGINES], choices=choices(), to=to,
        data=json.dumps(choices(), separators=(",", ":")),
        answer=Markup(answer),  # noqa: S704 - made of elements that escape
    )  # fmt: skip


def _dtypes(engine: str) -> list[str]:
    """What the engine's flag for the KV dtype takes."""
    if releases(engine):
        asked = release(engine).data().get("kv_cache_dtypes")
        if asked:
            return [str(name) for name in asked]
    flag = flag_table(engine).dest(_DTYPE_FLAGS.get(engine, "kv_cache_dtype"))
    return [str(name) for name in flag.choices] if flag else _DTYPES[engine]


@cache
def choices() -> dict[str, dict[str, list[str]]]:
    """Each engine's versions, newest first, and the KV dtypes that its newest release takes."""
    dtypes = {engine: [name for name in _dtypes(engine) if name != "auto"] for engine in ENGINES}
    versions = {engine: [str(v) for v in reversed(releases(engine))] for engine in ENGINES}
    return {"versions": versions, "dtypes": dtypes}
