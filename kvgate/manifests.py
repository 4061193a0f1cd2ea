"""YAML and JSON text into nodes that know their lines, and files into deployments.

The YAML is read event by event: aliases are shared, never copied, and size, depth and what aliases
would expand to are bounded before anything looks at the result. It needs PyYAML, whose pure Python
is enough, so that it runs in a browser too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kvgate.deployment import ConfigFiles, Deployment, Node, deployments, form_of
from kvgate.deployment.problems import CODES
from kvgate.errors import InputError, Place

__all__ = ["documents", "read_deployments", "read_pasted"]

_LONGEST = 2**20  # characters of YAML that are parsed; a manifest has some thousands
_DEEPEST = 60
_MOST = 200_000  # values of one document, aliases expanded
_SEPARATOR = re.compile(r"(?m)^---(?=\s|\Z)")
_TEMPLATE = re.compile(r"\{\{-?\s*(?:if|range|with|end|include|define|toYaml|\.Values|\$)")
_NO_WORKLOAD = re.compile(r"(?m)^kind:\s*[\"']?(?:CustomResourceDefinition|ClusterRole|Role)\b")
_INTEGER = re.compile(r"[-+]?[0-9]{1,40}\Z")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?\Z")
_NULLS = {"", "~", "null", "Null", "NULL"}
# YAML 1.1's words too: Helm and Kubernetes read them so. The text stays as it was written.
_TRUE = {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"}
_FALSE = {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"}


def documents(text: str, path: str, *, first: Place | None = None) -> tuple[Node, ...]:
    """The documents of a YAML or JSON text, in order; empty ones are left out.

    ``first`` is where the text starts when it stands inside another file. Raises InputError for
    text that is no YAML, for a key given twice, and for more than 1 MiB of it, 60 levels, or
    200,000 values with aliases expanded. Definitions and roles of a cluster are skipped unread.
    """
    found: list[Node] = []
    read = 0
    for chunk, offset in _chunks(text):
        if _NO_WORKLOAD.search(chunk[:4000]):
            continue
        read += len(chunk)
        if read > _LONGEST:
            raise InputError(
                f"there is more YAML here than kvgate reads ({len(text):,} characters, at most "
                f"{_LONGEST:,})",
                hint="give it the part with the engine's container",
                place=Place(path),
            )
        line = offset + (first.line - 1 if first else 0)
        node = _Builder(path, line).read(chunk)
        if node is not None:
            found.append(node)
    return tuple(found)


def read_deployments(
    text: str,
    path: str,
    *,
    engine: str | None = None,
    gpu: str | None = None,
    folder: Path | None = None,
) -> tuple[Deployment, ...]:
    """The deployments of a file's or a command line's text, whatever form it has.

    ``engine`` and ``gpu`` are what the user named, which goes before what the text says.
    ``folder`` is where files that a command names are looked for, by their path below it or by
    their bare name, YAML only; None looks nowhere. Raises InputError as ``deployments`` and
    ``documents`` do.
    """
    files = ConfigFiles(read=_reader(folder), parse=_parse)
    found = documents(text, path) if form_of(text, path) == "yaml" else None
    return deployments(text, path=path, documents=found, engine=engine, gpu=gpu, files=files)


def read_pasted(text: str, engine: str | None = None) -> tuple[Deployment, ...]:
    """The deployments of a text that came without a file and a folder, as `read_deployments` does.

    What is no command line is read as if from standard input.
    """
    path = "<command line>" if form_of(text) == "command" else "-"
    return read_deployments(text, path, engine=engine)


def _parse(text: str, place: Place) -> Node | None:
    found = documents(text, place.path, first=place)
    return found[0] if found else None


def _reader(folder: Path | None) -> Any:
    def read(name: str) -> Node | None:
        if folder is None or "\0" in name or Path(name).suffix not in (".yaml", ".yml", ".json"):
            return None
        root = folder.resolve()
        for relative in (Path(name), Path(Path(name).name)):
            try:
                path = (root / relative).resolve()
                # Nothing outside of the folder is opened, whatever the command names.
                if path.is_relative_to(root) and path.is_file():
                    if path.stat().st_size > _LONGEST:
                        return None
                    text = path.read_text(encoding="utf-8", errors="replace")
                    found = documents(text, str(relative))
                    return found[0] if found else None
            except (OSError, ValueError):
                continue
        return None

    return read


def _chunks(text: str) -> Iterator[tuple[str, int]]:
    """The text between ``---`` lines, with the number of lines above each."""
    line, start = 0, 0
    for match in _SEPARATOR.finditer(text):
        chunk = text[start : match.start()]
        if chunk.strip():
            yield chunk, line
        line += chunk.count("\n")
        start = match.end()
    if text[start:].strip():
        yield text[start:], line


@dataclass(slots=True)
class _Frame:
    """A collection that is still open; ``key`` is the map key that waits for its value."""

    is_map: bool
    place: Place
    anchor: str | None
    entries: dict[str, Node] = field(default_factory=dict)
    merged: list[Node] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)
    key: str | None = None
    size: int = 1


@dataclass(slots=True)
class _Builder:
    path: str
    lines: int
    stack: list[_Frame] = field(default_factory=list)
    source: list[str] = field(default_factory=list)
    anchors: dict[str, tuple[Node, int]] = field(default_factory=dict)
    open_anchors: set[str] = field(default_factory=set)
    root: Node | None = None

    def read(self, text: str) -> Node | None:
        import yaml

        self.source = text.split("\n")
        try:
            # The C parser where PyYAML has it: a manifest of a megabyte is read in a moment.
            for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
                self._event(event)
        except InputError as error:
            raise InputError(
                error.message, hint=error.hint or _hint(text), place=error.place
            ) from None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = self._place(mark) if mark is not None else Place(self.path, self.lines + 1)
            raise InputError(
                f"this is no YAML: {error.problem or error.context or 'it cannot be read'}",
                hint=_hint(text),
                place=place,
            ) from None
        except Exception:
            # The parser is another project's and the text anybody's: whatever it stumbles over
            # (a character out of range, a broken escape) is a fault of the text here.
            raise InputError(
                "this is no YAML", hint=_hint(text), place=Place(self.path, self.lines + 1)
            ) from None
        return self.root

    def _place(self, mark: Any) -> Place:
        return Place(self.path, self.lines + mark.line + 1, mark.column + 1)

    def _indent(self, below: int) -> int:
        """The column where the lines of a block scalar begin."""
        for line in self.source[below : below + 50]:
            if line.strip():
                return len(line) - len(line.lstrip(" ")) + 1
        return 1

    def _event(self, event: Any) -> None:
        kind = type(event).__name__
        if kind in ("MappingStartEvent", "SequenceStartEvent"):
            place = self._place(event.start_mark)
            if len(self.stack) >= _DEEPEST:
                raise InputError("this is nested too deeply", place=place)
            if event.anchor:
                self.open_anchors.add(event.anchor)
            self.stack.append(_Frame(kind[0] == "M", place, event.anchor))
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            frame = self.stack.pop()
            if frame.anchor:
                self.open_anchors.discard(frame.anchor)
            value: Any = _merge(frame) if frame.is_map else tuple(frame.items)
            self._add(Node(value, "", frame.place), frame.size, frame.anchor)
        elif kind == "ScalarEvent":
            place = self._place(event.start_mark)
            plain = not event.style and not (event.tag or "").endswith(":str")
            value = _scalar(event.value) if plain and event.tag in (None, "") else event.value
            block = event.style in ("|", ">")
            if block:
                place = Place(place.path, place.line, self._indent(event.start_mark.line + 1))
            self._add(Node(value, event.value, place, block), 1, event.anchor)
        elif kind == "AliasEvent":
            place = self._place(event.start_mark)
            if event.anchor in self.open_anchors:
                raise InputError(f"*{event.anchor} stands inside of itself", place=place)
            if event.anchor not in self.anchors:
                raise InputError(f"there is no &{event.anchor} before this", place=place)
            node, size = self.anchors[event.anchor]
            self._add(node, size, None)

    def _add(self, node: Node, size: int, anchor: str | None) -> None:
        if anchor:
            self.anchors[anchor] = (node, size)
        if not self.stack:
            self.root = node
            return
        frame = self.stack[-1]
        frame.size += size
        if frame.size > _MOST:
            raise InputError(
                f"this holds more than {_MOST:,} values once its aliases are expanded",
                place=frame.place,
            )
        if not frame.is_map:
            frame.items.append(node)
        elif frame.key is None:
            if node.is_map or node.is_list:
                raise InputError("a map or a list as a key", place=node.place)
            frame.key = node.text
            if frame.key in frame.entries and frame.key != "<<":
                raise InputError(f"the key {frame.key[:80]!r} is given twice", place=node.place)
        else:
            if frame.key == "<<" and (node.is_map or node.is_list):
                frame.merged.append(node)
            else:
                frame.entries[frame.key] = node
            frame.key = None


def _merge(frame: _Frame) -> dict[str, Node]:
    """The keys of a map with those of ``<<``: its own win, then the ones merged first."""
    if not frame.merged:
        return frame.entries
    merged: dict[str, Node] = {}
    for node in frame.merged:
        for source in node.value if node.is_list else (node,):
            for key, value in source.entries():
                merged.setdefault(key, value)
    return {**merged, **frame.entries}


def _scalar(text: str) -> Any:
    if text in _NULLS:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    if _INTEGER.match(text):
        return int(text)
    if _FLOAT.match(text) and len(text) < 60:
        return float(text)
    return text


def _hint(text: str) -> str:
    if _TEMPLATE.search(text):
        return f"{CODES['KV421']}: render it first, with helm template"
    return ""
