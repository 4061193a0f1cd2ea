"""Take out of a text what names people, machines and secrets, before it is shown or reported."""

from __future__ import annotations

import re

__all__ = ["redact"]

# What follows a secret's name: in quotes or a list or bare, as a log prints settings. Not what
# says that there is none.
_VALUE = r"(?!(?:none|null|true|false)\b)(?:'[^']*'|\"[^\"]*\"|<token>|[^\s'\",\])}]+)"
_NAMED = r"(?:api[_-]?key|access[_-]?key(?:[_-]?id)?|secret(?:[_-]?key)?|password|passwd)"
_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_PIECE = r"[0-9a-fA-F]{1,4}"

# In this order: what looks like a secret first, so that a later pattern doesn't cut it in two.
_PATTERNS = tuple(
    (re.compile(pattern), instead)
    for pattern, instead in (
        # Not hf_ alone: --hf-overrides is a flag.
        (r"\bhf_[A-Za-z0-9]{10,}", "<token>"),
        (
            r"\b(?:sk|gh[opsur]|github_pat|glpat|nvapi|pat|xox[abprs])[_-][A-Za-z0-9_-]{8,}",
            "<token>",
        ),
        (r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", "<token>"),
        (r"\beyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]+){0,2}", "<token>"),
        # The whole of the header: the scheme's name is no secret, and what follows it is.
        (
            r"(?i)\b(authorization['\"]?\s*[:=]\s*['\"]?)(?:(?:basic|bearer|digest|token)\s+)?"
            r"[^\s'\",\])}]+",
            r"\1<token>",
        ),
        (r"(?i)\b(bearer)\s+[^\s'\",\])}]+", r"\1 <token>"),
        (rf"(?i)(?<![a-z0-9])({_NAMED}['\"]?\s*[:=]\s*\[?\s*){_VALUE}", r"\1<token>"),
        # A number behind it is a count: "bytes per token: 512".
        (
            r"(?i)(?<![a-z0-9])(token['\"]?\s*[:=]\s*\[?\s*)(?!\d[\d.,]*(?![\w.-]))" + _VALUE,
            r"\1<token>",
        ),
        (
            rf"(?i)(?<![\w-])(--(?:[a-z0-9]{{1,20}}-){{0,3}}(?:{_NAMED}|token)['\"]?,?\s+\[?\s*)"
            rf"(?!-|\d+\b){_VALUE}",
            r"\1<token>",
        ),
        (r"(?i)\b[a-z][a-z0-9+.-]{1,20}://[^\s'\"<>]+", "<url>"),
        (r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+", "<address>"),
        # Four numbers that are none are a time or a version: llama.cpp's 0.04.120.007.
        (rf"(?<![\w.]){_OCTET}(?:\.{_OCTET}){{3}}(?![\w.]*\w)(?::\d{{1,5}}\b)?", "<host>"),
        (rf"\b(?:{_PIECE}:){{3,7}}{_PIECE}\b", "<host>"),
        (
            rf"(?<![\w:])(?=[0-9a-fA-F:]*\d)(?:{_PIECE}:){{1,7}}:(?:{_PIECE}(?::{_PIECE}){{0,6}})?"
            r"(?![\w:])",
            "<host>",
        ),
        (
            r"\b(?:[a-z0-9-]{1,63}\.){1,8}(?:internal|local|lan|corp|svc|cluster\.local)\b"
            r"(?::\d+)?",
            "<host>",
        ),
        (
            r"(?<![\w.])/(?:home|Users|root|mnt|data|workspace|tmp|var|opt|nfs)/[^\s'\":,;)\]]+",
            "<path>",
        ),
        (r"\b[A-Za-z]:\\(?:[^\s\\'\"]+\\)*[^\s\\'\"]+", "<path>"),
        (r"(?i)\b(user(?:name)?[=:]\s*)[\w.-]+", r"\1<user>"),
    )
)


def redact(text: str) -> str:
    """The text with hosts, addresses, paths, tokens and user names replaced by what they are.

    >>> redact("Bearer abc123 from 10.0.0.7:8000 reading /home/ada/model")
    'Bearer <token> from <host> reading <path>'
    """
    for pattern, instead in _PATTERNS:
        text = pattern.sub(instead, text)
    return text
