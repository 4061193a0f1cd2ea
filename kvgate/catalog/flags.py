"""The command-line flags of one engine release, as its own parser declares them.

vLLM and SGLang: the list ``flags`` of the release's catalogue entry, written by a program from the
release's parser. llama.cpp and TensorRT-LLM, whose parsers can't be asked so: the flags that matter
to serving, in ``flags_llamacpp.toml`` and ``flags_trtllm.toml``. Those tables are not complete, and
say so.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from packaging.version import Version

from kvgate.catalog.engines import Release, release, releases
from kvgate.errors import InputError

__all__ = ["Flag", "FlagTable", "flag_table", "flags", "history", "table_of"]

_CURATED = {
    "llama.cpp": "flags_llamacpp.toml",
    "tensorrt-llm": "flags_trtllm.toml",
    "dynamo": "flags_dynamo.toml",
}
_JSON_TYPES = {"parse_dataclass", "loads", "_parse_type", "parse_type", "json_list_type"}
_OPEN_TYPES = {"_optional_type", "optional_type", "union_dict_and_str", "<lambda>", "nullable_str"}
_SWITCHES = {
    "store_true",
    "store_false",
    "_StoreTrueAction",
    "_StoreFalseAction",
    "BooleanOptionalAction",
    "EnableDisableAction",
    "DeprecatedStoreTrueAction",
    "DeprecatedStoreConstAction",
    "DeprecatedAction",
    "_HelpAction",
    "help",
    "version",
}


_OFF = frozenset({"false", "0", "no", "off"})


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag of a release.

    ``names`` are the spellings that set it, ``negatives`` those that set a switch to False.
    ``nargs`` is argparse's (0 for a switch, None for one value, "?", "+", "*" or a number).
    ``kind`` says how its text is read: switch, integer, count (128k), length (a count or "auto"),
    number, json, text, or open (what it looks like: the parser tells only that it is optional).
    ``env`` names the environment variables that set it too. ``deprecated`` is "" or the reason.
    """

    dest: str
    names: tuple[str, ...]
    negatives: tuple[str, ...] = ()
    nargs: int | str | None = None
    kind: str = "text"
    choices: tuple[Any, ...] = ()
    default: Any = None
    deprecated: str = ""
    env: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The spelling to show: the first long one."""
        spelled = self.names or self.negatives
        return next((n for n in spelled if n.startswith("--")), spelled[0])

    def meant(self, spelling: str, value: str) -> str:
        """What to write for a switch that was given a value: for ``--enable-x=False`` what switches
        it off, "" where nothing does."""
        if spelling in self.negatives or value.strip().casefold() not in _OFF:
            return spelling
        own = f"--no-{spelling.removeprefix('--')}"
        return own if own in self.negatives else next(iter(self.negatives), "")


@dataclass(frozen=True, slots=True)
class FlagTable:
    """Every flag of one release.

    ``complete`` is False where kvgate doesn't hold the whole list for the version asked about: an
    unknown flag is then a gap of kvgate's, not a mistake. ``note`` says what answers for the
    version, when that isn't the version itself.
    """

    engine: str
    version: Version | None
    complete: bool
    by_spelling: Mapping[str, Flag] = field(repr=False)
    note: str = ""
    source: str = ""

    def find(self, word: str) -> Flag | None:
        """The flag of exactly that spelling (``--tensor-parallel-size``, ``-tp``), or None."""
        return self.by_spelling.get(word)

    def starting(self, prefix: str) -> tuple[str, ...]:
        """The spellings that start so, as argparse's abbreviations are looked up; sorted."""
        return tuple(sorted(name for name in self.by_spelling if name.startswith(prefix)))

    def dest(self, dest: str) -> Flag | None:
        """The flag that fills ``dest`` (``tensor_parallel_size``), or None."""
        return next((flag for flag in self.by_spelling.values() if flag.dest == dest), None)

    def flags(self) -> tuple[Flag, ...]:
        """All flags, each once, in the parser's order."""
        return tuple({id(flag): flag for flag in self.by_spelling.values()}.values())


@cache
def flags(release: Release) -> FlagTable:
    """The flags of a release of the catalogue.

    Raises InputError where the catalogue holds no flags for it.
    """
    if release.engine in _CURATED:
        return _curated(release.engine)
    entries = release.data().get("flags")
    if not isinstance(entries, list):
        raise InputError(f"the catalogue holds no flags of {release.engine} {release.read}")
    return table_of(entries, engine=release.engine, version=release.read, note=release.note)


@cache
def flag_table(engine: str, version: Version | None = None) -> FlagTable:
    """The flags to read a command of that engine with, whatever is known of its version.

    Without a version the newest release answers. A version older than the oldest release is read
    with the oldest one's flags, and the table is then not complete: nothing in it refuses a flag.
    An engine that the catalogue holds no release of has an empty, incomplete table.

    Raises InputError for an unknown engine.
    """
    if engine in _CURATED:
        return _curated(engine)
    held = releases(engine)
    if not held:
        release(engine)
        note = f"the catalogue holds no flags of {engine}"
        return FlagTable(engine, None, complete=False, by_spelling={}, note=note)
    if version is not None and version < held[0] and version.release != held[0].release:
        oldest = flags(release(f"{engine}=={held[0]}"))
        note = (
            f"{engine} {version} is older than the oldest release in the catalogue; "
            f"its flags are read with those of {held[0]}"
        )
        return FlagTable(
            engine, oldest.version, complete=False, by_spelling=oldest.by_spelling, note=note
        )
    return flags(release(engine if version is None else f"{engine}=={version}"))


@cache
def history(engine: str, spelling: str) -> tuple[Version, ...]:
    """The releases of the catalogue, oldest first, whose parser lists that spelling."""
    if engine in _CURATED:
        return ()
    # By text: to read thirty releases in full for one misspelt flag would cost a tenth of a second.
    quoted = json.dumps(spelling)
    return tuple(v for v in releases(engine) if quoted in _text(engine, str(v)))


def table_of(
    entries: Iterable[Mapping[str, Any]],
    *,
    engine: str,
    version: Version | None = None,
    complete: bool = True,
    note: str = "",
    source: str = "",
) -> FlagTable:
    """A table from the catalogue's plain form: ``flags``, ``dest``, ``choices``, ``nargs``,
    ``default``, ``type``, ``deprecated`` for each flag.

    Positional arguments are left out. Raises InputError for an entry without a dest.
    """
    spellings: dict[str, Flag] = {}
    for entry in entries:
        if not entry.get("flags"):
            continue  # a positional argument
        flag = _flag(entry)
        if flag.name in spellings:
            continue
        for name in (*flag.names, *flag.negatives):
            spellings.setdefault(name, flag)
    return FlagTable(engine, version, complete, spellings, note, source)


def _flag(entry: Mapping[str, Any]) -> Flag:
    spelled = tuple(str(name) for name in entry["flags"])
    dest = str(entry.get("dest") or "")
    if not dest:
        raise InputError(f"the flag {spelled[0]} has no dest")
    action = str(entry.get("action") or "")
    nargs = entry.get("nargs")
    if nargs is None and action in _SWITCHES and not entry.get("choices"):
        nargs = 0
    names, negatives = spelled, tuple(str(n) for n in entry.get("negatives") or ())
    if nargs == 0 and action in ("store_false", "_StoreFalseAction"):
        names, negatives = (), spelled
    elif nargs == 0 and not negatives:
        names, negatives = _polarity(spelled, dest)
    deprecated = entry.get("deprecated")
    return Flag(
        dest=dest,
        names=names,
        negatives=negatives,
        nargs=nargs,
        kind="switch" if nargs == 0 else _kind(str(entry.get("type") or "str")),
        choices=tuple(entry.get("choices") or ()),
        default=entry.get("default"),
        deprecated=deprecated if isinstance(deprecated, str) else "deprecated" * bool(deprecated),
        env=tuple(entry.get("env") or ()),
    )


def _polarity(spelled: tuple[str, ...], dest: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Which spellings of a switch say yes and which say no.

    Releases write the pair as ``--x``/``--no-x`` or as ``--enable-x``/``--disable-x``; where they
    write the second, ``--no-enable-x`` is still taken, though their help doesn't list it
    (vllm 0.33.0 utils/argparse_utils.py, EnableDisableAction).
    """
    flip = {"enable_": "--disable-", "disable_": "--enable-"}
    prefix = next((p for p in flip if dest.startswith(p)), "")
    inverse = flip[prefix] + dest.removeprefix(prefix).replace("_", "-") if prefix else ""
    no = {n for n in spelled if n.startswith("--no-") and "--" + n[5:] in spelled}
    if inverse in spelled:
        no.add(inverse)
    yes = tuple(n for n in spelled if n not in no)
    if no:
        no |= {"--no-" + n[2:] for n in yes if n.startswith("--")}
    return yes, tuple(sorted(no))


def _kind(type_name: str) -> str:
    # A catalogue may name the type of an optional value ("int | None") where the parser hides it.
    plain = type_name.removesuffix(" | None").removeprefix("Optional[").removesuffix("]").strip()
    if plain.startswith("human_readable_int"):
        return "length" if plain.endswith("_or_auto") else "count"
    if plain in _JSON_TYPES or plain in ("json", "dict"):
        return "json"
    if plain in _OPEN_TYPES:
        return "open"
    return {"int": "integer", "float": "number", "count": "count"}.get(plain, "text")


@cache
def _text(engine: str, version: str) -> str:
    path = files("kvgate.catalog") / "engines" / engine / f"{version}.json"
    return path.read_text(encoding="utf-8")


@cache
def _curated(engine: str) -> FlagTable:
    text = (files("kvgate.catalog") / _CURATED[engine]).read_text(encoding="utf-8")
    data = tomllib.loads(text)
    entries = []
    for dest, entry in data["flags"].items():
        entries.append({"dest": dest, "flags": entry["names"], **entry})
    return table_of(entries, engine=engine, complete=False, source=data["source"])
