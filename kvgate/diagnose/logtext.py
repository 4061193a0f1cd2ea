"""Log text as the matcher reads it: decoded, and lines without colour and prefix."""

from __future__ import annotations

import re

__all__ = ["LONGEST", "clean", "decode", "log_lines", "strip_prefix"]

# Of a longer line, this much around a find is looked at; an error text is never that long.
LONGEST = 32_768

_ANSI = re.compile(
    r"\x1b(?:\[[0-?]{0,16}[ -/]{0,4}[@-~]"
    r"|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)"
    r"|[@-Z\\-_])"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]+")
_BLANKS = re.compile(r"\s+")
_PREFIX = re.compile(
    r"""\s*(?:
        \([A-Za-z][\w .=:-]{0,60}\)                         # (EngineCore_0 pid=123), (Worker_TP1)
      | \[[\w .,:=+/-]{1,80}\]            # [core.py:123], [2026-11-30 12:00:01 TP0]
      | (?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL|E|W|I)\b:?
      | \d{4}[-/]\d{2}[-/]\d{2}(?:[T ]\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})?)?
      | \d{2}-\d{2}\s\d{2}:\d{2}:\d{2}
      | \d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?
      | \d{1,4}\.\d{2}\.\d{3}\.\d{3}(?=\s[DIWE]\s)      # llama.cpp: 0.04.120.007 W
      | [\w./-]{1,80}(?:\s+\|)                              # compose: service-1  |
      | (?:std(?:out|err))\s[FP]\b                          # containerd
      | \|
    )(?=[\s\[(|:]|$)""",
    re.VERBOSE,
)


def decode(data: bytes) -> str:
    """Bytes of a log as text: UTF-16 by its mark, else UTF-8 with what isn't replaced."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace")
    return data.decode("utf-8", errors="replace")


def log_lines(text: str) -> list[str]:
    """The lines of a log, counted as editors count them.

    A carriage return alone ends one too: a progress bar writes over itself with it. What else
    ``str.splitlines`` breaks at is part of what an engine printed.

    >>> log_lines("0%\\r100%\\r\\ndone\\x0cso far")
    ['0%', '100%', 'done\\x0cso far']
    """
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def clean(line: str) -> str:
    """One line without colours and control characters, blanks folded."""
    if "\x1b" in line:
        line = _ANSI.sub("", line)
    if "\\" in line:
        # A log that was wrapped in JSON: its escapes stand for what the engine wrote.
        line = line.replace("\\n", " ").replace("\\t", " ").replace('\\"', '"')
    line = _CONTROL.sub(" ", line)
    return _BLANKS.sub(" ", line).strip()


def strip_prefix(line: str) -> str:
    """A cleaned line without timestamps, levels, process and file marks in front."""
    at = 0
    for _ in range(8):
        found = _PREFIX.match(line, at)
        if not found:
            break
        at = found.end()
    return line[at:].lstrip(" :")
