"""How the engines' parsers differ in what they take for a flag and its value."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Style"]


@dataclass(frozen=True, slots=True)
class Style:
    """What an engine's parser takes.

    ``underscores``: for dashes, in long flags. ``abbreviations``: argparse's unique beginnings.
    ``equals``: ``--flag=value``. ``dotted``: keys of a JSON value behind the flag's name.
    ``greedy``: a value may start with a dash. Sources: vllm 0.33.0 utils/argparse_utils.py;
    Python's argparse (SGLang); click (TensorRT-LLM commands/serve.py); llama.cpp common/arg.cpp.
    """

    underscores: bool = False
    abbreviations: bool = False
    equals: bool = True
    dotted: bool = False
    greedy: bool = False

    @staticmethod
    def of(engine: str) -> Style:
        """The style of an engine's parser.

        >>> Style.of("llama.cpp").equals
        False
        """
        return _STYLES.get(engine, Style(abbreviations=True))


_STYLES = {
    "vllm": Style(underscores=True, abbreviations=True, dotted=True),
    "sglang": Style(abbreviations=True),
    "tensorrt-llm": Style(greedy=True),
    "llama.cpp": Style(underscores=True, equals=False, greedy=True),
}
