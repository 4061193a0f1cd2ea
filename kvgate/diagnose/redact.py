"""Take out of a text what names people, machines and secrets, before it is shown or reported."""

from __future__ import annotations

import re

__all__ = ["redact"]

# In this order: what looks like a secret first, so that a later pattern doesn't cut it in two.
_PATTERNS = (
    (r"\b(?:hf|sk|ghp|gho|ghs|pat|xox[abp])[_-][A-Za-z0-9_-]{8,}", "<token>"),
    (
        r"(?i)\b(bearer|authorization:?|api[_-]?key[=:]|token[=:]|password[=:])\s*\S+",
        r"\1 <token>",
    ),
    (r"\beyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]+){0,2}", "<token>"),
    (r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+", "<address>"),
    (r"(?i)\b[a-z][a-z0-9+.-]{1,20}://[^\s'\"<>]+", "<url>"),
    (r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b", "<host>"),
    (r"\b(?:[0-9a-fA-F]{1,4}:){3,7}[0-9a-fA-F]{1,4}\b", "<host>"),
    (
        r"\b(?:[a-z0-9-]{1,63}\.){1,8}(?:internal|local|lan|corp|svc|cluster\.local)\b(?::\d+)?",
        "<host>",
    ),
    (
        r"(?<![\w.])/(?:home|Users|root|mnt|data|workspace|tmp|var|opt|nfs)/[^\s'\":,;)\]]+",
        "<path>",
    ),
    (r"\b[A-Za-z]:\\(?:[^\s\\'\"]+\\)*[^\s\\'\"]+", "<path>"),
    (r"(?i)\b(user(?:name)?[=:]\s*)[\w.-]+", r"\1<user>"),
)


def redact(text: str) -> str:
    """The text with hosts, addresses, paths, tokens and user names replaced by what they are.

    >>> redact("Bearer abc123 from 10.0.0.7:8000 reading /home/ada/model")
    'Bearer <token> from <host> reading <path>'
    """
    for pattern, instead in _PATTERNS:
        text = re.sub(pattern, instead, text)
    return text
