"""What changed between two releases of an engine, from the catalogue's own entries.

Each release is a table of facts, "kind|name" to a value; a change is a fact that has another value.
The page holds the first release whole and what each later one changed, so that a script can compare
any two; for those without scripts it has each release against the one before it in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from kvgate.catalog.engines import release, releases
from kvgate.catalog.flags import flags
from kvgate.site.fragments import fragment
from kvgate.site.reference.matrix import Matrix
from kvgate.site.virtual import WIDE, ToFrom, Virtual

__all__ = ["Facts", "changes_page", "facts", "sentences", "steps"]

Facts = Mapping[str, str]
"""``flag|--x`` to its default, ``kv|fp8`` to "", ``auto|<table>|<head>|<capability>`` to the
backend that is picked, ``takes|<table>|<backend>|<capability>`` to the head sizes it takes."""

_ENGINES = ("vllm", "sglang")
_DEFAULTS = (bool, int, float, str)
_SHORT = 60  # letters; a longer default is a configuration of its own


def changes_page(made: Mapping[str, list[Matrix]], to_from: ToFrom) -> Virtual:
    """The page that compares two releases; ``made`` is vLLM's tables by version."""
    path = "reference/changes.md"
    engines, words = {}, {}
    for engine in _ENGINES:
        known = {v: facts(engine, v, made.get(v, [])) for v in map(str, releases(engine))}
        engines[engine] = steps(known)
        pairs = list(pairwise(known))[::-1]
        words[engine] = [(a, b, list(sentences(known[a], known[b]))) for a, b in pairs]
    titles = {m.table.id: m.table.title for tables in made.values() for m in tables}
    body = fragment(
        "reference/changes.html.j2", words=words, to=to_from(path), titles=titles,
        data={"engines": engines, "titles": titles},
    )  # fmt: skip
    title = "What changed between two releases"
    about = "Flags, defaults, KV dtypes and attention backends that changed between two releases."
    return Virtual(path, title, f"# {title}\n", about, body, hide=WIDE)


def facts(engine: str, version: str, made: list[Matrix]) -> Facts:
    """What the catalogue holds of one release that a reader would want to compare."""
    entry = release(f"{engine}=={version}")
    found: dict[str, str] = {}
    for flag in flags(entry).flags():
        default = flag.default
        found[f"flag|{flag.name}"] = str(default) if isinstance(default, _DEFAULTS) else ""
    dtypes = entry.data().get("kv_cache_dtypes") or entry.data().get("choices", {})
    if isinstance(dtypes, Mapping):
        dtypes = dtypes.get("kv_cache_dtype", ())
    found.update({f"kv|{name}": "" for name in dtypes})
    for table in made:
        for at, by_head in table.auto.items():
            for head, chosen in by_head.items():
                said = f"{chosen.name or 'none'}{', which fails at start' if chosen.fails else ''}"
                found[f"auto|{table.table.id}|{head}|{at}"] = said
        for name, places in table.cells.items():
            for at, cell in places.items():
                if cell.takes:
                    heads = ", ".join(map(str, cell.takes))
                    found[f"takes|{table.table.id}|{name}|{at}"] = heads
    return found


def steps(known: Mapping[str, Facts]) -> list[list[Any]]:
    """[version, facts that are new or other, facts that are gone] of each release, oldest first."""
    found: list[list[Any]] = []
    before: Facts = {}
    for version, now in known.items():
        new = {k: v for k, v in now.items() if before.get(k) != v}
        found.append([version, new, [k for k in before if k not in now]])
        before = now
    return found


def sentences(before: Facts, after: Facts) -> Iterator[tuple[str, str]]:
    """(kind, what changed), alike ones as one; kinds are flag, kv, auto and takes.

    ``auto`` and ``takes`` begin with the id of their table and a blank.
    """
    yield from sorted(_flags(before, after), key=lambda said: said[1])
    where: dict[tuple[str, str], list[str]] = {}
    for key in dict.fromkeys([*before, *after]):
        kind, _, rest = key.partition("|")
        was, now = before.get(key), after.get(key)
        if was == now or kind not in ("auto", "takes"):
            continue
        table, name, at = rest.split("|")
        if not any(k.startswith(f"auto|{table}|") and k.endswith(f"|{at}") for k in before):
            continue  # a capability or a table that the older release wasn't asked for
        if not any(k.startswith(f"auto|{table}|") and k.endswith(f"|{at}") for k in after):
            continue
        if kind == "auto":
            said = f"heads of {name}: the choice is {now or 'none'}, was {was or 'none'}"
        else:
            said = f"{name} takes heads of {now or 'no size'}, took {was or 'no size'}"
        where.setdefault((kind, f"{table} {said}"), []).append(at)
    for (kind, said), places in sorted(where.items()):
        yield kind, f"{said} (on {', '.join(places)})"


def _flags(before: Facts, after: Facts) -> Iterator[tuple[str, str]]:
    for key in dict.fromkeys([*before, *after]):
        kind, _, name = key.partition("|")
        was, now = before.get(key), after.get(key)
        if was == now or kind not in ("flag", "kv"):
            continue
        what = name if kind == "flag" else f"KV cache dtype {name}"
        if was is None:
            yield kind, f"{what} is new"
        elif now is None:
            yield kind, f"{what} is gone"
        elif max(len(was), len(now)) > _SHORT:
            old, new = _parts(was), _parts(now)
            for verb, parts in (("has now", new - old), ("no longer has", old - new)):
                if parts:
                    yield kind, f"{what} {verb} {', '.join(sorted(parts))}"
        else:
            yield kind, f"{what}: the default is {now or 'unset'}, was {was or 'unset'}"


def _parts(value: str) -> set[str]:
    """The settings of a default that is a whole configuration."""
    return {part.strip("{}()[] ") for part in value.split(", ")}
