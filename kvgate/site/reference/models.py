"""The models of the catalogue with what each one's cache needs, computed when the site is built."""

from __future__ import annotations

from dataclasses import dataclass

from kvgate.architecture import model
from kvgate.architecture.model import Architecture
from kvgate.catalog.models import models
from kvgate.errors import InputError
from kvgate.kvcache import Needs, needs
from kvgate.site.chart import chart
from kvgate.site.fragments import fragment
from kvgate.site.virtual import WIDE, Virtual
from kvgate.units import format_bytes

__all__ = ["DRAWN", "ModelRow", "model_rows", "models_page"]

DRAWN = (
    "meta-llama/Llama-3.1-70B-Instruct",
    "Qwen/Qwen3-235B-A22B-Instruct-2507",
    "MiniMaxAI/MiniMax-M2.7",
    "zai-org/GLM-5.3",
    "moonshotai/Kimi-K2.5",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    "google/gemma-4-31B-it",
    "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "openai/gpt-oss-120b",
    "deepseek-ai/DeepSeek-V4-Pro",
)
"""The models of the page's chart: one of each way in which today's models keep their cache."""


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model: what its layers are, and bytes a token, a window, a state and the whole context.

    ``refused`` says why it could not be sized; the figures are None then.
    """

    id: str
    layers: str
    heads: str
    per_token: float | None
    window: int | None
    state: int | None
    context: int | None
    at_context: int | None
    formulas: tuple[str, ...]
    refused: str = ""


def models_page() -> Virtual:
    """The page of all models, the cheapest cache a token first."""
    rows = sorted(model_rows(), key=lambda r: (r.per_token is None, r.per_token or 0, r.id))
    title = "Models"
    body = fragment("reference/models.html.j2", rows=rows, bytes=format_bytes, chart=chart(DRAWN))
    about = "KV bytes per token, per sequence and at the claimed context, for each known model."
    return Virtual(
        "reference/models.md", title, f"# {title}\n", about, body, searched=True, hide=WIDE
    )


def model_rows() -> list[ModelRow]:
    """A row for each model of the catalogue, in its order."""
    return [_row(name) for name in models()]


def _row(name: str) -> ModelRow:
    try:
        arch = model(name)
        need = needs(arch)
    except InputError as error:
        return ModelRow(name, "", "", None, None, None, None, None, (), str(error))
    context = arch.max_position_embeddings
    return ModelRow(
        id=name,
        layers=" + ".join(f"{count} {kind}" for kind, count in arch.kinds().items()),
        heads=", ".join(map(str, arch.head_sizes())),
        per_token=need.bytes_per_token,
        window=need.window_bytes_per_sequence,
        state=need.state_bytes_per_sequence,
        context=context,
        at_context=need.sequence_bytes(context) if context else None,
        formulas=_formulas(arch, need),
    )


def _formulas(arch: Architecture, need: Needs) -> tuple[str, ...]:
    return tuple(f"{group.kind}: {group.formula}" for group in need.groups if group.formula)
