"""KV formats: the bytes of one token of one layer, part by part, from ``kv_formats.toml``.

A byte count never identifies a format: `formats_of(528)` names three that differ in where their
scales lie or in what the scales are.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from kvgate.catalog.resource import read
from kvgate.errors import InputError, nearest

__all__ = ["KvFormat", "Part", "Writer", "formats_of", "kv_format", "kv_formats"]

Side = Literal["each", "key", "value"]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a token: values, scales, RoPE, padding.

    ``bits`` are counted per element, of ``elements`` or, where that is None, of the cached width;
    ``bytes_`` once, or once per ``group`` elements. ``side`` is ``key`` or ``value`` where only one
    of the two has the part.
    """

    what: str
    side: Side = "each"
    bits: int = 0
    elements: int | None = None
    bytes_: int = 0
    group: int | None = None

    def size(self, width: int) -> int:
        """Bytes of this part for one token and one side of ``width`` elements."""
        count = self.elements if self.elements is not None else width
        times = -(-count // self.group) if self.group else 1
        return -(-count * self.bits // 8) + self.bytes_ * times


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes a format: engine, compute capabilities in words, the flag's values, and when."""

    engine: str
    sm: str
    flag: str
    when: str


@dataclass(frozen=True, slots=True)
class KvFormat:
    """One KV format.

    ``kind`` is ``element`` (any width, heads and latents alike), ``head`` (key and value of a head
    in one slot, rounded up to ``align`` bytes) or ``record`` (a fixed number of bytes a token;
    ``latent`` then is the (latent, RoPE) geometry it was made for). ``page_multiple`` is what a
    page's bytes are rounded up to.
    """

    name: str
    kind: Literal["element", "head", "record"]
    parts: tuple[Part, ...]
    scales: str
    page: str
    writers: tuple[Writer, ...]
    sources: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    align: int = 1
    latent: tuple[int, int] | None = None
    page_multiple: int = 1
    readers: str = ""
    note: str = ""

    @property
    def record_bytes(self) -> int | None:
        """Bytes of one record, None where the format has no fixed one.

        >>> kv_format("fp8_ds_mla").record_bytes
        656
        """
        return sum(part.size(0) for part in self.parts) if self.kind == "record" else None

    def side_bytes(self, width: int, side: Side = "each") -> int:
        """Bytes of one side (a key, a value, or a latent) of ``width`` elements."""
        return sum(
            part.size(width) for part in self.parts if side == "each" or part.side in ("each", side)
        )

    def head_bytes(self, key: int, value: int) -> int:
        """Bytes of one token of one KV head with keys and values of these widths.

        Raises InputError for a record format: it holds a latent, no heads.

        >>> kv_format("nvfp4").head_bytes(128, 128)
        144
        """
        if self.kind == "record":
            raise InputError(
                f"KV format {self.name} is a record for MLA latents and holds no attention heads",
                hint="use it with an MLA model, or choose bf16, fp8 or nvfp4",
            )
        total = self.side_bytes(key, "key") + self.side_bytes(value, "value")
        return -(-total // self.align) * self.align

    def latent_bytes(self, width: int) -> int:
        """Bytes of one token of one MLA latent of ``width`` elements, RoPE included.

        Raises InputError for a format that packs heads, and for a record made for another width.

        >>> kv_format("bf16").latent_bytes(576)
        1152
        """
        if self.kind == "record":
            made_for = sum(self.latent or (0, 0))
            if width != made_for:
                raise InputError(
                    f"KV format {self.name} is made for latents of {made_for} elements, not {width}"
                )
            return self.record_bytes or 0
        if self.kind == "head":
            raise InputError(f"KV format {self.name} packs attention heads and holds no MLA latent")
        return self.side_bytes(width)

    def breakdown(self, width: int = 0) -> tuple[tuple[str, int], ...]:
        """(what, bytes) of each part, for one token and one side.

        >>> kv_format("v41_fp4").breakdown()[1]
        ('e4m3 scales, one per 16', 32)
        """
        return tuple((part.what, part.size(width)) for part in self.parts)


@cache
def kv_formats() -> tuple[KvFormat, ...]:
    """Every format of the catalogue, in its order."""
    return tuple(_format(entry) for entry in _file()["format"])


@cache
def kv_format(name: str) -> KvFormat:
    """The format of that name or alias. Raises InputError with the nearest names otherwise.

    Gives its parts in bytes of one token in one layer. Source: the writers it names.
    """
    found = _index().get(name.strip().casefold())
    if found is None:
        raise InputError(f"unknown KV format {name!r}", hint=nearest(name, _index()))
    return found


def formats_of(record_bytes: int) -> tuple[KvFormat, ...]:
    """The record formats of exactly that many bytes a token: often several.

    Gives formats in the catalogue's order; sizes are bytes of one token in one layer. Source: the
    writers named in each format. Raises nothing: no format may have so many bytes.

    >>> [f.name for f in formats_of(528)]
    ['v41_fp8_footer', 'v41_fp8_inline', 'glm53_nope_fp8']
    """
    return tuple(f for f in kv_formats() if f.record_bytes == record_bytes)


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads(read("kv_formats.toml"))


@cache
def _index() -> dict[str, KvFormat]:
    index: dict[str, KvFormat] = {}
    for entry in kv_formats():
        for name in (entry.name, *entry.aliases):
            index[name] = entry
    return index


def _format(entry: dict[str, Any]) -> KvFormat:
    latent = entry.get("latent")
    return KvFormat(
        name=entry["name"],
        kind=entry["kind"],
        parts=tuple(
            Part(
                what=part["what"],
                side=part.get("side", "each"),
                bits=part.get("bits", 0),
                elements=part.get("elements"),
                bytes_=part.get("bytes", 0),
                group=part.get("group"),
            )
            for part in entry["parts"]
        ),
        scales=entry["scales"],
        page=entry["page"],
        writers=tuple(Writer(**writer) for writer in entry["writers"]),
        sources=tuple(entry["sources"]),
        aliases=tuple(entry["aliases"]),
        align=entry.get("align", 1),
        latent=(latent[0], latent[1]) if latent else None,
        page_multiple=entry.get("page_multiple", 1),
        readers=entry.get("readers", ""),
        note=entry.get("note", ""),
    )
