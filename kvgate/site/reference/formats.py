"""KV formats: the bytes of one token of one layer, part by part."""

from __future__ import annotations

from dataclasses import dataclass

from kvgate.catalog.formats import KvFormat, Part, formats_of, kv_formats
from kvgate.errors import InputError
from kvgate.site.fragments import fragment
from kvgate.site.virtual import Virtual

__all__ = ["formats_page"]

_HEAD, _LATENT = 128, 576
_KINDS = {
    "element": "any width, keys and values of heads and latents alike",
    "head": "one slot for the key and the value of a head",
    "record": "one record of fixed size a token",
}


@dataclass(frozen=True, slots=True)
class _Shown:
    format: KvFormat
    kind: str
    head: int | None
    latent: int | None
    parts: tuple[tuple[str, int], ...]
    width: int
    same_size: tuple[str, ...]


def formats_page() -> Virtual:
    """The page of all KV formats."""
    shown = [_shown(f) for f in kv_formats()]
    body = fragment("reference/formats.html.j2", shown=shown, head=_HEAD, latent=_LATENT)
    about = (
        "How many bytes one token of one layer takes in each KV cache format, and who writes it."
    )
    title = "KV formats"
    return Virtual("reference/kv-formats.md", title, f"# {title}\n", about, body, searched=True)


def _shown(format_: KvFormat) -> _Shown:
    fixed = format_.record_bytes
    width = 0 if fixed is not None else _HEAD
    twins = tuple(f.name for f in formats_of(fixed) if f is not format_) if fixed else ()
    return _Shown(
        format_, _KINDS[format_.kind], _bytes(format_, head=True), _bytes(format_, head=False),
        tuple((_words(part), part.size(width)) for part in format_.parts), width, twins,
    )  # fmt: skip


def _words(part: Part) -> str:
    return part.what if part.side == "each" else f"{part.what} ({part.side} only)"


def _bytes(format_: KvFormat, *, head: bool) -> int | None:
    """Bytes of a 128-wide head, or of a latent; None where the format can't hold such a thing."""
    try:
        if head:
            return format_.head_bytes(_HEAD, _HEAD)
        return format_.latent_bytes(sum(format_.latent or (_LATENT,)))
    except InputError:
        return None
