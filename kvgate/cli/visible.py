"""Standard output and error on which no text of a stranger can steer the terminal.

A record's title, a model's name or a file's name may hold what terminals obey: sequences that move
the cursor, rewrite the title or turn the direction of reading. They are shown as JSON writes them
(``\\u001b``), which is readable in a message and means the same in JSON.
"""

from __future__ import annotations

import codecs
import os
import re
from io import TextIOWrapper

__all__ = ["Visible", "uncommanding", "visible"]

# Controls but tab and line ends, those of eight bits, and what turns the direction of reading.
_STEERS = "\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069"
_PLAIN = re.compile(f"[{_STEERS}\x1b]|\r(?!\n)")
# The colours of kvgate's own are let through where somebody sees them.
_COLOURED = re.compile(f"[{_STEERS}]|\r(?!\n)|\x1b(?!\\[[0-9;]{{0,20}}m)")


def visible(text: str, *, colours: bool = False) -> str:
    """The text with every control character as its escape; colours are kept where they're wanted.

    >>> visible("a\\x1b[2Jb")
    'a\\\\u001b[2Jb'
    """
    pattern = _COLOURED if colours else _PLAIN
    return pattern.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


# A runner of GitHub's obeys a line that begins so, whoever wrote it. Ours begin like _FINDING.
_FINDING = r"(?:error|warning|notice) (?:file=[^,:\n]*,line=\d+,col=\d+,)?title="
_COMMAND = re.compile(rf"^([ \t]*):(?=:(?!{_FINDING}))|##(?=\[)", re.MULTILINE)


def uncommanding(text: str) -> str:
    """The text without workflow commands but those that annotate a finding.

    >>> uncommanding("::add-mask::a")
    '\\\\u003a:add-mask::a'
    """
    return _COMMAND.sub(
        lambda found: "#\\u0023" if found[1] is None else f"{found[1]}\\u003a", text
    )


class Visible(TextIOWrapper):
    """A stream of text as the one it takes the place of, whose control characters are visible."""

    def __init__(self, stream: TextIOWrapper) -> None:
        ascii_only = codecs.lookup(stream.encoding).name == "ascii"
        line_buffering, through = stream.line_buffering, stream.write_through
        forced = any(os.environ.get(name) for name in ("FORCE_COLOR", "CLICOLOR_FORCE"))
        self._colours = stream.isatty() or forced
        self._obeyed = os.environ.get("GITHUB_ACTIONS") == "true"
        # Click writes UTF-8 where the locale says ASCII, around this stream if it didn't.
        encoding = "utf-8" if ascii_only else stream.encoding
        super().__init__(
            stream.detach(), encoding, "backslashreplace",
            line_buffering=line_buffering, write_through=through,
        )  # fmt: skip

    def write(self, text: str) -> int:
        """Write the text as it may be seen; the number of characters that were given."""
        shown = visible(text, colours=self._colours)
        super().write(uncommanding(shown) if self._obeyed else shown)
        return len(text)
