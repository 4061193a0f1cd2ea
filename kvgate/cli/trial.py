"""A record's hits and misses as plans: the deployments on which its rule is tried."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kvgate.errors import Diagnostic, InputError, Place
from kvgate.manifests import read_deployments
from kvgate.plan import Plan, plan
from kvgate.records.record import Record
from kvgate.records.schema import Deployment
from kvgate.units import GiB

__all__ = ["cases", "engine_of", "plans", "tried"]

# As for `kvgate check`: a manifest has some kilobytes.
_LARGEST = 16 * 2**20


def plans(case: Deployment, folder: Path, *, engine: str | None = None) -> tuple[Plan, ...]:
    """What the engines that a hit or miss starts make of it; a file may start several.

    ``folder`` is the folder of the records. ``engine``, such as ``vllm==0.33.0``, goes before the
    one that the case names. Raises InputError where the file can't be read, where it starts no
    engine, or where its model or GPU isn't known.
    """
    on = case.on
    text, path = (case.run, "<command line>") if case.run else _read(folder, case.file or "")
    model = None
    if on.model is not None:
        from kvgate.architecture import model as released

        model = released(on.model)
    memory = round(on.kv_cache_memory * GiB) if on.kv_cache_memory is not None else None
    return tuple(
        plan(one, gpu=on.gpu, model=model, kv_cache_memory=memory)
        for one in read_deployments(text, path, engine=engine or on.engine)
    )


def cases(record: Record) -> Iterator[tuple[str, Place, Deployment]]:
    """A record's hits, then its misses: "hits" or "misses", where it stands, and the case."""
    for key in ("hits", "misses"):
        for index, case in enumerate(getattr(record.front, key)):
            yield key, record.place(key, index), case


def tried(record: Record, folder: Path) -> Iterator[Diagnostic]:
    """The record's rule, tried on its hits and misses: each that it doesn't judge as it should."""
    from kvgate.rules.stale import answer

    if record.front.rule is None:
        return
    for key, place, case in cases(record):
        try:
            got = answer(record.front.rule, plans(case, folder))
        except InputError as error:
            yield Diagnostic("KV452", place, f"it can't be tried: {error.message}", error.hint)
            continue
        hint = "one of the two is wrong: the rule, or what the record says of this deployment"
        if key == "hits" and got != "found":
            message = f"{record.front.rule} says {got!r} of a deployment that it must report"
            yield Diagnostic("KV453", place, message, hint)
        elif key == "misses" and got == "found":
            message = f"{record.front.rule} reports a deployment that it must leave alone"
            yield Diagnostic("KV453", place, message, hint)


def engine_of(case: Deployment, folder: Path) -> str:
    """The engine that a hit or miss starts, without its version. Raises InputError as `plans`."""
    if case.on.engine is not None:
        return case.on.engine.partition("==")[0]
    return plans(case, folder)[0].engine


def _read(folder: Path, name: str) -> tuple[str, str]:
    path = folder / name
    place = Place(path.as_posix())
    try:
        if not path.resolve().is_relative_to(folder.resolve()):
            raise InputError("lies outside the records' folder", place=place, code="KV002")
        if path.stat().st_size > _LARGEST:
            raise InputError("is too large for a deployment", place=place, code="KV003")
        return path.read_text(encoding="utf-8-sig"), place.path
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(f"cannot be read: {why}", place=place, code="KV002") from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8", place=place, code="KV003") from None
