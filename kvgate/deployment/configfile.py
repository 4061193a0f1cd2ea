"""Files that a command names: found where they are given, and read as the engine reads them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kvgate.catalog.flags import FlagTable
from kvgate.deployment.node import Node
from kvgate.deployment.script import Word
from kvgate.deployment.shell import Heredoc
from kvgate.errors import Place

__all__ = ["ConfigFiles", "config_words"]


@dataclass(frozen=True, slots=True)
class ConfigFiles:
    """How to get at the contents of a file that a command names.

    ``read`` gives the parsed content of a path, or None; ``parse`` reads YAML text that stands in
    the input itself (a heredoc, a ConfigMap); ``inside`` holds such texts by file name. Without
    ``read`` and ``parse`` nothing is found.
    """

    read: Callable[[str], Node | None] | None = None
    parse: Callable[[str, Place], Node | None] | None = None
    inside: Mapping[str, Heredoc] = field(default_factory=dict)

    def find(self, name: str, written: Mapping[str, Heredoc]) -> Node | None:
        """The content of a file: one that the same script writes, one in the same manifest, or one
        that the caller has."""
        if self.parse is not None:
            text = written.get(name) or self.inside.get(name)
            text = text or self.inside.get(name.rsplit("/", 1)[-1])
            if text is None:
                base = name.rsplit("/", 1)[-1]
                text = next((t for path, t in written.items() if path.endswith("/" + base)), None)
            if text is not None:
                return self.parse(text.text, text.place)
        return self.read(name) if self.read is not None else None


def config_words(content: Node, table: FlagTable) -> tuple[Word, ...]:
    """A YAML file's keys as the words that the engine makes of them.

    True becomes the bare flag; False ``--no-…`` where vLLM has that, and nothing otherwise (SGLang
    writes ``false`` behind flags that take a value); lists and maps become values, maps as JSON
    (vllm 0.33.0 utils/argparse_utils.py, load_config_file; sglang 0.5.23
    srt/utils/server_args_config_parser.py).
    """
    words: list[Word] = []
    for key, node in content.entries():
        name = Word("--" + key, content.place if not node.place else node.place)
        flag = table.find("--" + key.replace("_", "-")) or table.find("--" + key)
        if isinstance(node.value, bool):
            if node.value:
                words.append(name)
            elif table.engine == "vllm" and table.find("--no-" + key.replace("_", "-")):
                words.append(Word("--no-" + key, node.place))
            elif flag is not None and flag.nargs != 0:
                words += [name, Word("false", node.place)]
        elif node.is_list:
            if node.value:
                words += [name, *(Word(_text(item), item.place) for item in node.elements())]
        elif node.is_map:
            words += [name, Word(_text(node), node.place)]
        else:
            words += [name, Word(node.text if node.value is not None else "None", node.place)]
    return tuple(words)


def _text(node: Node) -> str:
    return json.dumps(node.plain(), default=str) if node.is_map or node.is_list else node.text
