"""YAML front matter as a tree of nodes that know where they stand.

Only the plain part of YAML is taken: mappings with words as keys, sequences, scalars. Anchors,
aliases, tags, merge keys and further documents are refused with the reason, so that a record reads
the same in every YAML program and can't grow when it is loaded. Scalars follow YAML 1.2: ``on`` and
``no`` are words.

The events come from PyYAML, whose parser is C where it was built with libyaml: ten times faster
than any other, and a knowledge base is read often.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from kvgate.errors import Diagnostic, Place

__all__ = ["Node", "Path", "Step", "parse"]

Step = str | int
Path = tuple[Step, ...]

MOST_NODES = 5_000
DEEPEST = 12

_ENDS = (yaml.MappingEndEvent, yaml.SequenceEndEvent)
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT = re.compile(r"[-+]?[0-9]+\Z|0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_NO_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")
_ODD_BREAK = re.compile("[\x85\u2028\u2029]")
_WORDS = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_STARTS_LIKE_A_NUMBER = frozenset("+-.0123456789")


@dataclass(slots=True, eq=False)
class Node:
    """One value of the document: a scalar's text, a list of nodes, or keys with their nodes.

    ``line`` and ``column`` are 1-based and count in the file, ``end_column`` is exclusive and 0
    where the value ends on a later line. ``plain`` marks a scalar without quotes, the only one
    that may be a number, a truth value or nothing. ``broken`` marks a value already complained of.
    """

    line: int
    column: int
    data: str | list[Node] | dict[str, tuple[Node, Node]]
    end_column: int = 0
    plain: bool = False
    broken: bool = False

    def value(self) -> Any:
        """The node as Python: str, int, float, bool, None, tuple, dict."""
        data = self.data
        if isinstance(data, str):
            return _scalar(data) if self.plain else data
        if isinstance(data, list):
            return tuple(node.value() for node in data)
        return {key: node.value() for key, (_, node) in data.items()}

    def at(self, path: Path) -> Node:
        """The node at a path of keys and indices, or the last one on the way that exists."""
        node = self
        for step in path:
            data = node.data
            if isinstance(data, dict) and isinstance(step, str) and step in data:
                node = data[step][1]
            elif isinstance(data, list) and isinstance(step, int) and step < len(data):
                node = data[step]
            else:
                break
        return node

    def key(self, path: Path) -> Node:
        """The key (not the value) that the path ends in; the value where that is a list item."""
        holder = self.at(path[:-1]) if path else self
        if path and isinstance(holder.data, dict) and path[-1] in holder.data:
            return holder.data[str(path[-1])][0]
        return self.at(path)


def _scalar(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in _STARTS_LIKE_A_NUMBER:
        if _INT.match(text):
            # A number of more digits than Python converts is no number of ours: leave it a text.
            return int(text, 0 if text[:2] in ("0o", "0x") else 10) if len(text) < 40 else text
        if _FLOAT.match(text):
            return float(text)
        if _NO_NUMBER.match(text):
            return float(text.replace(".", ""))
    return text


@dataclass(slots=True)
class _Builder:
    """Makes nodes of events and complains of what it doesn't take."""

    path: str
    first_line: int
    found: list[Diagnostic] = field(default_factory=list)

    def complain(self, code: str, node: Node, message: str, hint: str) -> None:
        place = Place(self.path, node.line, node.column)
        self.found.append(Diagnostic(code, place, message, hint, node.end_column))

    def node(self, event: Any, data: Any) -> Node:
        start, end = event.start_mark, event.end_mark
        return Node(
            start.line + self.first_line,
            start.column + 1,
            data,
            end.column + 1 if start.line == end.line else 0,
        )

    def build(self, loader: Any) -> Node | None:
        """The tree of the first document; None when nesting or size stopped it."""
        root: Node | None = None
        holders: list[Node] = []
        keys: list[Node | None] = []  # per open mapping: the key that waits for its value
        nodes = 0
        while True:
            event = loader.get_event()
            kind = type(event)
            if kind is yaml.ScalarEvent:
                node = self.node(event, event.value)
                node.plain = not event.style
            elif kind is yaml.MappingStartEvent:
                node = self.node(event, {})
            elif kind is yaml.SequenceStartEvent:
                node = self.node(event, [])
            elif kind in _ENDS:
                holders.pop()
                keys.pop()
                continue
            elif kind is yaml.AliasEvent:
                node = self.alias(event)
            elif kind is yaml.StreamEndEvent:
                return root
            else:
                if not self.document(event, kind, started=root is not None):
                    return None
                continue
            if event.anchor is not None or getattr(event, "tag", None) is not None:
                self.ornaments(event, node)
            nodes += 1
            if nodes > MOST_NODES or len(holders) > DEEPEST:
                self.too_much(node, f"{MOST_NODES:,} values" if nodes > MOST_NODES else "")
                return None
            if not holders:
                root = node
            elif type(holders[-1].data) is list:
                holders[-1].data.append(node)
            elif keys[-1] is None:
                keys[-1] = node
            else:
                self.put(holders[-1], keys[-1], node)
                keys[-1] = None
            if kind is not yaml.ScalarEvent and kind is not yaml.AliasEvent:
                holders.append(node)
                keys.append(None)

    def too_much(self, node: Node, what: str) -> None:
        self.complain(
            "KV119",
            node,
            f"the front matter has more than {what or f'{DEEPEST} levels'}",
            "a record's front matter is a page at most; move the rest into the body",
        )

    def alias(self, event: Any) -> Node:
        node = self.node(event, "")
        node.broken = True
        hint = "write the value out, or put it in quotes if the star is meant"
        self.complain("KV114", node, f"the alias *{event.anchor} is not taken", hint)
        return node

    def ornaments(self, event: Any, node: Node) -> None:
        """Complain of an anchor or a tag."""
        if event.anchor is not None and type(event) is not yaml.AliasEvent:
            hint = "write the value out where it is needed: a record must read the same everywhere"
            self.complain("KV114", node, f"the anchor &{event.anchor} is not taken", hint)
        if getattr(event, "tag", None) is not None:
            self.complain("KV115", node, f"the tag {event.tag} is not taken", "remove it")

    def document(self, event: Any, kind: Any, *, started: bool) -> bool:
        """Complain of directives and of a second document; False where reading must stop."""
        if kind is not yaml.DocumentStartEvent:
            return True
        node = self.node(event, "")
        if started:
            hint = "a record has one front matter, between two lines of ---"
            self.complain("KV117", node, "a second YAML document starts here", hint)
            return False
        if event.version or event.tags:
            self.complain("KV117", node, "YAML directives are not taken", "remove the line")
        return True

    def put(self, holder: Node, key: Node, value: Node) -> None:
        data = holder.data
        assert isinstance(data, dict)
        if key.plain and key.data == "<<":
            self.complain(
                "KV116", key, "the merge key << is not taken", "write the merged keys out"
            )
            return
        name = key.value()
        if not isinstance(name, str):
            if not key.broken:
                shown = key.data if isinstance(key.data, str) else "a list or mapping"
                self.complain(
                    "KV118",
                    key,
                    f"{shown or 'nothing'} is not a key",
                    "keys are words of the schema",
                )
            return
        if name in data:
            first = data[name][0]
            self.complain(
                "KV113",
                key,
                f"the key {name!r} stands here a second time; the first is on line {first.line}",
                "keep one of them",
            )
            return
        data[name] = (key, value)


def parse(text: str, path: str, first_line: int = 1) -> tuple[Node | None, list[Diagnostic]]:
    """The tree of a YAML text whose first line is ``first_line`` of the file, and what is wrong.

    The tree is None where the text is no YAML at all; what was readable is still complained of.
    """
    builder = _Builder(path, first_line)
    if odd := _ODD_BREAK.search(text):
        # libyaml would count lines by them, and nobody else does.
        message = f"the character U+{ord(odd[0]):04X} ends a line in some programs only"
        place = _place(text, odd.start(), path, first_line)
        builder.found.append(Diagnostic("KV111", place, message, "put a space there"))
        text = _ODD_BREAK.sub(" ", text)
    loader = None
    try:
        loader = _LOADER(text)
        return builder.build(loader), builder.found
    except yaml.YAMLError as error:
        builder.found.append(_syntax(error, text, path, first_line))
        return None, builder.found
    finally:
        if loader is not None:
            loader.dispose()


_HINTS = (
    ("mapping values are not allowed", "put the value in quotes: it holds a colon and a space"),
    ("cannot start any token", "put the value in quotes: this character has a meaning of its own"),
    ("escape", "in double quotes a backslash starts an escape; use single quotes"),
    ("unexpected end of stream", "a quote is not closed"),
    ("quoted scalar", "a quote is not closed"),
    ("',' or", "a bracket is not closed, or a comma is missing"),
    ("expected ':'", "a key needs a colon and a space after it"),
    ("block end", "indent the keys of one mapping alike, and put texts in quotes"),
    ("expected key", "indent the keys of one mapping alike, and put texts in quotes"),
    ("sequence entries are not allowed", "start a list on its own line, two spaces in"),
    ("document start", "a front matter is one mapping of keys to values"),
    ("nesting depth", "a record nests three levels deep at most"),
    ("undefined alias", "a value that starts with * must be in quotes"),
    ("alias", "a value that starts with * must be in quotes"),
    ("anchor", "a value that starts with & must be in quotes"),
)  # fmt: skip


def _syntax(error: Any, text: str, path: str, first_line: int) -> Diagnostic:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:  # a reader error: a character that YAML doesn't allow at all
        offset = _forbidden(text)
        message = f"the character U+{ord(text[offset]):04X} is not allowed in YAML"
        place = _place(text, offset, path, first_line)
        return Diagnostic("KV111", place, message, "remove it, or write it as an escape in quotes")
    lines = text.split("\n")
    for number in range(min(mark.line + 1, len(lines)) - 1, max(mark.line - 2, -1), -1):
        indent = lines[number][: len(lines[number]) - len(lines[number].lstrip(" \t"))]
        if "\t" in indent:
            place = Place(path, number + first_line, indent.index("\t") + 1)
            return Diagnostic(
                "KV112", place, "a tab indents this line", "YAML is indented with spaces only"
            )
    problem = str(getattr(error, "problem", "") or "the YAML can't be read")
    context = str(getattr(error, "context", "") or "")
    says = f"{context}: {problem}" if context else problem
    hint = next((h for word, h in _HINTS if word in says), "compare with a record that lints")
    # A text that ends too early is reported past its end; the last line is where one looks.
    line = min(mark.line, len(lines) - 1)
    return Diagnostic("KV111", Place(path, line + first_line, mark.column + 1), says, hint)


def _place(text: str, offset: int, path: str, first_line: int) -> Place:
    line = text.count("\n", 0, offset)
    return Place(path, line + first_line, offset - text.rfind("\n", 0, offset))


def _forbidden(text: str) -> int:
    bad = re.search(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text)
    return bad.start() if bad else 0
